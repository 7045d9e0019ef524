"""`labeler status`: what a collection's sets of judgements hold, and what they took."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import said_to, show, show_json
from labeler.cli.reporting import show_failures, suspicious_pairs
from labeler.cli.screen import say
from labeler.messages import count_of
from labeler.report.printable import one_line

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.status import SetStatus


def command(folder: Folder, *, output: OutputFlags) -> None:
    """Show what is judged, what failed, what it cost, how to go on."""
    from labeler.collection.card import standing
    from labeler.collection.layout import open_collection
    from labeler.judging.status import pool_size, status, status_table, store_status

    to, form = output.made_from(open_collection(folder).folder), output.format
    collection = open_collection(folder)
    sets = list(status(collection))
    if form == "json":
        store = store_status(collection)
        judgements = [judged.as_json() for judged in sets]
        lines = {n: [str(f) for f in standing(collection, n)] for n in collection.qrels_names()}
        of_pool = {name: findings for name, findings in lines.items() if findings}
        whole = {"pool": pool_size(collection), "judgements": judgements, "of_the_pool": of_pool}
        show_json({**whole, "store": store.as_json() if store else None}, to)
    elif form == "table":
        with said_to(to):
            _show_all(collection, sets)
    else:
        show([status_table(sets)], form, to)


def _show_all(collection: Collection, sets: Sequence[SetStatus]) -> None:
    """Print the pool, the sets of judgements, what they lack, and the store."""
    from labeler.collection.card import standing
    from labeler.judging.status import pool_size, status_table, store_status

    if pool := pool_size(collection):
        say(f"pool: {pool:,} pairs")
    if sets:
        show([status_table(sets)])
    else:
        say("no judgements yet: labeler judge")
    for name in collection.qrels_names():
        for finding in standing(collection, name):
            say(f"by {name}: {finding}")
    for judged in sets:
        _show_checks(judged)
    for judged in sets:
        if judged.origin is not None and (judged.tally.failed or judged.left or judged.stale):
            _show_rest(collection, judged)
    if store := store_status(collection):
        size = "" if store.size is None else f", {store.size / 1e6:,.1f} MB"
        say(f"store: {store.replies:,} replies{size} ({store.path})")


def _show_checks(judged: SetStatus) -> None:
    """Print what part a set is of, its controls, and how many of its documents look suspicious."""
    if judged.of_part:
        say(judged.of_part)
    if judged.controls:
        controls = count_of(len(judged.controls), "control", "controls")
        say(f"{judged.tally.name}: {controls}, the last: {one_line(judged.controls[-1], 100)}")
    if judged.cached_tokens:
        tokens = f"{judged.cached_tokens:,} of its requests' tokens"
        say(f"{judged.tally.name}: {tokens} came from servers' caches")
    if judged.tally.suspicious:
        say(f"{judged.tally.name}: {suspicious_pairs(judged.tally)}")


def _show_rest(collection: Collection, judged: SetStatus) -> None:
    """Print what has no grade, with examples, and the command that asks for it."""
    from labeler.cli import options_by_parameter, words_of
    from labeler.judging.status import prompt_source

    tally, origin = judged.tally, judged.origin
    whose = "it" if judged.of_part else "the pool"
    say(f"\n{tally.name}: {tally.failed:,} failed, {judged.left:,} of {whose} not asked yet")
    if judged.stale:
        grades = count_of(judged.stale, "grade is", "grades are")
        say(f"{tally.name}: {grades} of texts that have changed since, which no figure counts")
    show_failures(tally)
    if origin and origin.is_panel:
        say(f"to go on: judge the rest for its members, {', '.join(origin.members)}, then again")
        return
    if judged.of_part and judged.parent:
        seed = f" --seed {judged.parent.seed}" if judged.parent.seed else ""
        again = f"--from {judged.parent.name} --only {judged.parent.only}{seed} --as {tally.name}"
        say(f"to go on: the same labeler relabel again, with {again}")
        return
    words = words_of(judged.parameters(), options_by_parameter(["judge"]))
    say(f"to go on: {shlex.join(['labeler', 'judge', str(collection.folder), *words])}")
    if origin and not judged.has_its_prompt:
        source = prompt_source(origin.prompt)
        say(f"({source} stands for the prompt's file as it was: {origin.prompt})")
