"""Judge partitions on Ray: its data engine hands their numbers to workers, and starts lost ones
again.

Nothing but paths, limits and counts goes through Ray: keys come from each machine's environment,
texts and replies stay in the folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from typing import Any, NamedTuple

import labeler.errors
from labeler.collection.layout import Collection, open_collection
from labeler.errors import (
    BudgetReached,
    LabelerError,
    Misconfigured,
    Misuse,
    ProviderError,
    Stopped,
)
from labeler.judging.judge import JudgeOptions
from labeler.messages import missing_extra
from labeler.models.control import Control, Underway, run_to_end
from labeler.models.cost import Price
from labeler.models.policies.budget import Budget
from labeler.models.policies.rate import RateLimits
from labeler.models.policies.stack import Guard
from labeler.models.session import select_model
from labeler.options import AT_ONCE, COUNT, check_options, option
from labeler.scale.partitions.collect import CollectedPartitions, acollect_partitions
from labeler.scale.partitions.folder import PartitionedJob, PartitionFolder, statuses_in
from labeler.scale.partitions.ray_worker import (
    Coordinator,
    LimitersOfAll,
    PairsShown,
    RayWorker,
    RunState,
    unallotted,
)
from labeler.scale.partitions.work import Share, share_of
from labeler.scale.partitions.write import ROWS, awrite_partitions
from labeler.wire.gate import on_the_way

# Ray itself: connected to a cluster or started here, quiet, and ended again.

OBJECT_STORE = 100 << 20
"""Bytes of shared memory on this machine: what goes through it is a few numbers."""

CONNECT_SECONDS = 10

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""What keeps Ray from reporting to its makers, its logs from a person's screen, workers on this
machine from giving way to everything else, and Ray from being started again once it has ended.
"""


RAY = "Ray"


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How many workers judge, where, and partitions of how many pairs at least.

    `address` is that of a running cluster; None takes RAY_ADDRESS, or starts Ray on this machine
    alone. `rows` None makes a few partitions for each worker, of 5,000 pairs at most.
    """

    workers: int = option(2, "Workers, which share all limits.", AT_ONCE, panel=RAY)
    address: str | None = option(
        None,
        "A running cluster (RAY_ADDRESS); else Ray is started on this machine.",
        panel=RAY,
        metavar="ADDRESS",
        flags="--ray-address",
    )
    rows: int | None = option(None, "Pairs of a partition, at least.", COUNT, panel=RAY)

    def __post_init__(self) -> None:
        check_options(self)


def check_ray() -> None:
    """`Misconfigured` where Ray is not installed."""
    if not (find_spec("ray") and find_spec("pyarrow")):
        raise Misconfigured(missing_extra("ray", "judging on Ray needs"))


def _check_answers(address: str) -> None:
    """`Misconfigured` where nothing answers at HOST:PORT: Ray tries for minutes, whoever stops it.

    What is no such address, as `auto`, is Ray's to say something of.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and port.isascii() and port.isdigit()):
        return
    try:
        with on_the_way(address):
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        problem = f"no Ray cluster answers at {address}: {error}"
        raise Misconfigured(problem, parameter="address") from error


class OpenedRay(NamedTuple):
    """Ray, whether it is to be ended again, and its folder of logs where it was started here."""

    ray: Any
    is_own: bool = True
    logs: Path | None = None


def started_ray(how: RayOptions) -> OpenedRay:
    """Ray, connected to a cluster or started here."""
    os.environ.update({name: os.environ.get(name, value) for name, value in SETTINGS.items()})
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    import ray
    import ray.data

    if ray.is_initialized():
        return OpenedRay(ray, is_own=False)
    address = how.address or os.environ.get("RAY_ADDRESS")
    _check_answers(address or "")
    try:
        with _unheard():
            logs = _connect(ray, address, how.workers)
    except Exception as error:  # of no kind of its own where a part of it takes too long to start
        where = f"at {address}" if address else "on this machine"
        why = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"Ray {where} cannot be reached or started: {why}"
        raise Misconfigured(problem, parameter="address") from error
    return OpenedRay(ray, logs=logs)


def _connect(ray: Any, address: str | None, workers: int) -> Path | None:
    """Connect to a cluster, or start Ray here; the folder of its logs in the latter case."""
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address:
        ray.init(address=address, **quiet)
        return None
    own = {"num_cpus": workers, "include_dashboard": False}
    started = ray.init(address="local", object_store_memory=OBJECT_STORE, **own, **quiet)
    return Path(started.address_info["session_dir"])


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep what Ray's own libraries write to standard error, past Python, from being seen."""
    sys.stderr.flush()
    earlier = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(earlier, 2)
        os.close(earlier)


def keep_signal_handlers() -> None:
    """Put this process' handlers of signals back, over those that Ray's libraries have put there.

    To be called in the main thread; elsewhere nothing is done.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None:
                signal.signal(number, handler)


@contextmanager
def ending_ray(opened: OpenedRay) -> Iterator[Any]:
    """Ray as long as the block runs; what was started for it is ended again.

    Its logs, which it never removes, stay where the block fails.
    """
    try:
        yield opened.ray
    finally:
        if opened.is_own:
            with suppress(Exception):  # what is ended so is not needed any more
                opened.ray.shutdown()
    if opened.logs:
        shutil.rmtree(opened.logs, ignore_errors=True)


def problem_of_ray(ray: Any, error: Exception) -> Exception:
    """What an error of Ray's means: workers that are gone; or a mistake in the code, as it is."""
    kinds = ("ActorDiedError", "ActorUnavailableError", "NodeDiedError", "WorkerCrashedError")
    gone = tuple(getattr(ray.exceptions, kind) for kind in kinds)
    if isinstance(error, gone) or isinstance(getattr(error, "cause", None), gone):
        problem = "workers ended again and again (killed, or out of memory?)"
        return ProviderError(f"Ray: {problem}; what was answered is kept")
    return error


def processors_of_worker(ray: Any, workers: int) -> float:
    """The share of a processor that each worker takes: one, or less where there are fewer."""
    whole = float(ray.cluster_resources().get("CPU", 1))
    return min(1.0, int(100 * whole / workers) / 100)


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
        limits, _ = unallotted(replace(whole.limits, deadline=None))
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
