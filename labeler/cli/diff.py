"""`labeler diff`: what became of each grade between two sets of judgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import say, table

if TYPE_CHECKING:
    from labeler.judging.transitions import Transitions


def command(
    collection: Annotated[Path, typer.Argument(help="The collection's directory.")],
    before: Annotated[str, typer.Argument(help="The name of the earlier judgements.")],
    after: Annotated[str, typer.Argument(help="The name of the later judgements.")],
    limit: Annotated[int, typer.Option(min=0, help="How many moved pairs to list.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, all moved pairs.")] = False,
) -> None:
    """Show which grades changed between two sets of judgements, and the pairs that moved."""
    from labeler.judging.diff import diff

    changes = diff(collection, before, after)
    if as_json:
        say(json.dumps(changes.as_json(), ensure_ascii=False, indent=2))
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
    say()
    rows = [
        [str(state), *(f"{count:,.0f}" for count in counts), f"{counts.sum():,.0f}"]
        for state, counts in zip(changes.states, changes.table, strict=True)
    ]
    table((f"{before} \\ {after}", *map(str, changes.states), "all"), rows)
    shown = changes.moved[:limit]
    if shown:
        say()
        cells = [(*move.pair, str(move.before), str(move.after)) for move in shown]
        table(("query", "document", before, after), cells, left=2)
    if moved > len(shown):
        say(f"… and {moved - len(shown):,} more (--limit {moved})")
