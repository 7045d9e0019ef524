"""`labeler export`: a collection as files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import COUNT, number
from labeler.cli.options import OUTPUT, Folder, Force, FormFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, say
from labeler.exchange.export.content import FormatName

if TYPE_CHECKING:
    from labeler.collection.export import Exported


def command(
    folder: Folder,
    *,
    to: Annotated[FormatName, typer.Option("--to", help="The tool that shall read it.")],
    output: Annotated[
        Path,
        typer.Option(
            *("--output", "-o"),
            help="A folder; or a file, for a tool that reads one.",
            rich_help_panel=OUTPUT,
        ),
    ],
    qrels: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which qrels; human, or the only ones.")
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            "--run", metavar="NAME", help="A run of the collection's too; may be repeated."
        ),
    ] = None,
    relevant: Annotated[
        int, number(COUNT, help="The lowest relevant grade, for tools that know no grades.")
    ] = 1,
    depth: Annotated[
        int, number(COUNT, help="How many documents of the run such tools are given.")
    ] = 10,
    shown: FormFlags,
    force: Force = False,
) -> None:
    """Write a collection as files that another tool reads, such as BEIR, ranx or ragas."""
    from labeler.collection.export import ExportOptions, export
    from labeler.collection.user_files import Output

    options = ExportOptions(qrels, tuple(runs or ()), relevant, depth)
    exported = export(folder, Output(output, force), to, options, caution)
    show_outcome(exported, _show, shown)


def _show(exported: Exported) -> None:
    from labeler.messages import count_of

    for path in exported.files:
        say(str(path))
    pairs = count_of(exported.pairs, "pair", "pairs")
    queries = count_of(exported.queries, "query", "queries")
    documents = count_of(exported.documents, "document", "documents")
    note(f"{exported.qrels}: {pairs}; {queries}, {documents}")
    note(f"to read it: {exported.reader}")
