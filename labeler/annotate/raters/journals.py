"""Every rater's answers that stand, from the journals of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labeler.annotate.answers import AnswersGiven, GradesShown
from labeler.collection.annotations import (
    JournalRow,
    Purpose,
    RatingKind,
    journal_names,
    journal_path,
    read_journal,
)
from labeler.collection.layout import Collection
from labeler.errors import BadInput

Journals = Mapping[str, Sequence[JournalRow]]
"""Rater to the lines of the journal, in the order in which they were written."""


def read_journals(collection: Collection) -> dict[str, list[JournalRow]]:
    """The journals of a collection by rater; `BadInput` where nobody has answered anything."""
    names = journal_names(collection)
    journals = {name: read_journal(journal_path(collection, name)) for name in names}
    if not any(journals.values()):
        folder = collection.folder
        raise BadInput(
            f"{folder}: nobody has answered anything yet; next: labeler annotate {folder}"
        )
    return journals


def of_kind(rows: Sequence[JournalRow], kind: RatingKind) -> list[JournalRow]:
    """The lines about one kind of work."""
    return [row for row in rows if row.task == kind]


class RaterAnswers(NamedTuple):
    """A rater's answers, each list in the order in which they were given.

    Of several answers to one item the last stands, and one that was taken back does not. Those of
    `blind` were given before any grade of the pair was shown, be they taken back later or not.
    """

    standing: list[JournalRow]
    blind: list[JournalRow]
    skipped: int


def answers_in(rows: Sequence[JournalRow]) -> RaterAnswers:
    """The answers that stand, the blind ones, and how many items of random samples are put off."""
    by_sample: dict[tuple[RatingKind, str], AnswersGiven] = {}
    items: dict[tuple[RatingKind, str], dict[str, Purpose]] = {}
    grades_shown = GradesShown()
    rows = [grades_shown.marked(row) for row in rows]
    for row in rows:
        key = (row.task, row.sample)
        by_sample.setdefault(key, AnswersGiven(lambda _row: True)).take(row)
        items.setdefault(key, {})[row.item] = row.purpose
    standing: list[JournalRow] = []
    blind: list[JournalRow] = []
    for key, given in by_sample.items():
        standing += given.standing().values()
        first_answers = (given.blind_row_of(item) for item in items[key])
        blind += [row for row in first_answers if row is not None and not row.revealed]
    position = {id(row): number for number, row in enumerate(rows)}
    put_off = (items[key][item] for key, given in by_sample.items() for item in given.skipped)
    for answers in (standing, blind):
        answers.sort(key=lambda row: position[id(row)])
    return RaterAnswers(standing, blind, sum(purpose == "audit" for purpose in put_off))
