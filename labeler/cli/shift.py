"""`labeler shift`: how far scores moved since the documents changed, and through what."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.numbers import COUNT_OR_NONE, number
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show, show_records, warn
from labeler.cli.screen import note
from labeler.messages import count_of

_MANY = 0.05


def command(
    context: typer.Context,
    folder: Folder,
    *,
    qrels: Annotated[
        str, typer.Option(metavar="NAME", help="The qrels that both states are scored with.")
    ] = "",
    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "nDCG@10",
    state: Annotated[int, number(COUNT_OR_NONE, help="The state in history/; 0 is the last.")] = 0,
    output: OutputFlags,
) -> None:
    """Say how far scores moved since documents changed: through labels, and through retrieval."""
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
