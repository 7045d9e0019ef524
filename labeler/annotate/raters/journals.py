"""Every rater's answers that stand, from the journals of a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from labeler.annotate.answers import AnswersGiven
from labeler.collection.annotations import (
    JournalRow,
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
        raise BadInput(f"{collection.folder}: nobody has answered anything yet")
    return journals


def of_kind(rows: Sequence[JournalRow], kind: RatingKind) -> list[JournalRow]:
    """The lines about one kind of work."""
    return [row for row in rows if row.task == kind]


def standing_answers(
    rows: Sequence[JournalRow], is_own: Callable[[JournalRow], bool] = lambda _row: True
) -> tuple[list[JournalRow], int]:
    """The answers that stand, in the order in which they were given, and how many are skipped.

    Of several answers to one item the last counts, and one that was taken back does not.
    """
    by_sample: dict[tuple[str, str], AnswersGiven] = {}
    items: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if is_own(row):
            key = (row.task, row.sample)
            by_sample.setdefault(key, AnswersGiven(lambda _row: True)).take(row)
            items.setdefault(key, {})[row.item] = None
    answers = [row for given in by_sample.values() for row in given.standing().values()]
    position = {id(row): number for number, row in enumerate(rows)}
    skipped = sum(given.is_skipped(i) for key, given in by_sample.items() for i in items[key])
    return sorted(answers, key=lambda row: position[id(row)]), skipped
