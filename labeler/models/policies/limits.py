"""What a run may take: calls at once and a minute, tokens, dollars and hours."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from labeler.errors import BudgetReached, CallFailed, Misconfigured, Retryable, Stopped
from labeler.files.boundary import count
from labeler.messages import Clock, count_of
from labeler.model import Reply
from labeler.models.cost import Price, Reported, Tokens, sizes_of
from labeler.models.policies.call import GivenUp, ModelCall, Policy, StopSignal, ToAwait
from labeler.report.table import shown

# As many calls at once, and as fast, as the server takes them.
#
# What a rate limiter is made of: slots for calls, when they may begin, and what it learns from.

START = 4
"""Calls at once to begin with; doubled as long as the server keeps up."""

CUT = 0.7
RATE_CUT = 0.95
FIRST_GROWTH, LAST_GROWTH = 0.4, 0.03
"""By how much the rate grows in a second: halved at each refusal, as it comes close."""

WINDOW = 1.0
"""Seconds over which the rate of answers is measured."""

CALM, ENOUGH = 5.0, 0.2
"""Seconds without a refusal after which the next begins a new series of refusals, and how long a
series lasts before its answers alone tell the server's rate.
"""


@dataclass(slots=True)
class Bucket:
    """A token bucket: `rate` a second, `size` at most; `take` says how long to wait."""

    rate: float
    size: float
    level: float = 0.0
    at: float | None = None

    @classmethod
    def a_minute(cls, amount: float | None, smallest: float = 0.0) -> Bucket | None:
        """A bucket that gives `amount` a minute, evenly; None where there is no limit."""
        return cls(amount / 60, max(smallest, amount / 60)) if amount else None

    def take(self, amount: float, now: float) -> float:
        """Seconds until `amount` is there; it is taken already."""
        if self.at is None:
            self.level, self.at = self.size, now
        self.level = min(self.size, self.level + (now - self.at) * self.rate)
        self.at = now
        self.level -= min(amount, self.size)
        return max(0.0, -self.level / self.rate)

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used; a negative amount takes more."""
        self.level = min(self.size, self.level + amount)


@dataclass(slots=True)
class Slots:
    """How many calls may be under way, how many are, and who waits for one of them to end.

    The limit doubles in a round of answers; once it was cut, it grows by one.
    """

    limit: float
    taken: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def take_now(self) -> bool:
        """Whether one more call may be under way, which it is from now on."""
        if self.waiting or self.taken >= int(self.limit):
            return False
        self.taken += 1
        return True

    async def take(self) -> None:
        """Wait until fewer calls are under way than may be."""
        if self.take_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            elif turn in self.waiting:
                self.waiting.remove(turn)
            raise

    def release(self) -> None:
        """End a call, and let those begin that may."""
        self.taken -= 1
        while self.waiting and self.taken < int(self.limit):
            turn = self.waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)

    def grow(self, most: int, *, was_cut: bool) -> None:
        """Allow a little more after an answer, up to `most`."""
        step = 1.0 / max(1.0, self.limit) if was_cut else 1.0
        self.limit = min(float(most), self.limit + step)


@dataclass(slots=True)
class Pace:
    """When calls may begin: `rate` a second once the server refused some, not in a pause it asked.

    `next` is when the next call may begin by the rate, `pause_until` when any call may; the rate
    grows by `growth` a second since `grown_at`, and was cut last at `cut_at`.
    """

    requests: Bucket | None
    tokens: Bucket | None
    rate: float | None = None
    next: float = 0.0
    pause_until: float = 0.0
    growth: float = FIRST_GROWTH
    grown_at: float = 0.0
    cut_at: float = -1.0

    def start(self, tokens: int, now: float) -> float:
        """When a call of about this many `tokens` may begin; its turn is taken."""
        start = max(now, self.next)
        if self.rate:
            self.next = start + 1 / self.rate
        waits = [self.requests.take(1, now)] if self.requests else []
        waits += [self.tokens.take(tokens, now)] if self.tokens else []
        return max([start, *(now + wait for wait in waits)])

    def grow(self, now: float) -> None:
        """Raise the rate after an answer."""
        if self.rate is not None and now > self.grown_at:
            self.rate *= 1 + self.growth * min(1.0, now - self.grown_at)
            self.grown_at = now

    def cut(self, now: float, taken_a_second: float) -> None:
        """Lower the rate to a bit less than what the server took of late."""
        rate = max(1.0, taken_a_second * RATE_CUT)
        if self.rate is not None:
            rate = min(self.rate, max(rate, self.rate * CUT))
            self.growth = max(LAST_GROWTH, self.growth / 2)
        self.rate = rate
        self.cut_at = self.grown_at = now
        self.next = max(self.next, now)


