"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from functools import partial

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.reporting import (
    check_complete,
    planned,
    show_judging,
    show_judging_plan,
    show_outcome,
    watched,
)
from labeler.collection.layout import open_collection
from labeler.judging.judge import JudgeOptions, ajudge


def command(
    folder: Folder,
    *,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    collection, asked = open_collection(folder), who.asking(options)
    to = output.made_from(collection.folder)
    act = partial(ajudge, collection, asked)
    if flags.dry_run:
        show_outcome(planned(flags, act), show_judging_plan, output, to)
        return
    result = watched(flags, act)
    show_outcome(result, show_judging, output, to)
    check_complete(result)
