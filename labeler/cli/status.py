"""`labeler status`: what a collection's sets of labels hold, and what they took."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from labeler.cli.board import dollars
from labeler.cli.options import Folder
from labeler.cli.reporting import show_failures
from labeler.cli.screen import say, table

if TYPE_CHECKING:
    from labeler.formats.collection import Collection
    from labeler.formats.judgements import Origin
    from labeler.labeling import Tally


class _Labels(NamedTuple):
    """What a set of labels holds, what made it, and what it took."""

    tally: Tally
    origin: Origin | None
    attempts: int
    cost: float | None


def command(folder: Folder) -> None:
    """Show what is judged, what failed and why, what it cost, and how to go on."""
    from labeler.formats.collection import open_collection
    from labeler.formats.pool import pool_pairs

    collection = open_collection(folder)
    pool = len(pool_pairs(collection.pool)) if collection.pool.exists() else 0
    if pool:
        say(f"pool: {pool:,} pairs")
    found = [_labels(collection, name) for name in collection.judgement_names()]
    if found:
        head = ("labels", "prompt", "judged", "failed", "attempts", "tokens", "cost", "failures")
        table(head, map(_row, found), left=2)
    else:
        say("no judgements yet: labeler judge")
    for labels in found:
        _show_rest(collection, labels, pool)
    if collection.store.exists():
        _show_store(collection)


def _labels(collection: Collection, name: str) -> _Labels:
    from labeler.formats.judgements import read_judgements
    from labeler.labeling import Tally

    tally, origin, attempts, cost = Tally(name), None, 0, None
    for row in read_judgements(collection.judgements(name)):
        tally.add(row.judged)
        origin, attempts = row.origin, attempts + row.judged.attempts
        if row.judged.cost is not None:
            cost = (cost or 0.0) + row.judged.cost
    return _Labels(tally, origin, attempts, cost)


def _row(labels: _Labels) -> tuple[str, ...]:
    tally = labels.tally
    tokens = tally.prompt_tokens + tally.completion_tokens
    failures = ", ".join(f"{count} {status}" for status, count in tally.failures.items() if count)
    counts = (f"{tally.judged:,}", f"{tally.failed:,}", f"{labels.attempts:,}", f"{tokens:,}")
    prompt = labels.origin.prompt if labels.origin else ""
    return (tally.name, prompt, *counts, dollars(labels.cost), failures or "none")


def _show_rest(collection: Collection, labels: _Labels, pool: int) -> None:
    """Print what has no label, with examples, and the command that asks for it."""
    tally, left = labels.tally, max(0, pool - labels.tally.pairs)
    if labels.origin is None or not (tally.failed or left):
        return
    say(f"\n{tally.name}: {tally.failed:,} failed, {left:,} of the pool not asked for it")
    show_failures(tally)
    retry = ["--retry-failed"] if tally.failed > tally.failures["call_failed"] else []
    words = ["judge", str(collection.folder), *_asked(labels.origin), "--as", tally.name, *retry]
    say(f"to go on: {shlex.join(['labeler', *words])}")


def _asked(origin: Origin) -> list[str]:
    """The options that ask the same model with the same prompt; a prompt's file by its name."""
    from labeler.trust import embedded_name

    prompt = ["--prompt", origin.prompt.partition("@")[0]]
    if name := embedded_name(origin.model):
        return [*prompt, "--model", name]
    address, _, served = origin.model.partition(" ")
    if "://" not in address:
        return prompt
    return [*prompt, "--model", served, "--base-url", address]


def _show_store(collection: Collection) -> None:
    from labeler.store import open_store

    with open_store(collection.store) as store:
        size = store.path.stat().st_size / 1e6
        say(f"store: {len(store):,} replies, {size:,.1f} MB ({store.path})")
