"""`budgeted`: a run that stops before it spends more than it may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from labeler.errors import BudgetReached
from labeler.model import Model, Reply, Request
from labeler.models.prices import Price
from labeler.models.tokens import Reported, Tokens, at_most


@dataclass(slots=True)
class Spending:
    """Calls, tokens and dollars; for `unknown` of the calls, the most that they may have taken."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    unknown: int = 0

    def add(self, spending: Spending, sign: int = 1) -> None:
        """Add another spending, or take it away."""
        self.calls += sign * spending.calls
        self.tokens += sign * spending.tokens
        self.cost += sign * spending.cost
        self.unknown += sign * spending.unknown


@dataclass(slots=True)
class Budget:
    """What a run may spend, has spent, and has reserved for calls under way.

    A reservation is what a call costs at most; it is settled when the call has ended.
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
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def ends(self) -> float:
        """The time, by the clock, at which nothing more may be asked."""
        return self._began + (float("inf") if self.max_seconds is None else self.max_seconds)

    async def reserve(self, most: Spending) -> None:
        """Reserve, when need be after calls under way have settled for less; or `BudgetReached`."""
        while (parameter := self._over(most)) is not None:
            if not self.reserved.calls:
                problem = f"stopped at {self._shown(parameter)}, which each run counts anew"
                raise BudgetReached(problem, parameter=parameter)
            self._settled.clear()
            await self._settled.wait()
        self.reserved.add(most)

    async def in_time(self, call: Awaitable[Reply]) -> Reply:
        """The reply of a call; `BudgetReached` where it has not ended by the deadline."""
        if self.max_seconds is None:
            return await call
        try:
            async with asyncio.timeout(max(0.0, self.ends - self.clock())) as over:
                return await call
        except TimeoutError:
            if not over.expired():
                raise
            problem = f"stopped at {self._shown('deadline')}, with calls under way given up"
            raise BudgetReached(problem, parameter="deadline") from None

    def settle(self, most: Spending, actual: Spending) -> None:
        """Put what a call took in place of what was reserved for it."""
        self.reserved.add(most, -1)
        self.spent.add(actual)
        self._settled.set()

    def _over(self, more: Spending) -> str | None:
        """The parameter whose bound more spending would exceed, None where there is none."""
        calls = self.spent.calls + self.reserved.calls + more.calls
        tokens = self.spent.tokens + self.reserved.tokens + more.tokens
        cost = self.spent.cost + self.reserved.cost + more.cost
        if self.max_calls is not None and calls > self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and tokens > self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and cost > self.max_cost:
            return "max_cost"
        if self.max_seconds is not None and self.clock() >= self.ends:
            return "deadline"
        return None

    def _shown(self, parameter: str) -> str:
        """A bound as a message shows it."""
        if parameter == "deadline":
            return f"{self.max_seconds:g} seconds"
        if parameter == "max_cost":
            return f"${self.max_cost:g}"
        calls = parameter == "max_calls"
        return f"{self.max_calls:,} calls" if calls else f"{self.max_tokens:,} tokens"


def budgeted(model: Model, budget: Budget) -> Model:
    """Reserve before each call and settle after it; replies carry their cost, if it is known.

    Where a server does not say how many tokens it took, what was reserved counts as spent.
    """

    async def ask(request: Request) -> Reply:
        thought = at_most(request)
        most = _spending(budget.reported.bound(thought), budget.price)
        await budget.reserve(most)
        actual = Spending(calls=1)
        try:
            reply = await budget.in_time(model.ask(request))
            used = Tokens(reply.prompt_tokens, reply.completion_tokens)
            if model.is_server and not used.inside:
                actual = replace(most, unknown=1)
                return replace(reply, cost=None if most.cost else _cost(most, budget.price))
            budget.reported.learn(thought, used)
            actual = _spending(used, budget.price)
            return replace(reply, cost=_cost(actual, budget.price))
        except BudgetReached:  # given up: it may have taken all that was reserved
            actual = replace(most, unknown=1)
            raise
        finally:
            budget.settle(most, actual)

    return replace(model, ask=ask)


def _spending(tokens: Tokens, price: Price | None) -> Spending:
    return Spending(1, sum(tokens), price.of(*tokens) if price else 0.0)


def _cost(spent: Spending, price: Price | None) -> float | None:
    return spent.cost if price else None
