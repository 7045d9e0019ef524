"""What people graded, and what servers were asked, that no qrels of a collection hold yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from labeler.collection.annotations import (
    JournalRow,
    journal_names,
    journal_path,
    read_journal,
)
from labeler.collection.batches import WRITTEN, read_batches
from labeler.collection.layout import Collection
from labeler.collection.people import read_people
from labeler.messages import count_of


class NextStep(NamedTuple):
    """What a collection lacks, what that keeps from being known, and a command that mends it."""

    lacks: str
    command: str


def waiting_grades(collection: Collection) -> dict[str, int]:
    """How many grades of each rater no qrels hold yet; raters without such are left out."""
    alone = {rater: graded_alone(collection, rater) for rater in journal_names(collection)}
    return {rater: pairs for rater, pairs in alone.items() if pairs}


def unexported(grades: Mapping[str, int], folder: str) -> Iterator[NextStep]:
    """Of each rater whose grades no qrels hold yet, the command that writes them there.

    `folder` is what the collection is called in commands.
    """
    for rater, number in grades.items():
        graded = count_of(number, "pair", "pairs")
        text = f"{rater} graded {graded} on the page that no qrels hold yet."
        yield NextStep(text, f"labeler annotate {folder} (as rater {rater}, to export them)")


def uncollected(collection: Collection, folder: str) -> Iterator[NextStep]:
    """Of each set of judgements with open batches, the command that takes in their answers."""
    asked: Counter[tuple[str, bool]] = Counter()
    for batch in read_batches(collection):
        if batch.is_open:
            asked[batch.name, batch.status == WRITTEN] += batch.requests
    for (name, is_file), number in asked.items():
        requests = count_of(number, "request", "requests")
        text = f"{name}: the answers to {requests} in batches are not taken in yet."
        how = "batch read" if is_file else "batch collect"
        yield NextStep(text, f"labeler judge {folder} ({how})")


def graded_alone(collection: Collection, rater: str) -> int:
    """How many grades of a rater stand in the journal, and in no file of people's answers."""
    written = {
        (answer.pair.query_id, answer.time)
        for path in sorted((collection.folder / "people").glob("[!.]*.jsonl"))
        for answer in read_people(path)
        if answer.assessor == rater
    }
    rows = read_journal(journal_path(collection, rater))
    return sum((row.query_id, row.time) not in written for row in _standing(rows))


def _standing(rows: Sequence[JournalRow]) -> Iterator[JournalRow]:
    """The last answer to each pair that counts, without those that were taken back."""
    answers: dict[tuple[str, str], list[JournalRow]] = {}
    for row in rows:
        if row.task != "grade" or row.purpose == "gold":
            continue
        own = answers.setdefault((row.sample, row.item), [])
        if not row.undo:
            own.append(row)
        elif own:
            own.pop()
    for own in answers.values():
        last = next((row for row in reversed(own) if row.is_answer), None)
        if last is not None and last.grade is not None:
            yield last
