"""`labeler missed`: how many relevant documents the pool missed, from a random sample beyond it."""

from __future__ import annotations

import shlex

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.errors import Misuse, about
from labeler.options import TOP_GRADE, option


def command(
    folder: Folder,
    *,
    qrels: str | None = option(
        None, "The collection's qrels that judged the sample.", metavar="NAME"
    ),
    rel: int = option(1, "The lowest grade that counts as relevant.", TOP_GRADE),
    output: OutputFlags,
) -> None:
    """Estimate how many relevant documents the pool missed."""
    from labeler.collection.layout import open_collection
    from labeler.collection.user_files import collection_qrels
    from labeler.pools.missed import missed

    to = output.made_from(open_collection(folder).folder)
    with about("qrels"):
        name = collection_qrels(folder, qrels).stem
    try:
        result = missed(folder, name, rel)
    except Misuse as error:
        if error.parameter != "beyond":
            raise
        where = shlex.quote(str(folder))
        steps = f"labeler pool {where} --beyond 100, then labeler judge {where}"
        raise Misuse(f"the pool has no random sample beyond it; next: {steps}") from error
    show_outcome(result, lambda result: say(str(result)), output, to)
