"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from functools import partial

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Destination, Opened
from labeler.cli.reporting import (
    asked,
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.judging.judge import JudgeOptions, ajudge


def command(
    collection: Opened,
    *,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    result = asked(flags, partial(ajudge, collection, who.asking(options)), show_judging_plan, to)
    show_outcome(result, show_judging, to)
    check_complete(result)
