"""`labeler shift`: how far scores moved since the documents changed, and through what."""

from __future__ import annotations

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show, show_records, warn
from labeler.cli.screen import note
from labeler.messages import count_of
from labeler.options import COUNT_OR_NONE, option

_MANY = 0.05


def command(
    context: typer.Context,
    folder: Folder,
    *,
    qrels: str = option("", "The qrels that both states are scored with.", metavar="NAME"),
    measure: str = option("nDCG@10", "The measure.", flags="--measure -m"),
    state: int = option(0, "The state in history/; 0 is the last.", COUNT_OR_NONE),
    output: OutputFlags,
) -> None:
    """Say how far scores moved since documents changed."""
    from labeler.pools.shift import shift

    to = output.made_from(folder)
    result = shift(folder, qrels, measure=measure, state=state)
    if output.format == "json":
        show_records([result.as_json()], output.format, to)
    else:
        show([result.table()], output.format, to)
        warn(context, result.findings)
    queries = count_of(result.queries, "query", "queries")
    note(f"{result.measure} by {result.qrels}, over {queries}, since {result.state}")
    if result.holes > _MANY:
        holes = f"{result.holes:.0%} of the first ten documents have no grade now"
        note(f"{holes}: judge them first (labeler pool, labeler judge)")
