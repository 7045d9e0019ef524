"""`labeler reuse`: whether a pool is fair to a system that did not help to fill it."""

from __future__ import annotations

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import said_to, show, show_json
from labeler.cli.screen import say
from labeler.errors import about
from labeler.options import option


def command(
    folder: Folder,
    *,
    qrels: str | None = option(None, "The collection's qrels to score by.", metavar="NAME"),
    measure: str = option("nDCG@10", "What runs are scored by.", flags="--measure -m"),
    family: tuple[str, ...] = option(
        (), "Runs to leave out together; repeatable.", metavar="RUN,RUN"
    ),
    output: OutputFlags,
) -> None:
    """Leave each run out of the pool in turn: how would its score change?"""
    from labeler.collection.layout import open_collection
    from labeler.collection.user_files import collection_qrels
    from labeler.pools.reuse import reuse

    to = output.made_from(open_collection(folder).folder)
    with about("qrels"):
        name = collection_qrels(folder, qrels).stem
    with about("measure", "measures"):
        result = reuse(folder, name, measure, family or ())
    if output.format == "json":
        show_json(result.as_json(), to)
    elif output.format == "table":
        with said_to(to):
            show(result.tables())
            for line in result.sentences():
                say(line)
    else:
        show(result.tables(), output.format, to)
