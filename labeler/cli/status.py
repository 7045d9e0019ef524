"""`labeler status`: what a collection's sets of labels hold, and what they took."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from labeler.cli.options import Folder
from labeler.cli.progress import dollars
from labeler.cli.reporting import show_failures
from labeler.cli.screen import say, table
from labeler.errors import LabelerError

if TYPE_CHECKING:
    from labeler.collection.judgements import Origin
    from labeler.collection.layout import Collection
    from labeler.judging.label import Tally
    from labeler.judging.status import Repeats


class _Labels(NamedTuple):
    """What a set of labels holds, what made it, and what it took."""

    tally: Tally
    origin: Origin | None
    attempts: int
    cost: float | None


def command(folder: Folder) -> None:
    """Show what is judged, what failed and why, what it cost, and how to go on."""
    from labeler.collection.layout import open_collection
    from labeler.collection.pool import pool_pairs

    collection = open_collection(folder)
    pool = len(pool_pairs(collection.pool)) if collection.pool.exists() else 0
    if pool:
        say(f"pool: {pool:,} pairs")
    names = list(collection.judgement_names())
    repeats = _repeats(collection) if names else None
    found = [_labels(collection, name, repeats) for name in names]
    if found:
        head = ("labels", "prompt", "judged", "failed", "attempts", "tokens", "cost", "failures")
        table(head, map(_row, found), left=2)
    else:
        say("no judgements yet: labeler judge")
    for labels in found:
        _show_rest(collection, labels, pool)
    if collection.store.exists():
        _show_store(collection)


def _repeats(collection: Collection) -> Repeats | None:
    """What tells pairs of equal texts; None where the texts are not there any more."""
    from labeler.judging.label import texts_of
    from labeler.judging.status import Repeats

    if not (collection.corpus.exists() and collection.queries.exists()):
        return None
    return Repeats(texts_of(collection))


def _labels(collection: Collection, name: str, repeats: Repeats | None) -> _Labels:
    """What a set of labels holds; a reply that several pairs share is counted once."""
    from labeler.collection.judgements import read_judgements
    from labeler.judging.label import Tally

    tally, origin, attempts, cost = Tally(name), None, 0, None
    for row in read_judgements(collection.judgements(name)):
        judged = row.judged
        if repeats and repeats.repeats(name, judged.outcome.pair):
            judged = replace(judged, attempts=0, prompt_tokens=0, completion_tokens=0, cost=None)
        tally.add(judged)
        origin, attempts = row.origin, attempts + judged.attempts
        if judged.cost is not None:
            cost = (cost or 0.0) + judged.cost
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
    _say_where_prompt_is(labels.origin)


def _asked(origin: Origin) -> list[str]:
    """The options that ask the same model with the same prompt."""
    from labeler.models.local.caveats import embedded_name

    prompt = ["--prompt", _prompt_name(origin.prompt)]
    if name := embedded_name(origin.model):
        return [*prompt, "--model", name]
    address, _, served = origin.model.partition(" ")
    if "://" not in address:
        return prompt
    return [*prompt, "--model", served, "--base-url", address]


def _prompt_name(identity: str) -> str:
    """What finds a prompt again: its name, or the name of its file, seen from here."""
    from labeler.prompt import prompt_files

    name = identity.partition("@")[0]
    return name if name in prompt_files() or not name else f"{name}.md"


def _say_where_prompt_is(origin: Origin) -> None:
    """Say so where the prompt's file is not here as it was."""
    from labeler.prompt import find_prompt

    name = _prompt_name(origin.prompt)
    try:
        found = find_prompt(name).id
    except LabelerError:
        found = ""
    if origin.prompt and found != origin.prompt:
        say(f"({name} stands for the prompt's file as it was: {origin.prompt})")


def _show_store(collection: Collection) -> None:
    from labeler.store import open_store

    with open_store(collection.store, reading=True) as store:
        size = store.path.stat().st_size / 1e6
        say(f"store: {len(store):,} replies, {size:,.1f} MB ({store.path})")
