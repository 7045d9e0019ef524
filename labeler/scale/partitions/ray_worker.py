"""A worker on Ray: it judges the partitions whose numbers it is handed, one after the other."""

from __future__ import annotations

import asyncio
import os
import socket
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.data import Failure, Judged, Judgement, Pair
from labeler.errors import LabelerError, ProviderError
from labeler.models.control import Control, OnJudged
from labeler.models.policies.budget import Budget, Spending
from labeler.models.policies.rate import RateLimiter
from labeler.models.settings import Limits
from labeler.scale.partitions.folder import PartitionedJob, PartitionFolder, statuses_in
from labeler.scale.partitions.work import (
    Amounts,
    PartitionWorker,
    Share,
    SharedBudget,
    partition_worker,
)

# What workers tell each other while they judge partitions: how far they are, and what is left.
#
# Whoever runs several workers keeps one `Coordinator` where all can call it.


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


REPORT_SECONDS = 0.5
MOST_TRIES = 5
"""How often a partition is begun, where the workers that had it were lost."""


class RayWorker:
    """Judges partitions of a folder; `coordinator` is the actor that keeps a run's `Coordinator`.

    What ends a partition early is returned and not raised: Ray would take it for the end of all.
    It names the machine where that is not the `driver`, on which the run was begun.
    """

    def __init__(self, folder: str, share: Share, coordinator: Any, driver: str = "") -> None:
        self._folder = Path(folder)
        self._share = share
        self._coordinator = coordinator
        host = socket.gethostname()
        self._where = "" if host == driver else f"on {host}: "
        self._id = f"{host} {os.getpid()} {uuid.uuid4().hex[:8]}"
        self._control = Control()
        self._stack = AsyncExitStack()
        self._worker: PartitionWorker | None = None
        self._budget: AllottedBudget | None = None
        self._runner = asyncio.Runner()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Judge the partition that a row names; what came of it, or what ended it early."""
        number = int(row["number"])
        result: dict[str, Any] = {"number": number, "problem": "", "message": "", "parameter": ""}
        try:
            self._runner.run(self._judge(number, again=bool(row["again"])))
        except LabelerError as error:
            result |= {"problem": type(error).__name__, "message": f"{self._where}{error}"}
            result["parameter"] = error.parameter
        return result

    async def _judge(self, number: int, *, again: bool) -> None:
        if await self._coordinator.begin.remote(number) > MOST_TRIES:
            problem = f"{MOST_TRIES} workers ended while they judged partition {number}"
            raise ProviderError(f"{problem} (killed, or out of memory?); what was answered is kept")
        worker, counts = await self._opened(), Counter[PairKind]()

        def count(judged: Judged) -> None:
            counts[PairKind.of(judged)] += 1

        reporting = asyncio.create_task(self._keep_reporting(number, counts))
        try:
            await worker.judge(number, count, again=again)
        except LabelerError as error:
            if error.exit_code not in {1, 4}:  # neither stopped nor at the budget: it is over
                await self._coordinator.stop.remote()
            raise
        finally:
            reporting.cancel()
            if self._budget:
                await self._coordinator.give_back.remote(self._id, self._budget.given_back())
            await self._report(number, counts)

    async def _opened(self) -> PartitionWorker:
        if self._worker is None:
            seconds = await self._coordinator.seconds_left.remote()
            limits = replace(self._share.limits, deadline=seconds)
            share = replace(self._share, limits=limits)
            opening = partition_worker(self._folder, share, self._control)
            self._worker = await self._stack.enter_async_context(opening)
            self._share_budget(self._worker)
        return self._worker

    def _share_budget(self, worker: PartitionWorker) -> None:
        """Let the budget ask for more of the whole, where there is one."""
        budget = worker.source.guard.budget
        most = (budget.max_calls, budget.max_tokens, budget.max_cost)
        bounds = (most[0] is not None, most[1] is not None, most[2] is not None)
        if any(bounds):
            allot = lambda amounts: self._coordinator.allot.remote(self._id, amounts)  # noqa: E731
            self._budget = AllottedBudget(budget, allot, bounds)
            budget.raised = self._budget.raised

    async def _keep_reporting(self, number: int, counts: Counter[PairKind]) -> None:
        while True:
            if await self._report(number, counts):
                self._control.stop.set()
            await asyncio.sleep(REPORT_SECONDS)

    async def _report(self, number: int, counts: Counter[PairKind]) -> bool:
        """Say how far this is; whether to stop."""
        assert self._worker is not None, "it is opened before anything is counted"
        guard = self._worker.source.guard
        limiter, spent = guard.limiter, replace(guard.budget.spent)
        ways = (limiter.under_way, int(limiter.at_once), limiter.why)
        report = WorkerReport(self._id, number, dict(counts), spent, *ways)
        return bool(await self._coordinator.report.remote(report))


# What is shown of a run on several workers, as if one machine did it.


class LimitersOfAll(RateLimiter):
    """What is shown of the limiters of all workers."""

    state: RunState | None = None

    @property
    def at_once(self) -> float:
        """How many calls may be under way now."""
        return self.state.at_once if self.state else 0

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self.state.under_way if self.state else 0


class PairsShown:
    """Hands the caller of a run each pair that is done, once, whichever worker did it."""

    def __init__(self, on_judged: OnJudged) -> None:
        self._on_judged = on_judged
        self._handed: dict[int, dict[PairKind, int]] = {}

    def add_done(self, parts: PartitionFolder, job: PartitionedJob, to_do: set[int]) -> None:
        """Count the partitions that were done before."""
        for number, partition in enumerate(job.partitions):
            if number not in to_do:
                failures = statuses_in(parts.judged(number))
                kinds = {PairKind(status, True, False): n for status, n in failures.items()}
                kinds[PairKind("", True, False)] = partition.pairs - failures.total()
                self._add(number, kinds)

    def add(self, state: RunState) -> None:
        """Count what was done since the last time."""
        for number, kinds in state.pairs.items():
            self._add(number, kinds)

    def _add(self, number: int, kinds: Mapping[PairKind, int]) -> None:
        handed = self._handed.setdefault(number, {})
        for kind in kinds:
            for _ in range(kinds[kind] - handed.get(kind, 0)):
                self._on_judged(_example(kind))
            handed[kind] = max(kinds[kind], handed.get(kind, 0))


def _example(kind: PairKind) -> Judged:
    pair = Pair("", "")
    outcome = Failure(pair, kind.failure, "") if kind.failure else Judgement(pair, 0)
    return Judged(outcome, remembered=kind.remembered, shared=kind.shared)
