"""`labeler status`: what a collection's sets of labels hold, and what they took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.cli.board import dollars
from labeler.cli.options import Folder
from labeler.cli.screen import say, table

if TYPE_CHECKING:
    from labeler.formats.collection import Collection


def command(folder: Folder) -> None:
    """Show what is judged, what failed and why, what it cost, and how to go on."""
    from labeler.formats.collection import open_collection
    from labeler.formats.pool import pool_pairs

    collection = open_collection(folder)
    if collection.pool.exists():
        say(f"pool: {len(pool_pairs(collection.pool)):,} pairs")
    names = collection.judgement_names()
    if names:
        rows = [_row(collection, name) for name in names]
        head = ("labels", "prompt", "judged", "failed", "attempts", "tokens", "cost", "failures")
        table(head, rows, left=2)
    else:
        say("no judgements yet: labeler judge")
    if collection.store.exists():
        _show_store(collection)


def _row(collection: Collection, name: str) -> tuple[str, ...]:
    from labeler.formats.judgements import read_judgements
    from labeler.labeling import Tally

    tally, prompt, attempts, cost = Tally(name), "", 0, None
    for row in read_judgements(collection.judgements(name)):
        tally.add(row.judged)
        prompt, attempts = row.origin.prompt, attempts + row.judged.attempts
        if row.judged.cost is not None:
            cost = (cost or 0.0) + row.judged.cost
    tokens = tally.prompt_tokens + tally.completion_tokens
    failures = ", ".join(f"{count} {status}" for status, count in tally.failures.items() if count)
    counts = (f"{tally.judged:,}", f"{tally.failed:,}", f"{attempts:,}", f"{tokens:,}")
    return (name, prompt, *counts, dollars(cost), failures or "none")


def _show_store(collection: Collection) -> None:
    from labeler.store import open_store

    with open_store(collection.store) as store:
        size = store.path.stat().st_size / 1e6
        say(f"store: {len(store):,} replies, {size:,.1f} MB ({store.path})")
