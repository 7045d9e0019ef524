"""`labeler queries`: look at the queries of a collection, and make queries from real traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli import query_options  # noqa: F401  it registers options
from labeler.cli.numbers import SEED, number
from labeler.cli.options import Folder, OutputFlags, unfolded
from labeler.queries.set_aside import PassageRules

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
