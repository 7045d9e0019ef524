"""Pairs whose grade is known, among others: the rater is told it at once; they enter no figure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.annotate.task import RaterAnswer, RatingItem, RatingTask
from labeler.annotate.texts import PageTexts
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.exchange.qrels import read_qrels
from labeler.messages import count_of

EVERY = 10
"""So many pairs are graded from one gold pair to the next."""


def with_gold(
    task: RatingTask, texts: PageTexts, file: Path, every: int = EVERY, seed: int = 0
) -> RatingTask:
    """The task with a gold pair of a file of qrels at its beginning and after `every` items.

    Each gold pair is asked once. One that is in the task itself is left out, since its grade would
    be told.
    """
    if every < 1:
        raise Misuse("expected one pair or more from one gold pair to the next", parameter="every")
    grades = _grades(file, task)
    own = {Pair(item.query_id, item.doc_id) for item in task.items}
    there_is = [p for p in grades if p.query_id in texts.queries and p.doc_id in texts.documents]
    usable = sorted((pair for pair in there_is if pair not in own), key=lambda p: _order(p, seed))
    if not usable:
        problem = "none of its pairs is in the collection and outside of what is graded"
        raise BadInput(f"{file}: {problem}", parameter="gold")
    gold = {_id(pair): grades[pair] for pair in usable}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        kept_beside = task.check(item, answer)
        return {**kept_beside, "gold": gold[item.id]} if item.id in gold else kept_beside

    def reveal(item: RatingItem) -> Mapping[str, Any] | None:
        if item.id in gold:
            return {"grade": None, "reason": None, "gold": gold[item.id]}
        return task.reveal(item)

    items = [RatingItem(_id(pair), *pair, None, "gold") for pair in usable]
    notes = (*task.notes, *_left_out(file, len(grades), len(usable)))
    mixed = list(_mixed(task.items, items, every))
    return replace(task, items=mixed, check=check, reveal=reveal, notes=notes)


def _grades(file: Path, task: RatingTask) -> dict[Pair, int]:
    scale = {entry["grade"] for entry in task.session["scale"]}
    grades = {Pair(q, d): g for q, row in read_qrels(file).items() for d, g in row.items()}
    for pair, grade in grades.items():
        if grade not in scale:
            listed = ", ".join(map(str, sorted(scale)))
            problem = f"the grade {grade} of {' '.join(pair)} is none of {listed}"
            raise BadInput(f"{file}: {problem}", parameter="gold")
    return grades


def _mixed(
    items: Sequence[RatingItem], gold: Sequence[RatingItem], every: int
) -> Iterator[RatingItem]:
    training = iter(gold)
    for number, item in enumerate(items):
        if number % every == 0:
            yield from (gold_item for gold_item in [next(training, None)] if gold_item)
        yield item


def _left_out(file: Path, pairs: int, usable: int) -> Iterator[str]:
    if usable < pairs:
        left_out = count_of(pairs - usable, "gold pair", "gold pairs")
        yield f"{file}: {left_out} left out, as not in the collection, or to be graded anyway"


def _id(pair: Pair) -> str:
    return f"gold {' '.join(pair)}"


def _order(pair: Pair, seed: int) -> str:
    return hashlib.sha256("\0".join((str(seed), *pair)).encode()).hexdigest()
