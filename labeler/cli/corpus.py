"""`labeler corpus`: documents into a collection, and its grades kept where they change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from labeler.cli.options import OUT_FOLDER, Destination, OnScreen, Opened, Shown, argument
from labeler.cli.output import show
from labeler.cli.reporting import control_of, show_outcome
from labeler.cli.screen import note, say
from labeler.collection.layout import Collection
from labeler.corpus.documents import Ingested
from labeler.corpus.ingest import IngestOptions
from labeler.corpus.ingest import ingest as ingest_documents
from labeler.corpus.losses import loss_line
from labeler.messages import count_of
from labeler.options import REQUIRED, WORDS, Option, option

if TYPE_CHECKING:
    from labeler.corpus.update import UpdateResult

_USUAL = ("words", "include", "exclude", "text_field", "title_field", "id_field")
"""The options that help shows, of those that are said once for a project."""
SHOWN = 20
_REASONS = {
    "hidden": "with a dot before the name",
    "gitignore": "by .gitignore (--no-gitignore reads them)",
    "exclude": "by --exclude",
    "include": "that --include does not name",
}


def ingest(
    inputs: Annotated[
        list[str],
        argument(
            "Folders (read recursively), files or patterns of Markdown, reStructuredText, "
            "AsciiDoc, plain text, HTML, PDF, DOCX, XLSX, PPTX, EPUB, mail, notebooks, CSV, TSV, "
            "JSON, JSON Lines (BEIR's, hits, _bulk) or Parquet.",
            "INPUT...",
        ),
    ],
    out: Path = option(REQUIRED, OUT_FOLDER),
    *,
    queries_file: Path | None = option(
        None, "Your own queries: one a line, a table, JSON, TREC topics."
    ),
    options: Annotated[IngestOptions, Shown(_USUAL)],
    to: OnScreen,
) -> None:
    """Cut documents into passages of about 200 words and write them as corpus.jsonl."""
    collection, whole = Collection(out), replace(options, force=to.force)
    result = ingest_documents(inputs, collection, queries_file, whole, control=control_of())
    note_left_out(result)
    show_outcome(result, lambda ingested: _show(collection, ingested), to)


def _show(collection: Collection, result: Ingested) -> None:
    say(f"{collection.corpus}: {read_from(result)}")
    if result.queries:
        say(f"{collection.queries}: {count_of(len(result.queries), 'query')}")


def read_from(result: Ingested) -> str:
    """How many documents from how many files."""
    return f"{count_of(len(result.documents), 'document')} from {count_of(result.files, 'file')}"


def note_ingested(result: Ingested) -> None:
    """Say what was left out, and what was read; for commands that do more than this."""
    note_left_out(result)
    note(read_from(result))


def note_left_out(result: Ingested) -> None:
    """Say what was left out, and why."""
    _note_unread(result)
    _note_not_looked_at(result)
    for path in result.collection_files:
        note(f"not taken as documents, since a corpus lies beside it: {path}")
    if result.duplicates:
        twice = ("passage that stands elsewhere too is", "passages that stand elsewhere too are")
        note(f"{count_of(result.duplicates, *twice)} kept once")
    if losses := loss_line(result.losses):
        note(losses)


def _note_unread(result: Ingested) -> None:
    """Say which files could not be read."""
    for problem in result.unread[:SHOWN]:
        note(f"not read: {problem}")
    if len(result.unread) > SHOWN:
        note(f"… and {len(result.unread) - SHOWN} more, listed in card.json")
    if result.unread:
        files = count_of(len(result.unread) + result.files, "file")
        note(f"{len(result.unread):,} of {files} not read")
    for problem, count in result.missing_extras.items():
        note(f"{count_of(count, 'file')} not read: {problem}")


def _note_not_looked_at(result: Ingested) -> None:
    """Say which files nobody asked to read."""
    if result.left_out:
        reasons = ", ".join(f"{n:,} {_REASONS[why]}" for why, n in sorted(result.left_out.items()))
        files = count_of(result.left_out.total(), "file or folder", "files and folders")
        note(f"{files} left out: {reasons}")
    if result.links_out:
        links = count_of(len(result.links_out), "link")
        note(f"{links} out of the folder not followed (--follow-links reads them)")
    if result.other_kinds:
        kinds = ", ".join(f"{kind} {n}" for kind, n in result.other_kinds.most_common())
        files = count_of(result.other_kinds.total(), "file")
        note(f"{files} of other kinds passed over: {kinds}")


ONLY_COUNT = Option("Only count; write nothing.")


def update(
    inputs: Annotated[
        list[str],
        argument("The documents as they are now, as ingest takes.", "INPUT..."),
    ],
    collection: Opened,
    *,
    words: int | None = option(None, "About how many words a passage has.", WORDS),
    dry_run: bool = option(False, ONLY_COUNT),
    to: Destination,
) -> None:
    """Read edited documents into a collection; passages that stay keep their grades."""
    from labeler.corpus.update import update

    result = update(inputs, collection, words=words, dry_run=dry_run, control=control_of())
    _show_update(result, collection, to)


def _show_update(result: UpdateResult, collection: Collection, to: Destination) -> None:
    """Show what became of passages and judgements, and what comes next."""
    note_left_out(result.ingested)
    show_outcome(result, lambda outcome: _say_update(outcome, collection.folder), to)


def _say_update(result: UpdateResult, folder: Path) -> None:
    carryover = result.carryover
    show([carryover.table()])
    say("")
    pairs = count_of(carryover.pool, "pair")
    say(f"the pool has {pairs}, {carryover.unjudged:,} of them without a grade")
    if carryover.stale:
        grades = count_of(carryover.stale, "grade is", "grades are")
        note(f"{grades} not carried over: what the assessor was shown has changed, be it the title")
    if result.history is None:
        note("nothing was written")
        return
    note(f"the state before is kept: {result.history}")
    if result.runs:
        note(f"these runs rank the passages of before and are kept there: {', '.join(result.runs)}")
    note(f"next: labeler pool {folder}, then labeler judge {folder}")


def rechunk(
    collection: Opened,
    *,
    words: int = option(REQUIRED, "About how many words a passage has.", WORDS),
    inputs: tuple[str, ...] = option(
        (), "Where the documents are, if elsewhere now.", metavar="INPUT", flags="--from"
    ),
    dry_run: bool = option(False, ONLY_COUNT),
    to: Destination,
) -> None:
    """Cut a collection's documents anew; passages that stay keep their grades."""
    from labeler.corpus.rechunk import rechunk

    result = rechunk(collection, words, inputs=inputs, dry_run=dry_run, control=control_of())
    _show_update(result, collection, to)
