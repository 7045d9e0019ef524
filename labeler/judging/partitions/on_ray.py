"""Judge partitions on Ray: its data engine hands their numbers to workers, and starts lost ones
again.

Nothing but paths, limits and counts goes through Ray: keys come from each machine's environment,
texts and replies stay in the folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from socket import gethostname
from typing import Any

import labeler.errors
from labeler.collection.layout import Collection, open_collection
from labeler.errors import (
    BudgetReached,
    LabelerError,
    Misuse,
    Stopped,
)
from labeler.judging.partitions.collect import CollectedPartitions, acollect_partitions
from labeler.judging.partitions.coordinator import Coordinator, RunState, unallotted
from labeler.judging.partitions.folder import PartitionedJob, PartitionFolder
from labeler.judging.partitions.ray_cluster import (
    RayOptions,
    check_ray,
    ending_ray,
    keep_signal_handlers,
    problem_of_ray,
    processors_of_worker,
    started_ray,
)
from labeler.judging.partitions.ray_worker import RayWorker
from labeler.judging.partitions.rows import statuses_in
from labeler.judging.partitions.share import Share, share_of
from labeler.judging.partitions.shown import LimitersOfAll, PairsShown
from labeler.judging.partitions.write import ROWS, awrite_partitions
from labeler.judging.session import JudgeOptions
from labeler.models.control import Control, Underway
from labeler.models.loop import run_to_end
from labeler.models.policies.budget import Budget
from labeler.models.policies.rate import RateLimits
from labeler.models.policies.stack import Guard
from labeler.models.prices import Price
from labeler.models.session import select_model

POLL_SECONDS = 0.25
PARTITIONS_OF_A_WORKER = 4
FEWEST_ROWS = 100


def judge_on_ray(
    collection: Collection | Path | str,
    folder: PartitionFolder | Path | str,
    options: JudgeOptions | None = None,
    how: RayOptions | None = None,
    control: Control | None = None,
) -> CollectedPartitions:
    """Judge a collection's pool on Ray, by partitions in a folder that all its machines share.

    The same call, made again, judges the partitions that are not done, and those with failed calls.
    The limits are those of all workers together.
    """
    control = control or Control()
    return run_to_end(
        lambda stop: ajudge_on_ray(collection, folder, options, how, control.with_stop(stop))
    )


async def ajudge_on_ray(
    collection: Collection | Path | str,
    folder: PartitionFolder | Path | str,
    options: JudgeOptions | None = None,
    how: RayOptions | None = None,
    control: Control | None = None,
) -> CollectedPartitions:
    """The same for callers that are asynchronous."""
    opened, parts = open_collection(collection), PartitionFolder.of(folder)
    options, how, control = options or JudgeOptions(), how or RayOptions(), control or Control()
    share_of(options.limits, options.concurrency, how.workers)  # refuses too many workers
    check_ray()
    earlier = replace(control.spent)
    if not isinstance(options.model, str | None):
        raise Misuse("on other machines a model is known by its name alone", parameter="model")
    parts.check_own()
    with parts.locked():
        rows = how.rows or _rows(opened, how.workers)
        job = await awrite_partitions(opened, parts, options, rows, control)
        selection = await select_model("judge", options.session, replace(control, note=_silent))
        run = RayRun(parts, job, how, options, selection.price)
        stopped = await run.judged(control)
        collected = await acollect_partitions(
            opened, parts, control, control.spent.since(earlier), stopped
        )
    is_priced, caveat = selection.price is not None, selection.caveat
    return replace(collected, result=replace(collected.result, is_priced=is_priced, caveat=caveat))


def _silent(_line: str) -> None:
    return None


def _rows(collection: Collection, workers: int) -> int:
    """Pairs of a partition, so that each worker gets a few of them."""
    with collection.pool.open("rb") as file:
        pairs = sum(1 for _ in file)
    return max(FEWEST_ROWS, min(ROWS, pairs // (PARTITIONS_OF_A_WORKER * workers)))


@dataclass(frozen=True, slots=True)
class RayRun:
    """A run of the partitions of a folder that are not done."""

    parts: PartitionFolder
    job: PartitionedJob
    how: RayOptions
    options: JudgeOptions
    price: Price | None

    async def judged(self, control: Control) -> BudgetReached | None:
        """Judge all that is not done; what the budget ended, or None."""
        tasks = self._tasks()
        limits = self.options.limits
        bounds = (limits.max_calls, limits.max_tokens, limits.max_cost, limits.deadline)
        budget = Budget(*bounds, self.price, control.spent)
        limiter = LimitersOfAll(RateLimits(1))
        guard = Guard(limiter, budget, stop=control.stop)
        with control.judging(Underway(self.job.pairs, guard)) as on_judged:
            shown = PairsShown(on_judged)
            shown.add_done(self.parts, self.job, {task["number"] for task in tasks})
            if not tasks:
                return None
            run = replace(self, how=replace(self.how, workers=min(self.how.workers, len(tasks))))
            results = await run._run(tasks, shown, (limiter, budget), control)
        return _ending(results, budget)

    def share(self) -> Share:
        """What each of the workers may take; the budgets are allotted to it as it goes on."""
        whole = share_of(self.options.limits, self.options.concurrency, self.how.workers)
        limits, _ = unallotted(replace(whole.limits, deadline=None, prices=None))
        retried = self.options.retry_failed
        named = (self.job.server or "", self.job.store)
        return replace(whole, limits=limits, price=self.price, retry_failed=retried, named=named)

    def _tasks(self) -> list[dict[str, Any]]:
        """The partitions to judge: those that are not done, and those with failed calls."""
        unfinished = set(self.parts.unfinished(self.job))
        tasks = []
        for number in range(len(self.job.partitions)):
            if number in unfinished:
                tasks.append({"number": number, "again": False})
            elif self._has_failed(number):
                tasks.append({"number": number, "again": True})
        return tasks

    def _has_failed(self, number: int) -> bool:
        failures = statuses_in(self.parts.judged(number))
        return bool(failures if self.options.retry_failed else failures["call_failed"])

    async def _run(
        self,
        tasks: Sequence[Mapping[str, Any]],
        shown: PairsShown,
        counts: tuple[LimitersOfAll, Budget],
        control: Control,
    ) -> list[dict[str, Any]]:
        """Run the tasks on Ray, and show how far they are; waits happen in other threads."""
        limiter, budget = counts
        with ending_ray(await asyncio.to_thread(started_ray, self.how)) as ray:
            keep_signal_handlers()
            coordinator = ray.remote(num_cpus=0)(Coordinator).remote(
                self.options.limits, self.how.workers, replace(control.spent)
            )
            work = asyncio.create_task(asyncio.to_thread(self._results, ray, tasks, coordinator))
            try:
                while not work.done():
                    await asyncio.wait({work}, timeout=POLL_SECONDS)
                    state = await asyncio.to_thread(ray.get, coordinator.state.remote())
                    limiter.state, limiter.why = state, state.why or limiter.why
                    _set(budget, state)
                    shown.add(state)
                    if control.stop.is_set():
                        coordinator.stop.remote()
                return work.result()
            except ray.exceptions.RayError as error:
                raise problem_of_ray(ray, error) from error
            finally:
                work.cancel()

    def _results(
        self, ray: Any, tasks: Sequence[Mapping[str, Any]], coordinator: Any
    ) -> list[dict[str, Any]]:
        """What came of each task, as Ray's data engine has them done."""
        from ray.data import ActorPoolStrategy, DataContext, from_items

        context = DataContext.get_current()
        context.enable_progress_bars = False
        workers = self.how.workers
        pool = ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1)
        results = from_items(list(tasks), override_num_blocks=len(tasks)).map(
            RayWorker,
            fn_constructor_args=(str(self.parts.path), self.share(), coordinator, gethostname()),
            compute=pool,
            num_cpus=processors_of_worker(ray, workers),
        )
        return [dict(row) for row in results.iter_rows()]


def _set(budget: Budget, state: RunState) -> None:
    """Show of a budget what all workers have spent."""
    budget.spent.add(budget.spent, -1)
    budget.spent.add(state.spent)


def _ending(results: Sequence[Mapping[str, Any]], budget: Budget) -> BudgetReached | None:
    """Raise what ended the run early, where it was no budget; the budget that did."""
    problems = [row for row in results if row["problem"]]
    for row in problems:
        if row["problem"] not in {"BudgetReached", "Stopped"}:
            kind: type[LabelerError] = getattr(labeler.errors, row["problem"], LabelerError)
            raise kind(row["message"], parameter=row["parameter"])
    for row in problems:
        if row["problem"] == "BudgetReached":
            return budget.reached(row["parameter"])
    if problems:
        raise Stopped(problems[0]["message"])
    return None
