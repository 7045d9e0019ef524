"""`labeler parts`: a pool judged in partitions, by workers that share a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import ModelFlags, TakingFlags
from labeler.cli.options import MADE, Destination, Opened, argument
from labeler.cli.output import show_records
from labeler.cli.reporting import check_complete, show_judging, show_outcome, watched
from labeler.cli.screen import note, say
from labeler.errors import Incomplete, Misuse
from labeler.judging.judge import JudgeOptions
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.options import COUNT, COUNT_OR_NONE, option
from labeler.scale.partitions.collect import CollectedPartitions, acollect
from labeler.scale.partitions.on_ray import RayOptions, awork_on_ray
from labeler.scale.partitions.work import JudgedPartition, Share, ajudge_partitions
from labeler.scale.partitions.write import ROWS, awrite_partitions

Parts = Annotated[Path, argument("The folder of the partitions.", "FOLDER"), MADE]


def make(
    collection: Opened,
    parts: Parts,
    *,
    rows: int = option(ROWS, "Pairs of a partition, at least.", COUNT),
    options: JudgeOptions,
    who: ModelFlags,
    flags: TakingFlags,
    to: Destination,
) -> None:
    """Cut a pool into partitions that workers anywhere judge.

    Each holds whole queries and their texts. `labeler parts work` judges them.
    """
    job = watched(flags, partial(awrite_partitions, collection, parts, who.asking(options), rows))
    made = {"name": job.name, "partitions": len(job.partitions), "pairs": job.pairs}
    pairs, partitions = count_of(job.pairs, "pair"), count_of(len(job.partitions), "partition")
    show_outcome(made, lambda _: say(f"{job.name}: {pairs} in {partitions}"), to)
    note(
        f"next: labeler parts work {parts}, then labeler parts collect {collection.folder} {parts}"
    )


def work(
    parts: Parts,
    *,
    partition: int | None = option(
        None, "Judge this one, from 0; else all that are free.", COUNT_OR_NONE, metavar="N"
    ),
    wait: bool = option(False, "Go on until all are judged, by whomever."),
    share: Share,
    ray: RayOptions,
    flags: TakingFlags,
    to: Destination,
) -> None:
    """Judge partitions that no other worker is at.

    Start it as often as you like, on machines that share the folder. What was answered is kept:
    the same command, run again, asks only for what is missing.
    """
    if ray != RayOptions() and (ray.workers is None or partition is not None):
        raise Misuse("on Ray, --workers judge all partitions", parameter="workers")

    async def judged(*, control: Control) -> list[JudgedPartition]:
        if ray.workers is not None:
            return await awork_on_ray(parts, share, ray, control, wait=wait)
        return await ajudge_partitions(parts, share, partition, wait=wait, control=control)

    done = watched(flags, judged)
    show_records([each.as_json() for each in done], to)
    if missing := sum(each.pairs - each.judged for each in done):
        raise Incomplete(f"{missing:,} of {sum(each.pairs for each in done):,} pairs have no grade")


def collect(collection: Opened, parts: Parts, *, to: Destination) -> None:
    """Fold the partitions that are judged into their collection.

    Replies, judgements and qrels are taken in. It ends with 3 where some are not judged yet; the
    same command later takes in the rest.
    """
    collected = watched(None, partial(acollect, collection, parts))
    show_outcome(collected, _show_collected, to)
    collected.check_all()
    check_complete(collected.result, asked=False)


def _show_collected(collected: CollectedPartitions) -> None:
    """Print what was taken in, and the counts of the set."""
    say(collected.sentence())
    show_judging(collected.result)
