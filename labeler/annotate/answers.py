"""Which answers stand, by the lines of a journal: of several to one item, the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from labeler.annotate.journal import JournalRow
from labeler.data import Pair


class GradesShown:
    """Of which pairs a rater was shown a grade, as the lines of a whole journal are read.

    A pair may be in several samples, or be one to train on: once its grade was shown, no later
    answer to it is blind, in whichever sample. `first` has the answer of each pair after which its
    grade was shown for the first time, which was given blind.
    """

    def __init__(self) -> None:
        self.first: dict[Pair, JournalRow] = {}

    def marked(self, row: JournalRow) -> JournalRow:
        """The next line of the journal, which says that it is not blind where that is so."""
        if row.task != "grade":
            return row
        is_late = row.pair in self.first
        if row.reveals:
            self.first.setdefault(row.pair, row)
        return replace(row, revealed=True) if is_late and not row.revealed else row


class AnswersGiven:
    """The answers of one task, as lines are read; an answer that is taken back leaves the earlier.

    `is_own` tells which lines of the journal are of the task. `answered` are the items with an
    answer, `skipped` those that were only put off, `at_reveal` the answers after which the
    assessor's grade was shown for the first time.
    """

    def __init__(self, is_own: Callable[[JournalRow], bool]) -> None:
        self._is_own = is_own
        self._rows: dict[str, list[JournalRow]] = {}
        self._order: list[JournalRow] = []
        self.at_reveal: dict[str, JournalRow] = {}
        self.answered: set[str] = set()
        self.skipped: set[str] = set()

    def take(self, row: JournalRow) -> None:
        """Read the next line of the journal."""
        if not self._is_own(row):
            return
        rows = self._rows.setdefault(row.item, [])
        if not row.undo:
            rows.append(row)
            self._order.append(row)
        elif rows:
            last = rows.pop()
            position = next(n for n in reversed(range(len(self._order))) if self._order[n] is last)
            del self._order[position]
        if row.reveals:
            self.at_reveal.setdefault(row.item, row)
        for items in (self.answered, self.skipped):
            items.discard(row.item)
        if rows:
            (self.answered if any(r.is_answer for r in rows) else self.skipped).add(row.item)

    @property
    def last(self) -> JournalRow | None:
        """The last line that was not taken back."""
        return self._order[-1] if self._order else None

    def has(self, item: str) -> bool:
        """Whether an item was answered or skipped."""
        return item in self.answered or item in self.skipped

    def row_of(self, item: str) -> JournalRow | None:
        """The answer that stands for an item."""
        rows = self._rows.get(item, [])
        return next((row for row in reversed(rows) if row.is_answer), None)

    def blind_row_of(self, item: str) -> JournalRow | None:
        """The answer to an item before the assessor's grade was shown, taken back later or not.

        To leave out what raters take back once they see another grade would flatter the assessor.
        """
        return self.at_reveal.get(item) or self.row_of(item)

    def was_revealed(self, item: str) -> bool:
        """Whether the assessor's grade was ever shown after an answer to an item."""
        return item in self.at_reveal

    def standing(self) -> dict[str, JournalRow]:
        """The answer of each item that has one, the earliest item first."""
        rows = {item: self.row_of(item) for item in self._rows}
        return {item: row for item, row in rows.items() if row is not None}

    def seconds(self, most: int = 50) -> list[float]:
        """How long the last answers took, as far as that is known, the last one first."""
        known_times = (r.seconds for r in reversed(self._order) if r.is_answer and r.seconds)
        return list(islice(known_times, most))
