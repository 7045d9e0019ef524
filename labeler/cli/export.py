"""`labeler export`: a collection as files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.options import FORCE, OUTPUT, Folder, FormFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, say
from labeler.exchange.export.content import FormatName
from labeler.options import COUNT, REQUIRED, option

if TYPE_CHECKING:
    from labeler.collection.export import Exported


def command(
    folder: Folder,
    *,
    to: FormatName = option(REQUIRED, "The tool that shall read it."),
    output: Path = option(
        REQUIRED,
        "A folder; or a file, for a tool that reads one.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    qrels: str | None = option(None, "Which qrels; human, or the only ones.", metavar="NAME"),
    runs: tuple[str, ...] = option(
        (), "A run of the collection's too; may be repeated.", flags="--run", metavar="NAME"
    ),
    relevant: int = option(1, "The lowest relevant grade, for tools that know no grades.", COUNT),
    depth: int = option(10, "How many documents of the run such tools are given.", COUNT),
    shown: FormFlags,
    force: bool = option(False, FORCE),
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
