"""`labeler parts collect`: judged partitions of a pool, folded into the collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.progress import control_of
from labeler.cli.reporting import check_complete, show_judging, show_outcome
from labeler.cli.screen import say
from labeler.cli.signals import run_until_stopped

if TYPE_CHECKING:
    from labeler.scale.partitions.collect import CollectedPartitions


def command(
    folder: Folder,
    partitions: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of `judge --ray`.")
    ],
    *,
    output: OutputFlags,
) -> None:
    """Fold the partitions that are judged into their collection.

    Replies, judgements and qrels are taken in.

    It ends with 3 where some are not judged yet; the same command later takes in the rest.
    """
    from labeler.collection.layout import open_collection
    from labeler.scale.partitions.collect import acollect_partitions

    to = output.made_from(open_collection(folder).folder)
    collection, control = open_collection(folder), control_of()
    collected = run_until_stopped(
        lambda stop: acollect_partitions(collection, partitions, control.with_stop(stop))
    )
    show_outcome(collected, show_collected, output, to)
    check_collected(collected, asked=False)


def show_collected(collected: CollectedPartitions) -> None:
    """Print what was taken in, and the counts of the set."""
    say(collected.sentence())
    show_judging(collected.result)


def check_collected(collected: CollectedPartitions, *, asked: bool = True) -> None:
    """Raise what ended the run early, else `Incomplete` where anything is left."""
    if collected.result.stopped is None:
        collected.check_all(asked=asked)
    check_complete(collected.result, asked=asked)