@dataclass(slots=True)
class Answers:
    """Calls answered and refused in the last second, and when this series of refusals began."""

    recent: deque[tuple[float, bool]] = field(default_factory=deque)
    refused_at: float = float("-inf")
    storm_at: float = 0.0

    def add(self, now: float, *, well: bool) -> None:
        """Count a call that ended."""
        self.recent.append((now, well))
        while self.recent[0][0] < now - WINDOW:
            self.recent.popleft()
        if not well:
            if now - self.refused_at > CALM:
                self.storm_at = now
            self.refused_at = now

    def measure(self, now: float) -> tuple[int, int, float]:
        """How many calls were answered, how many refused, and in how many seconds up to now.

        Calls answered before a series of refusals began used up what the server allowed at once,
        and tell nothing of its rate; they count only until the series has lasted a while.
        """
        since = self.storm_at if now - self.storm_at >= ENOUGH else now - WINDOW
        since = max(since, now - WINDOW)
        taken = sum(1 for at, well in self.recent if well and at >= since)
        refused = sum(1 for at, well in self.recent if not well and at >= since)
        return taken, refused, now - since


AS_ALLOWED = "as many as are allowed"


class RateLimits(NamedTuple):
    """What must not be exceeded: calls under way, and requests and tokens a minute."""

    at_once: int = 16
    requests: float | None = None
    tokens: float | None = None

    @property
    def in_hand(self) -> int:
        """How many requests to begin: some of them wait for their reply to be confirmed and kept.

        Those share a write to the store, which costs least where many do.
        """
        return max(4 * self.at_once, min(128, self.at_once**2 // 2))


class RateLimiter(Policy):
    """How many calls may be under way and how fast they may begin.

    Twice as many at once a round of answers, fewer and slowly more once the server says 429 or 503;
    a rate only once the server has refused calls: what it took in the last second, then slowly up.
    Waits end when `stop` says so; then every call is let through, to be stopped behind the limiter.
    """

    def __init__(
        self, limits: RateLimits, clock: Clock = time.monotonic, stop: StopSignal | None = None
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._stop = stop or StopSignal()
        self._slots = Slots(float(min(START, limits.at_once)))
        self._pace = Pace(Bucket.a_minute(limits.requests, 1.0), Bucket.a_minute(limits.tokens))
        self._answers = Answers()

    @property
    def why(self) -> str:
        """What bounds the calls at once."""
        if self._pace.rate is not None:
            return "the server refuses more (429 or 503)"
        is_most = self._slots.limit >= self.limits.at_once
        return AS_ALLOWED if is_most else "growing as long as the server keeps up"

    @property
    def at_once(self) -> float:
        """How many calls may be under way now."""
        return self._slots.limit

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self._slots.taken

    async def admit(self, call: ModelCall) -> None:
        """Let a call begin, once fewer are under way than may be, and the rate allows it."""
        call.sizes = call.sizes or sizes_of(call.request)
        await self._slots.take()
        try:
            now = self._clock()
            start = self._pace.start(sum(call.sizes.about), now)
            while now < (until := max(start, self._pace.pause_until)) and not self._stop.is_over:
                await self._stop.sleep(until - now)
                now = self._clock()
        except BaseException:
            self._slots.release()
            raise
        call.began = now

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Learn from a call that ended well."""
        now = self._clock()
        self._answers.add(now, well=True)
        self._slots.grow(self.limits.at_once, was_cut=self._pace.rate is not None)
        self._pace.grow(now)
        if self._pace.tokens and call.sizes:
            taken = reply.prompt_tokens + reply.completion_tokens
            self._pace.tokens.give_back(sum(call.sizes.about) - taken)
        self._slots.release()
        return None

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Learn from a call that failed: fewer and slower where the server has too much to do."""
        if isinstance(error, Retryable) and error.busy:
            self._slow_down(self._clock(), call.began, error.wait)
        self._slots.release()
        return None

    def lost(self, call: ModelCall) -> None:
        """Give the place of a call to the next."""
        self._slots.release()

    def _slow_down(self, now: float, began: float, wait: float | None) -> None:
        self._answers.add(now, well=False)
        taken, refused, seconds = self._answers.measure(now)
        if wait and refused > taken:
            self._pace.pause_until = max(self._pace.pause_until, now + wait)
        if began <= self._pace.cut_at:  # it began before the last cut, which may be enough
            return
        self._slots.limit = max(1.0, self._slots.limit * CUT)
        self._pace.cut(now, taken / seconds)


FEW = 4
"""Calls at once that may take more than is reserved, until a server was seen to keep its limits."""


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
        for name in _AMOUNTS:
            setattr(self, name, getattr(self, name) + sign * getattr(spending, name))

    def since(self, earlier: Spending) -> Spending:
        """What was spent after an earlier state of the same spending."""
        later = replace(self)
        later.add(earlier, -1)
        return later

    def as_unknown(self) -> Spending:
        """The same as the most that calls may have taken, of which nothing is known."""
        return Spending(self.calls, 0, 0.0, self.calls, self.tokens, self.cost)


_AMOUNTS = tuple(each.name for each in fields(Spending))


class WithCost:
    """A result that knows what its run spent, and whether the model's price is known."""

    __slots__ = ()

    spent: Spending
    is_priced: bool

    @shown
    def cost(self) -> float | None:
        """What the run is known to have cost in dollars; None where the price is not known."""
        return self.spent.dollars(is_priced=self.is_priced)[0]

    @shown
    def cost_at_most(self) -> float | None:
        """The same with what calls may have cost of which the server did not say."""
        return self.spent.dollars(is_priced=self.is_priced)[1]


@dataclass(slots=True)
class Budget:
    """What a run may spend, has spent, and has reserved for calls under way.

    A reservation is what a call costs at most. When the call has ended, what it took replaces the
    reservation; where that is not known, the reservation counts as spent.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    price: Price | None = None
    spent: Spending = field(default_factory=Spending)
    reserved: Spending = field(default_factory=Spending)
    reported: Reported = field(default_factory=Reported)
    clock: Clock = time.monotonic
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
        """Reserve what a call of `most` tokens may cost, by what the server said of others.

        It waits, when need be, until calls under way have settled for less; or `BudgetReached`.
        """
        while True:
            reservation = self.spending(self.reported.bound(most))
            over = self._over(reservation)
            if over is None and self.reserved.calls < self._most_at_once():
                self.reserved.add(reservation)
                return reservation
            if not self.reserved.calls:
                raise self.reached(over or "deadline")
            self._settled.clear()
            await self._settled.wait()

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
        """What one call of these `tokens` takes; the server had `cached` of them ready."""
        cost = self.price.of(*tokens, cached=cached) if self.price else 0.0
        return Spending(1, sum(tokens), cost)

    def reached(self, parameter: str) -> BudgetReached:
        """That nothing more is asked, and why."""
        problem = f"stopped at {self._shown(parameter)}, which each run counts anew"
        if self.spent.unknown:
            unknown = count_of(self.spent.unknown, "call", "calls")
            problem += f"; {unknown} of unknown use counted at the most that it may be"
        return BudgetReached(problem, parameter=parameter)

    def given_up(self) -> BudgetReached:
        """That calls under way have not ended by the deadline."""
        return BudgetReached(
            f"stopped at {self._shown('deadline')}, with calls under way given up",
            parameter="deadline",
        )

    def settle(self, most: Spending, actual: Spending) -> None:
        """Put what a call took in place of what was reserved for it."""
        self.reserved.add(most, -1)
        self.spent.add(actual)
        self._has_settled = True
        self._settled.set()

    def _over(self, more: Spending) -> str | None:
        """The parameter whose bound more spending would exceed, None where there is none."""
        spent, reserved = self.spent, self.reserved
        amounts = (
            ("max_calls", self.max_calls, spent.calls + reserved.calls + more.calls),
            ("max_tokens", self.max_tokens, spent.tokens_at_most + reserved.tokens + more.tokens),
            ("max_cost", self.max_cost, spent.cost_at_most + reserved.cost + more.cost),
        )
        for parameter, most, amount in amounts:
            if most is not None and amount > most:
                return parameter
        is_late = self.max_seconds is not None and self.clock() >= self.ends
        return "deadline" if is_late else None

    def _shown(self, parameter: str) -> str:
        """A bound as a message shows it."""
        return {
            "deadline": f"{self.max_seconds or 0:g} second{'' if self.max_seconds == 1 else 's'}",
            "max_cost": f"${self.max_cost or 0:g}",
            "max_calls": count_of(self.max_calls or 0, "call", "calls"),
            "max_tokens": count_of(self.max_tokens or 0, "token", "tokens"),
        }[parameter]


@dataclass(slots=True)
class Budgeting(Policy):
    """Reserves before each call and settles after it; replies carry their cost, if it is known.

    What a call took is what the server says, in a reply or in an error. Where it says nothing, a
    call that it refused took nothing: providers bill what a model wrote or read, and a refusal is
    given before that. Nobody knows what a call took that was given up, broken off or answered
    with something else, so what was reserved counts as spent.
    """

    budget: Budget
    is_server: bool = False

    async def admit(self, call: ModelCall) -> None:
        """Reserve what a call may cost; wait for others to settle, where need be."""
        call.sizes = call.sizes or sizes_of(call.request)
        budget = self.budget
        if budget.max_seconds is not None:
            call.until = asyncio.get_running_loop().time() + max(0.0, budget.ends - budget.clock())
        call.reserved = await budget.reserve(call.sizes.at_most)

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Settle for what the reply says that it took."""
        budget, reserved = self.budget, call.reserved or Spending()
        used = Tokens(count(reply.prompt_tokens) or 0, count(reply.completion_tokens) or 0)
        if self.is_server and not used.inside:
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
        self.budget.learn(call.sizes.at_most if call.sizes else used, used)
        return self.budget.spending(used, cached)

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Settle for what a failed call took, as far as that is known."""
        budget, reserved = self.budget, call.reserved or Spending()
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
        self.budget.settle(reserved, reserved.as_unknown())
