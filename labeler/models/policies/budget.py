"""A run that stops before it spends more than it may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from labeler.errors import BudgetReached, CallFailed, Misconfigured, Stopped
from labeler.files.boundary import count
from labeler.messages import count_of
from labeler.model import Reply
from labeler.models.cost import Price, Reported, Sizes, Tokens
from labeler.models.policies.call import GivenUp, ModelCall, Policy, Waiting

FEW = 4
"""Calls at once that may take more than is reserved, until a server was seen to keep its limits."""

SHARED = ("max_calls", "max_tokens", "max_cost")
"""The bounds of a budget that several processes can share out."""


@dataclass(slots=True)
class Spending:
    """Calls, and the tokens and dollars that they are known to have taken.

    Of `unknown` of the calls it is not known: those may have taken `unknown_tokens` and
    `unknown_cost` at most.
    """

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    unknown: int = 0
    unknown_tokens: int = 0
    unknown_cost: float = 0.0

    @property
    def tokens_at_most(self) -> int:
        """The tokens of all calls, at the most that they may have taken."""
        return self.tokens + self.unknown_tokens

    @property
    def cost_at_most(self) -> float:
        """The dollars of all calls, at the most that they may have taken."""
        return self.cost + self.unknown_cost

    def dollars(self, *, is_priced: bool) -> tuple[float | None, float | None]:
        """The dollars of all calls, as known and at the most; None where calls have no price."""
        if self.calls and not is_priced:
            return None, None
        return self.cost, self.cost_at_most

    def add(self, spending: Spending, sign: int = 1) -> None:
        """Add another spending, or take it away."""
        self.calls += sign * spending.calls
        self.tokens += sign * spending.tokens
        self.cost += sign * spending.cost
        self.unknown += sign * spending.unknown
        self.unknown_tokens += sign * spending.unknown_tokens
        self.unknown_cost += sign * spending.unknown_cost

    def since(self, earlier: Spending) -> Spending:
        """What was spent after an earlier state of the same spending."""
        later = replace(self)
        later.add(earlier, -1)
        return later

    def as_unknown(self) -> Spending:
        """The same as the most that calls may have taken, of which nothing is known."""
        return Spending(self.calls, 0, 0.0, self.calls, self.tokens, self.cost)


class WithCost:
    """A result that knows what its run spent, and whether the model's price is known."""

    __slots__ = ()

    spent: Spending
    is_priced: bool

    @property
    def cost(self) -> float | None:
        """What the run is known to have cost in dollars; None where the price is not known."""
        return self.spent.dollars(is_priced=self.is_priced)[0]

    @property
    def cost_at_most(self) -> float | None:
        """The same with what calls may have cost of which the server did not say."""
        return self.spent.dollars(is_priced=self.is_priced)[1]


