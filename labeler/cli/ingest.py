"""`labeler corpus ingest`: files to corpus.jsonl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import FORCE, OUT_FOLDER, FormFlags, Shown
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import note, progress, say
from labeler.collection.layout import Collection
from labeler.corpus.documents import Ingested
from labeler.corpus.ingest import IngestOptions, ingest
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.options import REQUIRED, option

_USUAL = ("words", "include", "exclude", "code", "text_field", "title_field", "id_field")
"""The options that help shows, of those that are said once for a project."""

SHOWN = 20
_REASONS = {
    "hidden": "with a dot before the name",
    "gitignore": "by .gitignore (--no-gitignore reads them)",
    "exclude": "by --exclude",
    "include": "that --include does not name",
}


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Folders (read recursively), files or patterns of Markdown, reStructuredText, "
            "plain text, HTML, PDF, DOCX, EPUB, notebooks, CSV, TSV, JSON, JSON Lines (BEIR's, "
            "hits, _bulk) or Parquet.",
        ),
    ],
    out: Path = option(REQUIRED, OUT_FOLDER),
    *,
    queries_file: Path | None = option(
        None, "Your own queries: one a line, a table, JSON, TREC topics."
    ),
    options: Annotated[IngestOptions, Shown(_USUAL)],
    force: bool = option(False, FORCE),
    shown: FormFlags,
) -> None:
    """Cut documents into passages of about 200 words and write them as corpus.jsonl."""
    collection, control = Collection(out), Control(note=note, progress=progress)
    whole = replace(options, force=force)
    result = ingest(inputs, collection, queries_file, whole, control=control)
    note_left_out(result)
    show_outcome(result, lambda ingested: _show(collection, ingested), shown)


def _show(collection: Collection, result: Ingested) -> None:
    say(f"{collection.corpus}: {read_from(result)}")
    if result.queries:
        say(f"{collection.queries}: {count_of(len(result.queries), 'query', 'queries')}")


def read_from(result: Ingested) -> str:
    """How many documents from how many files."""
    documents = count_of(len(result.documents), "document", "documents")
    return f"{documents} from {count_of(result.files, 'file', 'files')}"


def note_ingested(result: Ingested) -> None:
    """Say what was left out, and what was read; for commands that do more than this."""
    note_left_out(result)
    note(read_from(result))


def note_left_out(result: Ingested) -> None:
    """Say what was left out, and why."""
    _note_unread(result)
    _note_not_looked_at(result)
    for path in result.collection_files:
        note(f"not taken as documents, since a corpus.jsonl lies beside it: {path}")
    if result.duplicates:
        twice = ("passage that stands elsewhere too is", "passages that stand elsewhere too are")
        note(f"{count_of(result.duplicates, *twice)} kept once")
    if result.removed:
        removed = count_of(result.removed, "document", "documents")
        note(f"no longer there: {removed} of the earlier corpus.jsonl")


def _note_unread(result: Ingested) -> None:
    """Say which files could not be read."""
    for problem in result.unread[:SHOWN]:
        note(f"not read: {problem}")
    if len(result.unread) > SHOWN:
        note(f"… and {len(result.unread) - SHOWN} more, listed in card.json")
    if result.unread:
        files = count_of(len(result.unread) + result.files, "file", "files")
        note(f"{len(result.unread):,} of {files} not read")
    if result.too_large:
        files = count_of(result.too_large, "file", "files")
        note(f"{files} too large; --max-file-size says how large one may be")
    for problem, count in result.missing_extras.items():
        note(f"{count_of(count, 'file', 'files')} not read: {problem}")


def _note_not_looked_at(result: Ingested) -> None:
    """Say which files nobody asked to read."""
    if result.left_out:
        reasons = ", ".join(f"{n:,} {_REASONS[why]}" for why, n in sorted(result.left_out.items()))
        files = count_of(result.left_out.total(), "file or folder", "files and folders")
        note(f"{files} left out: {reasons}")
    if result.links_out:
        links = count_of(len(result.links_out), "link", "links")
        shown = ", ".join(result.links_out[:SHOWN]) + (" …" if result.links_out[SHOWN:] else "")
        note(f"{links} out of the folder not followed (--follow-links reads them): {shown}")
    if result.other_kinds:
        from labeler.corpus.read import CODE

        kinds = ", ".join(f"{kind} {n}" for kind, n in result.other_kinds.most_common())
        files = count_of(result.other_kinds.total(), "file", "files")
        more = "" if result.other_kinds.keys().isdisjoint(CODE) else " (--code reads source code)"
        note(f"{files} of other kinds passed over: {kinds}{more}")
