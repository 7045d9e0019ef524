"""`labeler parts`: a pool judged in partitions, by workers that share a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show_records
from labeler.cli.reporting import check_complete, show_judging, show_outcome, watched
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.errors import Incomplete, Misuse
from labeler.judging.judge import JudgeOptions
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.options import COUNT, COUNT_OR_NONE, option
from labeler.scale.partitions.collect import CollectedPartitions, acollect_partitions
from labeler.scale.partitions.folder import PartitionFolder
from labeler.scale.partitions.on_ray import RAY, RayOptions, ajudge_on_ray
from labeler.scale.partitions.work import JudgedPartition, Share, partition_worker
from labeler.scale.partitions.write import ROWS, awrite_partitions

Parts = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the partitions.")]


def make(
    folder: Folder,
    parts: Parts,
    *,
    rows: int = option(ROWS, "Pairs of a partition, at least.", COUNT),
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Cut a pool into partitions that workers anywhere judge.

    Each holds whole queries and their texts. `labeler parts work` judges them.
    """
    _check_asks(flags)
    collection, asked = open_collection(folder), who.asking(options)
    to = output.made_from(collection.folder)
    job = watched(flags, lambda watch: awrite_partitions(collection, parts, asked, rows, watch))
    made = {"name": job.name, "partitions": len(job.partitions), "pairs": job.pairs}
    if output.format != "table":
        show_records([made], output.format, to)
    else:
        pairs = count_of(job.pairs, "pair")
        say(f"{job.name}: {pairs} in {count_of(len(job.partitions), 'partition')}")
    note(f"next: labeler parts work {parts}, then labeler parts collect {folder} {parts}")


def work(
    parts: Parts,
    *,
    partition: int | None = option(
        None, "Judge this one, from 0; else all that are not done.", COUNT_OR_NONE, metavar="N"
    ),
    on_ray: Path | None = option(
        None,
        "Cut and judge the pool of this collection by workers on Ray, and collect it.",
        metavar="COLL",
        panel=RAY,
        flags="--ray",
    ),
    ray: RayOptions,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Judge partitions in this process, or on a Ray cluster.

    Several processes may work at once, each on partitions of its own. What was answered is kept:
    the same command, run again, asks only for what is missing.
    """
    _check_asks(flags)
    to = output.made_from()
    if on_ray is not None:
        collection, asked = open_collection(on_ray), who.asking(options)
        collected = watched(
            flags, lambda watch: ajudge_on_ray(collection, parts, asked, ray, watch)
        )
        show_outcome(collected, _show_collected, output, to)
        _check_collected(collected)
        return
    if ray != RayOptions():
        raise Misuse("it is for workers on Ray; it goes with --ray", parameter="workers")
    done = watched(flags, lambda watch: _judge_all(parts, partition, options, watch))
    show_records([each.as_json() for each in done], output.format, to)
    if missing := sum(each.pairs - each.judged for each in done):
        raise Incomplete(f"{missing:,} of {sum(each.pairs for each in done):,} pairs have no grade")


async def _judge_all(
    parts: Path, partition: int | None, options: JudgeOptions, control: Control
) -> list[JudgedPartition]:
    """Judge one partition, or one after the other those that nobody has done."""
    folder = PartitionFolder.of(parts)
    share = Share(options.limits, options.concurrency, retry_failed=options.retry_failed)
    numbers = range(len(folder.read_job().partitions)) if partition is None else [partition]
    async with partition_worker(folder, share, control) as worker:
        return [await worker.judge(n, again=options.retry_failed) for n in numbers]


def collect(folder: Folder, parts: Parts, *, output: OutputFlags) -> None:
    """Fold the partitions that are judged into their collection.

    Replies, judgements and qrels are taken in. It ends with 3 where some are not judged yet; the
    same command later takes in the rest.
    """
    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    collected = watched(None, lambda watch: acollect_partitions(collection, parts, watch))
    show_outcome(collected, _show_collected, output, to)
    _check_collected(collected, asked=False)


def _check_asks(flags: ShownFlags) -> None:
    if flags.dry_run:
        problem = "what partitions would take is what judging would; see labeler judge --dry-run"
        raise Misuse(problem, parameter="dry_run")


def _show_collected(collected: CollectedPartitions) -> None:
    """Print what was taken in, and the counts of the set."""
    say(collected.sentence())
    show_judging(collected.result)


def _check_collected(collected: CollectedPartitions, *, asked: bool = True) -> None:
    """Raise what ended the run early, else `Incomplete` where anything is left."""
    if collected.result.stopped is None:
        collected.check_all(asked=asked)
    check_complete(collected.result, asked=asked)