@dataclass(slots=True)
class Budget:
    """What a run may spend, has spent, and has reserved for calls under way.

    A reservation is what a call costs at most. When the call has ended, what it took replaces the
    reservation; where that is not known, the reservation counts as spent. `raised` asks whoever
    shares out a budget of several processes for more than was allotted so far: true where it came.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    price: Price | None = None
    spent: Spending = field(default_factory=Spending)
    reserved: Spending = field(default_factory=Spending)
    reported: Reported = field(default_factory=Reported)
    clock: Callable[[], float] = time.monotonic
    raised: Callable[[Spending], Awaitable[bool]] | None = None
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _began: float = 0.0
    _has_settled: bool = False
    _within: int = 0

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def ends(self) -> float:
        """The time, by the clock, at which nothing more may be asked."""
        return self._began + (float("inf") if self.max_seconds is None else self.max_seconds)

    async def reserve(self, most: Tokens) -> Spending:
        """Reserve what a call of so many tokens may cost, by what the server said of others.

        It waits, when need be, until calls under way have settled for less; or `BudgetReached`.
        """
        while (reserved := self.reserve_now(most)) is None:
            reservation = self.spending(self.reported.bound(most))
            parameter = self._over(reservation)
            if parameter in SHARED and self.raised and await self.raised(self._with(reservation)):
                continue
            if not self.reserved.calls:
                raise self.reached(parameter or "")
            self._settled.clear()
            await self._settled.wait()
        return reserved

    def reserve_now(self, most: Tokens) -> Spending | None:
        """The same, where nothing has to be waited for; None where something has."""
        reservation = self.spending(self.reported.bound(most))
        if self._over(reservation) is not None or self.reserved.calls >= self._most_at_once():
            return None
        self.reserved.add(reservation)
        return reservation

    def _most_at_once(self) -> float:
        """How many calls may be under way, where a bound depends on what each of them takes.

        The first is alone, as it tells how large the server makes each. Then there are four, and
        one more for each reply since that was within the limit on its tokens: a server that
        ignores the limit writes more than is reserved, in all calls under way.
        """
        if self.max_tokens is None and self.max_cost is None:
            return float("inf")
        return FEW + self._within if self._has_settled else 1

    def learn(self, most: Tokens, used: Tokens) -> None:
        """Take in what the server says of a call that was thought to take `most`."""
        self.reported.learn(most, used)
        self._within = self._within + 1 if used.outside <= most.outside else 0

    def spending(self, tokens: Tokens, cached: int = 0) -> Spending:
        """One call that takes so many tokens, of which the server had some ready."""
        cost = self.price.of(*tokens, cached=cached) if self.price else 0.0
        return Spending(1, sum(tokens), cost)

    def reached(self, parameter: str) -> BudgetReached:
        """That nothing more is asked, and why."""
        return BudgetReached(self._problem(parameter), parameter=parameter)

    def _problem(self, parameter: str) -> str:
        problem = f"stopped at {self._shown(parameter)}, which each run counts anew"
        if not self.spent.unknown:
            return problem
        unknown = count_of(self.spent.unknown, "call", "calls")
        return f"{problem}; {unknown} of unknown use counted at the most that it may be"

    def given_up(self) -> BudgetReached:
        """That calls under way have not ended by the deadline."""
        problem = f"stopped at {self._shown('deadline')}, with calls under way given up"
        return BudgetReached(problem, parameter="deadline")

    def settle(self, most: Spending, actual: Spending) -> None:
        """Put what a call took in place of what was reserved for it."""
        self.reserved.add(most, -1)
        self.spent.add(actual)
        self._has_settled = True
        self._settled.set()

    def _over(self, more: Spending) -> str | None:
        """The parameter whose bound more spending would exceed, None where there is none."""
        total = self._with(more)
        if self.max_calls is not None and total.calls > self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and total.tokens > self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and total.cost > self.max_cost:
            return "max_cost"
        if self.max_seconds is not None and self.clock() >= self.ends:
            return "deadline"
        return None

    def _with(self, more: Spending) -> Spending:
        """All that was spent and is reserved, at the most that it may be, and more."""
        return Spending(
            self.spent.calls + self.reserved.calls + more.calls,
            self.spent.tokens_at_most + self.reserved.tokens + more.tokens,
            self.spent.cost_at_most + self.reserved.cost + more.cost,
        )

    def _shown(self, parameter: str) -> str:
        """A bound as a message shows it."""
        if parameter == "deadline":
            seconds = f"{self.max_seconds:g}"
            return f"{seconds} second{'' if seconds == '1' else 's'}"
        if parameter == "max_cost":
            return f"${self.max_cost:g}"
        if parameter == "max_calls":
            return count_of(self.max_calls or 0, "call", "calls")
        return count_of(self.max_tokens or 0, "token", "tokens")


class Budgeting(Policy):
    """Reserves before each call and settles after it; replies carry their cost, if it is known.

    What a call took is what the server says, in a reply or in an error. Where it says nothing, a
    call that it refused took nothing: providers bill what a model wrote or read, and a refusal is
    given before that. Of a call that was given up, broken off or answered with something else
    nobody knows, so what was reserved counts as spent.
    """

    def __init__(self, budget: Budget, *, is_server: bool = False) -> None:
        self._budget = budget
        self._is_server = is_server
        self._sizes = Sizes()

    def admit(self, call: ModelCall) -> Waiting:
        """Reserve what a call may cost; wait for others to settle, where need be."""
        _, most = call.sizes = call.sizes or self._sizes.of(call.request)
        budget = self._budget
        if budget.max_seconds is not None:
            left = max(0.0, budget.ends - budget.clock())
            call.until = asyncio.get_running_loop().time() + left
        call.reserved = budget.reserve_now(most)
        return None if call.reserved is not None else self._reserve(call, most)

    async def _reserve(self, call: ModelCall, most: Tokens) -> None:
        call.reserved = await self._budget.reserve(most)

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Settle for what the reply says that it took."""
        budget, reserved = self._budget, call.reserved or Spending()
        used = Tokens(count(reply.prompt_tokens) or 0, count(reply.completion_tokens) or 0)
        if self._is_server and not used.inside:
            actual = reserved.as_unknown()
            cost = 0.0 if budget.price and not reserved.cost else None
        else:
            actual = self._used(call, used, reply.cached_tokens)
            cost = actual.cost if budget.price else None
        budget.settle(reserved, actual)
        if used != (reply.prompt_tokens, reply.completion_tokens):  # of a model of somebody's own
            reply = replace(reply, prompt_tokens=used.inside, completion_tokens=used.outside)
        call.reply = reply if reply.cost is cost else replace(reply, cost=cost)
        return None

    def _used(self, call: ModelCall, used: Tokens, cached: int = 0) -> Spending:
        self._budget.learn(call.sizes[1] if call.sizes else used, used)
        return self._budget.spending(used, cached)

    def error(self, call: ModelCall, error: Exception) -> Waiting:
        """Settle for what a failed call took, as far as that is known."""
        budget, reserved = self._budget, call.reserved or Spending()
        actual = reserved.as_unknown()
        if isinstance(error, CallFailed) and error.tokens:
            actual = self._used(call, Tokens(*error.tokens))
        elif isinstance(error, Misconfigured) or (
            isinstance(error, CallFailed) and not error.may_be_billed
        ):
            actual = Spending(calls=1)
        elif isinstance(error, Stopped):  # before it was asked
            actual = Spending()
        budget.settle(reserved, actual)
        if isinstance(error, GivenUp) and budget.clock() >= budget.ends:
            raise budget.given_up() from None
        return None

    def lost(self, call: ModelCall) -> None:
        """Count what was reserved as spent, as nobody hears what the call took."""
        reserved = call.reserved or Spending()
        self._budget.settle(reserved, reserved.as_unknown())
