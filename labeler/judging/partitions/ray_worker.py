"""A worker on Ray: it judges the partitions whose numbers it is handed, one after the other."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.data import Judged
from labeler.errors import LabelerError, ProviderError
from labeler.judging.partitions.coordinator import AllottedBudget, PairKind, WorkerReport
from labeler.judging.partitions.share import Share
from labeler.judging.partitions.work import PartitionWorker, partition_worker
from labeler.models.control import Control

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
