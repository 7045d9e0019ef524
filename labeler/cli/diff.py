"""`labeler diff`: what became of each grade between two sets of judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import COUNT_OR_NONE, number
from labeler.cli.output import show, show_json
from labeler.cli.screen import say

if TYPE_CHECKING:
    from labeler.judging.transitions import Transitions


def command(
    collection: Annotated[Path, typer.Argument(help="The collection's directory.")],
    before: Annotated[str, typer.Argument(help="The name of the earlier judgements.")],
    after: Annotated[str, typer.Argument(help="The name of the later judgements.")],
    limit: Annotated[int, number(COUNT_OR_NONE, help="How many moved pairs to list.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, all moved pairs.")] = False,
) -> None:
    """Show which grades changed between two sets of judgements, and the pairs that moved."""
    from labeler.judging.diff import diff

    changes = diff(collection, before, after)
    if as_json:
        show_json(changes.as_json(), indent=2)
        return
    show_transitions(changes, before, after, limit)


def show_transitions(changes: Transitions, before: str, after: str, limit: int) -> None:
    """Print the matrix and the first moved pairs; `relabel` ends with it too."""
    moved, alone = len(changes.moved), changes.on_one_side
    both = changes.pairs - alone
    say(f"{moved - alone:,} of {both:,} pairs moved from {before} to {after}")
    if alone:
        stand = "pair stands" if alone == 1 else "pairs stand"
        say(f"{alone:,} {stand} on one side only")
    if not changes.pairs:
        return
    parts = [changes.matrix_table(before, after)]
    if changes.moved[:limit]:
        table = changes.moved_table(before, after)
        parts.append(replace(table, rows=table.rows[:limit]))
    say()
    show(parts)
    if moved > limit:
        say(f"… and {moved - limit:,} more (--limit {moved})")
