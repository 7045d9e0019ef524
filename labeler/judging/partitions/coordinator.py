"""What workers tell each other while they judge partitions: how far they are, and what is left.

Whoever runs several workers keeps one `Coordinator` where all can call it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from labeler.data import Failure, Judged
from labeler.judging.partitions.share import Amounts, SharedBudget
from labeler.models.limits import Limits
from labeler.models.policies.budget import Budget, Spending


class PairKind(NamedTuple):
    """What is counted of a pair: its failure's status, and whether anything was asked for it."""

    failure: str
    remembered: bool
    shared: bool

    @classmethod
    def of(cls, judged: Judged) -> PairKind:
        """The kind of a pair that is done."""
        outcome = judged.outcome
        failure = outcome.status if isinstance(outcome, Failure) else ""
        return cls(failure, judged.remembered, judged.shared)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """How far a worker is with a partition, what it has spent in all, and how it asks."""

    worker: str
    number: int
    pairs: dict[PairKind, int]
    spent: Spending
    under_way: int = 0
    at_once: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunState:
    """The pairs that are done by kind, by partition, what was spent, and what is under way."""

    pairs: dict[int, dict[PairKind, int]]
    spent: Spending
    under_way: int
    at_once: int
    why: str


class Coordinator:
    """The state of a run on several workers; the limits are those of all of them.

    They hold for what was spent `before`, too.
    """

    def __init__(self, limits: Limits, workers: int, before: Spending | None = None) -> None:
        self._before = before or Spending()
        self._budget = SharedBudget(limits, workers)
        self._budget.give_back("", at_most_of(self._before))
        self._ends = None if limits.deadline is None else time.monotonic() + limits.deadline
        self._reports: dict[str, WorkerReport] = {}
        self._pairs: dict[int, dict[PairKind, int]] = {}
        self._begun = Counter[int]()
        self._is_stopped = False

    def seconds_left(self) -> float | None:
        """For how long workers may ask; None where there is no deadline."""
        return None if self._ends is None else max(0.0, self._ends - time.monotonic())

    def begin(self, number: int) -> int:
        """How often a partition was begun, now included: more than once where a worker was lost."""
        self._begun[number] += 1
        return self._begun[number]

    def allot(self, worker: str, needed: Amounts) -> Amounts:
        """What a worker may spend in all from now on."""
        return self._budget.allot(worker, needed)

    def give_back(self, worker: str, spent: Amounts) -> None:
        """Take back what a worker has not spent."""
        self._budget.give_back(worker, spent)

    def report(self, report: WorkerReport) -> bool:
        """Take note of how far a worker is; whether it shall stop."""
        self._reports[report.worker] = report
        self._pairs[report.number] = report.pairs
        return self._is_stopped

    def stop(self) -> None:
        """Have all workers finish the calls under way, and begin no more."""
        self._is_stopped = True

    def state(self) -> RunState:
        """How far all are."""
        spent, reports = replace(self._before), list(self._reports.values())
        for report in reports:
            spent.add(report.spent)
        slowed = Counter(report.why for report in reports if report.under_way)
        why = slowed.most_common(1)[0][0] if slowed else ""
        under_way = sum(report.under_way for report in reports)
        at_once = sum(report.at_once for report in reports)
        return RunState(dict(self._pairs), spent, under_way, at_once, why)


def at_most_of(spent: Spending) -> Amounts:
    """What a spending may have taken at the most."""
    return Amounts(spent.calls, spent.tokens_at_most, spent.cost_at_most)


Allot = Callable[[Amounts], Awaitable[Amounts]]


@dataclass(slots=True)
class AllottedBudget:
    """A worker's budget, which asks for more of the whole when what was allotted is spent."""

    budget: Budget
    allot: Allot
    bounds: tuple[bool, bool, bool]
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def raised(self, needed: Spending) -> bool:
        """Whether the budget allows for so much in all, once more was asked for."""
        amounts = Amounts(needed.calls, needed.tokens, needed.cost)
        async with self._asking:
            if not self._allows(amounts):
                self._set(await self.allot(amounts))
            return self._allows(amounts)

    def given_back(self) -> Amounts:
        """What was spent at the most, which is all that the budget allows for from now on."""
        amounts = at_most_of(self.budget.spent)
        self._set(amounts)
        return amounts

    def _allows(self, amounts: Amounts) -> bool:
        most = (self.budget.max_calls, self.budget.max_tokens, self.budget.max_cost)
        return all(
            bound is None or need <= bound for need, bound in zip(amounts, most, strict=True)
        )

    def _set(self, amounts: Amounts) -> None:
        calls, tokens, cost = self.bounds
        self.budget.max_calls = int(amounts.calls) if calls else None
        self.budget.max_tokens = int(amounts.tokens) if tokens else None
        self.budget.max_cost = amounts.cost if cost else None


def unallotted(limits: Limits) -> tuple[Limits, tuple[bool, bool, bool]]:
    """A worker's limits before anything was allotted to it, and which of the budgets there are."""
    bounds = (
        limits.max_calls is not None,
        limits.max_tokens is not None,
        limits.max_cost is not None,
    )
    calls, tokens, cost = (0 if bounded else None for bounded in bounds)
    return replace(limits, max_calls=calls, max_tokens=tokens, max_cost=cost), bounds
