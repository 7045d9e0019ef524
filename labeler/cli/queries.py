"""`labeler queries`: look at the queries of a collection, and make queries from real traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli import query_options  # noqa: F401  it registers options
from labeler.cli.numbers import COUNT, SEED, number
from labeler.cli.options import OPTIONS_OF, Folder, OutputFlags, unfolded
from labeler.cli.screen import note
from labeler.exchange.fields import LogFields
from labeler.queries.set_aside import PassageRules

_COLUMNS = {
    "query_field": "What the log calls the query; a.b is the b in a.",
    "count_field": "What it calls how often a query was typed.",
    "doc_field": "What it calls the document that was shown.",
    "session_field": "What it calls the session, in which a query counts once.",
}
OPTIONS_OF[LogFields] = {
    name: Annotated[str, typer.Option(metavar="NAME", help=text, rich_help_panel="Columns")]
    for name, text in _COLUMNS.items()
}

app = typer.Typer(help="Look at queries, and take them from real traffic.", no_args_is_help=True)


@app.command(epilog="Example: labeler queries passages coll/ --format csv -o passages.csv")
@unfolded
def passages(
    folder: Folder,
    *,
    seed: Annotated[int, number(SEED, help="Decides the order, as of generate.")] = 0,
    rules: PassageRules,
    output: OutputFlags,
) -> None:
    """List the passages that generate asks about, in order, and why others are set aside."""
    from labeler.cli.output import show, show_json
    from labeler.collection.layout import open_collection
    from labeler.queries.passages import list_passages

    to = output.made_from(open_collection(folder).folder)
    listed = list_passages(folder, seed=seed, rules=rules)
    if output.format == "json":
        show_json(listed.as_json(), to)
    else:
        show(listed.tables(), output.format, to)


@app.command(epilog="Example: labeler queries realism coll/ --real clicked.csv")
@unfolded
def realism(
    folder: Folder,
    *,
    real: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Real queries. Default: those in the collection, else published figures.",
            show_default=False,
        ),
    ] = None,
    output: OutputFlags,
) -> None:
    """Say how generated queries differ from real ones: length, questions, words, difficulty."""
    from labeler.cli.output import show, show_json
    from labeler.collection.layout import open_collection
    from labeler.queries.realism import realism as compare

    inputs = [real] if real else []
    to = output.made_from(open_collection(folder).folder, *inputs)
    result = compare(folder, real)
    if output.format == "json":
        show_json(result.as_json(), to)
    else:
        show(result.tables(), output.format, to)


@app.command(
    "from-log", epilog="Example: labeler queries from-log log.csv --queries 200 -o real.jsonl"
)
@unfolded
def from_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, TSV, JSON Lines or Parquet.")],
    *,
    queries: Annotated[int, number(COUNT, help="How many queries, spread over strata.")] = 100,
    seed: Annotated[int, number(SEED, help="Decides which are drawn.")] = 0,
    min_count: Annotated[
        int, number(COUNT, help="Leave out what was typed less often: it may name somebody.")
    ] = 1,
    fields: LogFields,
    output: OutputFlags,
) -> None:
    """Sample real queries from a log by frequency, with weights and without personal data."""
    import json

    from labeler.cli.output import deliver, show_json
    from labeler.queries.traffic import TrafficOptions
    from labeler.queries.traffic import from_log as sample

    to = output.made_from(log)
    drawn = sample(log, TrafficOptions(queries, seed, min_count, fields))
    if output.as_json and to is None:
        show_json(drawn.as_json())
    else:
        deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in drawn.rows()), to)
    for line in drawn.summary():
        note(line)
