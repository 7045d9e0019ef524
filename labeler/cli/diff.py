"""`labeler diff`: what became of each grade between two sets of judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import COUNT_OR_NONE, number
from labeler.cli.options import Folder, OutputFlags, unfolded
from labeler.cli.output import show, show_json
from labeler.cli.screen import note, terminal_width

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.collection.outputs import Output
    from labeler.judging.transitions import Transitions
    from labeler.report.table import Table


@unfolded
def command(
    folder: Folder,
    before: Annotated[str, typer.Argument(help="The name of the earlier judgements.")],
    after: Annotated[str, typer.Argument(help="The name of the later judgements.")],
    *,
    limit: Annotated[int, number(COUNT_OR_NONE, help="How many moved pairs to list.")] = 20,
    output: OutputFlags,
) -> None:
    """Show which grades changed between two sets of judgements, and the pairs that moved.

    Each pair is listed with its query and with the reasons that were given.
    """
    from labeler.collection.layout import open_collection
    from labeler.judging.diff import diff

    to = output.made_from(open_collection(folder).folder)
    collection = open_collection(folder)
    changes = diff(collection, before, after)
    if output.format == "json":
        show_json(changes.as_json(), to)
    elif output.format == "table":
        show_transitions(changes, (before, after), limit, to)
    else:
        tables = [changes.moved_table(before, after), changes.matrix_table(before, after)]
        show(tables, output.format, to)
    note_next(collection, before, after)


def show_transitions(
    changes: Transitions, names: tuple[str, str], limit: int, to: Output | None = None
) -> None:
    """Write the matrix and the first moved pairs; `relabel` ends with it too."""
    moved, alone = len(changes.moved), changes.on_one_side
    both = changes.pairs - alone
    before, after = names
    heading = [f"{moved - alone:,} of {both:,} pairs moved from {before} to {after}"]
    if alone:
        stand = "pair stands" if alone == 1 else "pairs stand"
        heading.append(f"{alone:,} {stand} on one side only")
    parts: list[Table | str] = ["\n".join(heading)]
    if changes.pairs:
        parts.append(changes.matrix_table(before, after))
    if listed := changes.listing(before, after, limit, terminal_width() if to is None else None):
        more = f"… and {moved - limit:,} more (--limit {moved})" if moved > limit else ""
        parts.append("\n".join(filter(None, (f"{before} -> {after}", listed, more))))
    show(parts, "table", to)


def note_next(collection: Collection, before: str, after: str) -> None:
    """Say how to find out which of the two is closer to people."""
    from labeler.judging.diff import human_beside

    folder = collection.folder
    if human := human_beside(collection, before, after):
        note(f"which is closer to people? labeler agree {folder} {human} {before} {after}")
    elif {before, after} <= set(collection.judgement_names()):
        ask = f"labeler sample {folder} --from {after} -o sheet.csv"
        note(f"which is closer to people? draw a sheet for them: {ask}")
