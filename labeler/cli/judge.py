"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from functools import partial

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.reporting import (
    asked,
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
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
    collection, how = open_collection(folder), who.asking(options)
    to = output.made_from(collection.folder)
    result = asked(flags, partial(ajudge, collection, how), show_judging_plan, to)
    if result is not None:
        show_outcome(result, show_judging, to)
        check_complete(result)
