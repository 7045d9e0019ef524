"""`labeler ingest`: files to corpus.jsonl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import note, progress, say

if TYPE_CHECKING:
    from labeler.ingesting import Ingested

SHOWN = 20


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Folders (read recursively), files or patterns of Markdown, reStructuredText, "
            "plain text, CSV, TSV or JSON Lines (BEIR's own too).",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The collection's directory.")],
    queries_file: Annotated[
        Path | None,
        typer.Option(help="Your own queries: one a line, TSV (id and text) or JSON Lines."),
    ] = None,
) -> None:
    """Cut documents into passages of about 200 words and write them as corpus.jsonl."""
    from labeler.formats.collection import Collection
    from labeler.ingesting import ingest

    collection = Collection(out)
    with progress("files") as advance:
        result = ingest(inputs, collection, queries_file, advance)
    report(result)
    say(f"{collection.corpus}: {len(result.documents)} documents from {result.files} files")
    if result.queries:
        say(f"{collection.queries}: {len(result.queries)} queries")


def report(result: Ingested) -> None:
    """Say what was left out, and why."""
    for problem in result.unread[:SHOWN]:
        note(f"not read: {problem}")
    if len(result.unread) > SHOWN:
        note(f"… and {len(result.unread) - SHOWN} more, listed in card.json")
    if result.unread:
        note(f"{len(result.unread)} of {len(result.unread) + result.files} files not read")
    if result.other_kinds:
        kinds = ", ".join(f"{kind} {n}" for kind, n in result.other_kinds.most_common())
        note(f"{result.other_kinds.total()} files of other kinds passed over: {kinds}")
    for path in result.beside:
        note(f"not taken as documents, since a corpus.jsonl lies beside it: {path}")
    if result.duplicates:
        note(f"{result.duplicates} passages that stand elsewhere too are kept once")
    if result.gone:
        note(f"{result.gone} documents of the earlier corpus.jsonl are gone")
