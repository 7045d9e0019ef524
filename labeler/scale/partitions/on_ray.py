"""Workers on Ray, each of which judges free partitions of a folder, as `parts work` does.

Ray starts the workers and nothing else: which of them judges what, the locks in the folder decide.
The folder has to be one that all machines of the cluster share.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labeler.errors import BudgetReached, LabelerError, Misconfigured, ProviderError, Stopped
from labeler.files.boundary import needing
from labeler.messages import missing_extra
from labeler.models.session import Control
from labeler.options import AT_ONCE, Options, option
from labeler.scale.partitions.folder import AnyFolder, PartitionFolder
from labeler.scale.partitions.work import (
    JudgedPartition,
    Share,
    admitted,
    judge_partitions,
    share_of,
)

POLL_SECONDS = 0.5
RAY = "Ray"


@dataclass(frozen=True, slots=True)
class RayOptions(Options):
    """How many workers Ray starts, and where; without workers, this process judges.

    `address` is that of a running cluster; None takes RAY_ADDRESS, or starts Ray on this machine
    alone.
    """

    workers: int | None = option(
        None, "Let Ray start so many workers, which share the limits.", AT_ONCE, panel=RAY
    )
    address: str | None = option(
        None,
        "A running cluster (RAY_ADDRESS); else Ray is started on this machine.",
        panel=RAY,
        metavar="ADDRESS",
        flags="--ray-address",
    )


def _work(folder: str, share: Share, wait: bool) -> LabelerError | None:
    """What each worker does, in a process that Ray has started; what ended it early."""
    try:
        judge_partitions(folder, share, wait=wait)
    except LabelerError as error:
        return error.with_traceback(None)
    return None


async def awork_on_ray(
    folder: AnyFolder,
    share: Share,
    how: RayOptions,
    control: Control,
    *,
    wait: bool,
) -> list[JudgedPartition]:
    """Have workers on Ray judge the partitions of a folder; all that are judged then.

    Each worker takes an equal part of the limits. A worker that is lost is started again, and goes
    on where it was. Raises what ended the first worker that did not come to its end.
    """
    parts, workers = PartitionFolder.of(folder), how.workers or 1
    with needing(missing_extra("ray", "judging on Ray needs")):
        import ray
    each = admitted(parts, share_of(share, workers))
    _start(ray, how.address, workers)
    try:
        task = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(_work)
        running = [task.remote(str(parts.path), each, wait) for _ in range(workers)]
        ends = filter(None, await _ends(ray, running, control))
        # that a budget ended one comes last, as nothing went wrong there
        for early in sorted(ends, key=lambda end: type(end) is BudgetReached):
            raise early
    except ray.exceptions.RayError as error:
        raise ProviderError(
            f"Ray: {error.__class__.__name__}; what was answered is kept"
        ) from error
    finally:
        ray.shutdown()
    done = ((number, parts.judged(number)) for number in range(len(parts.read_job().partitions)))
    return [JudgedPartition.of(number, path) for number, path in done if path.is_file()]


def _start(ray: Any, address: str | None, workers: int) -> None:
    """Connect to a cluster, or start Ray here; it tells its makers nothing, and us little."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ours = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    own = {} if address or os.environ.get("RAY_ADDRESS") else {"num_cpus": workers}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:  # of no kind of its own where a part of it does not start
        raise Misconfigured(
            f"Ray cannot be reached or started: {error}", parameter="address"
        ) from error
    for number, handler in ours.items():  # Ray puts its own there
        signal.signal(number, handler)


async def _ends(ray: Any, running: Sequence[Any], control: Control) -> list[LabelerError | None]:
    """How each worker ended; told to stop, all finish the calls under way and begin no more."""
    is_told = False
    while len(ray.wait(running, num_returns=len(running), timeout=0)[0]) < len(running):
        if control.stop.is_set() and not is_told:
            is_told = True
            for worker in running:
                ray.cancel(worker)  # as Ctrl-C there
        await asyncio.sleep(POLL_SECONDS)
    if is_told:
        raise Stopped("stopped; what was answered is kept")
    return list(ray.get(list(running)))
