"""`status`: what a collection's sets of judgements hold, and what they took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labeler.collection.card import Parent, parent_of
from labeler.collection.controls import verdicts_of
from labeler.collection.judgements import Origin, read_judgements
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.pool import standing_pool
from labeler.collection.stale import stale_by_set
from labeler.collection.user_files import COMPARED
from labeler.files.jsonl import RowIndex
from labeler.judging.job import Tally
from labeler.models.choose import declared_assessors
from labeler.models.embedded import embedded_name
from labeler.prompt import prompt_as_it_is, prompt_source
from labeler.report.result import Result
from labeler.report.table import Column, Row, Table
from labeler.store import open_store


@dataclass(frozen=True, eq=False, repr=False)
class SetStatus(Result):
    """What a set of judgements holds, what made it, and what it took.

    A reply that several pairs share is counted once. `cost` is in dollars, None where no price is
    known. `pool` counts the pairs of the collection's pool. `controls` are the verdicts of the
    set's controls, in their order. `parent` is the set whose pairs it judges.
    `stale` counts grades of texts that have changed since.
    """

    tally: Tally
    origin: Origin | None
    attempts: int
    cost: float | None
    pool: int
    controls: tuple[str, ...] = ()
    parent: Parent | None = None
    stale: int = 0

    @property
    def left(self) -> int:
        """How many pairs that it is to judge it does not hold: of the pool, or of a part.

        What a comparison asks for is no part of the pool.
        """
        parent = self.parent
        if self.tally.name.endswith(COMPARED):
            return 0
        pairs = parent.pairs if parent is not None and parent.is_part else self.pool
        return max(0, pairs - self.tally.pairs)

    @property
    def of_part(self) -> str:
        """Which part of another set's pairs it is of; empty where it is of no part."""
        return self.parent.sentence(self.tally.name) if self.parent else ""

    def parameters(self) -> dict[str, object]:
        """The settings of `judge` with which the judging goes on."""
        if self.origin is None:
            return {}
        retry = self.tally.failed > self.tally.failures["call_failed"]
        again = {"name": self.tally.name, **({"retry_failed": True} if retry else {})}
        if self.tally.name in declared_assessors():
            return {"assessor": self.tally.name, **again}
        prompt = {"prompt": prompt_source(self.origin.prompt)}
        if name := embedded_name(self.origin.model):
            return {**prompt, "model": name, **again}
        address, _, served = self.origin.model.partition(" ")
        server = {"model": served, "base_url": address} if "://" in address else {}
        return {**prompt, **server, **again}

    def as_json(self) -> dict[str, Any]:
        """The counts and what made the set, by name."""
        counts = ("name", "judged", "failed", "suspicious")
        return self.picked(
            *("stale", "attempts", "cost", "controls", "parent"),
            **{name: getattr(self.tally, name) for name in counts},
            prompt=self.origin.prompt if self.origin else "",
            model=self.origin.model if self.origin else "",
            failures=self.tally.failures_by_status,
            not_asked=self.left,
            tokens_in=self.tally.prompt_tokens,
            tokens_out=self.tally.completion_tokens,
        )

    @property
    def has_its_prompt(self) -> bool:
        """Whether the prompt is found here as it was."""
        made_by = self.origin.prompt if self.origin else ""
        return not made_by or prompt_as_it_is(made_by) == made_by


def status_table(sets: Iterable[SetStatus]) -> Table:
    """A row for each set of judgements."""
    counts = ("judged", "failed", "attempts", "tokens")
    columns = [
        Column("name", align="left"),
        Column("prompt", align="left"),
        *(Column(name, format=",") for name in counts),
        Column("cost", format="$", undefined="unknown"),
        Column("failures"),
    ]
    rows: list[Row] = []
    for judged in sets:
        tally, origin = judged.tally, judged.origin
        made_with = (origin.model if origin.is_panel else origin.prompt) if origin else ""
        failures = ", ".join(f"{count} {name}" for name, count in tally.failures_by_status.items())
        rows.append(
            [
                tally.name,
                made_with,
                tally.judged,
                tally.failed,
                judged.attempts,
                tally.prompt_tokens + tally.completion_tokens,
                judged.cost,
                failures or "none",
            ]
        )
    return Table("judgements", columns, rows)


@dataclass(frozen=True, slots=True)
class StoreStatus(Result):
    """How many replies a store holds, and its size in bytes; None of a database."""

    path: str
    replies: int
    bytes: int | None


def pool_size(collection: AnyCollection) -> int:
    """How many pairs a collection's pool has; 0 where there is none yet."""
    return len(standing_pool(open_collection(collection).pool))


def status(collection: AnyCollection) -> Iterator[SetStatus]:
    """What each set of judgements of a collection holds, in the order of their names."""
    opened = open_collection(collection)
    names, pool = opened.judgement_names(), pool_size(opened)
    stale = stale_by_set(opened, names)
    for name in names:
        yield replace(_status_of(opened, name, pool), stale=len(stale[name]))


def _status_of(collection: Collection, name: str, pool: int) -> SetStatus:
    tally, origin, attempts, cost = Tally(name), None, 0, None
    absent, shown = standing_pool(collection.dropped).pairs, RowIndex()
    for row in read_judgements(collection.judgements(name)):
        judged = row.judged
        if judged.outcome.pair in absent:
            continue
        is_alone = judged.listed is None  # a list's request is counted in one row already
        if is_alone and judged.shown in shown:  # one reply, counted in an earlier row
            judged = replace(judged, attempts=0, prompt_tokens=0, completion_tokens=0, cost=None)
        if judged.shown:
            shown.add(judged.shown)
        tally.add(judged)
        origin, attempts = row.origin, attempts + judged.attempts
        if judged.cost is not None:
            cost = (cost or 0.0) + judged.cost
    controls = tuple(verdicts_of(collection, name))
    return SetStatus(tally, origin, attempts, cost, pool, controls, parent_of(collection, name))


def store_status(collection: AnyCollection) -> StoreStatus | None:
    """What a collection's store holds; None where there is none."""
    path = open_collection(collection).store
    if not path.exists():
        return None
    with open_store(path, reading=True) as store:
        size = path.stat().st_size if isinstance(path, Path) else None
        return StoreStatus(str(path), len(store), size)
