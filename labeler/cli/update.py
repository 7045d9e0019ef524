"""`labeler corpus update`: edited documents into a collection whose grades are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.ingest import note_left_out
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import note, progress, say
from labeler.messages import count_of
from labeler.options import WORDS, Option, option

if TYPE_CHECKING:
    from pathlib import Path

    from labeler.collection.user_files import Output
    from labeler.corpus.update import UpdateResult

ONLY_COUNT = Option("Only count; write nothing.")


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="The documents as they are now, as ingest takes."),
    ],
    folder: Folder,
    *,
    words: int | None = option(None, "About how many words a passage has.", WORDS),
    dry_run: bool = option(False, ONLY_COUNT),
    output: OutputFlags,
) -> None:
    """Read edited documents into a collection; passages that are still there keep their grades."""
    from labeler.corpus.update import update
    from labeler.models.control import Control

    to = output.made_from(folder)
    control = Control(note=note, progress=progress)
    result = update(inputs, folder, words=words, dry_run=dry_run, control=control)
    show_update(result, folder, output, to)


def show_update(result: UpdateResult, folder: Path, flags: OutputFlags, to: Output | None) -> None:
    """Show what became of passages and judgements, and what comes next."""
    note_left_out(result.ingested)
    show_outcome(result, lambda outcome: _say_update(outcome, folder), flags, to)


def _say_update(result: UpdateResult, folder: Path) -> None:
    carryover = result.carryover
    show([carryover.table()])
    say("")
    pairs = count_of(carryover.pool, "pair", "pairs")
    say(f"the pool has {pairs}, {carryover.unjudged:,} of them without a grade")
    if carryover.stale:
        grades = count_of(carryover.stale, "grade is", "grades are")
        note(f"{grades} not carried over: what the assessor was shown has changed, be it the title")
    if carryover.lower_bounds:
        grades = count_of(carryover.lower_bounds, "grade", "grades")
        note(f"{grades} of merged passages may be higher: a part of the passage was never judged")
    if carryover.unchecked:
        queries = count_of(carryover.unchecked, "unanswerable query", "unanswerable queries")
        note(
            f"{queries} may be answered by new passages: what was checked are the documents before"
        )
    if result.history is None:
        note("nothing was written")
        return
    note(f"the state before is kept: {result.history}")
    if result.runs:
        names = ", ".join(result.runs)
        note(f"these runs rank the passages of before and are kept there: {names}")
    note(f"next: labeler pool {folder}, then labeler judge {folder}")
