"""A rater at work: which item is next, what was answered, and what it takes to go on elsewhere.

All of it follows from the journal, so that a process that was killed goes on where it stopped, and
two browsers of one rater see each other's answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from labeler.annotate.journal import RatingJournal
from labeler.collection.annotations import LONGEST_TIME, AnswersGiven, JournalRow, Purpose
from labeler.errors import Misuse, NotCurrent
from labeler.files.boundary import finite, first_invalid

# What raters are asked: items one after another, how each is shown, and which answers it takes.
#
# This is the seam by which a kind of work is put on the page: a function makes a `RatingTask`, and
# the session, the server and the export know no more of it.

LONGEST_NOTE = 10_000
Shown = Mapping[str, Any]
"""JSON for the page."""


class RatingItem(NamedTuple):
    """One item to answer; `id` names it within its task, also when the program starts again."""

    id: str
    query_id: str
    doc_id: str = ""
    probability: float | None = None


def _seconds(value: object) -> float | None:
    return finite(value, 0.0, LONGEST_TIME)


@dataclass(frozen=True)
class RaterAnswer:
    """What a rater answers to an item: a grade, that nobody can tell, or not now."""

    item: StrictStr
    grade: StrictInt | None = None
    cannot_judge: StrictBool = False
    skip: StrictBool = False
    note: Annotated[StrictStr, Field(max_length=LONGEST_NOTE)] = ""
    seconds: Annotated[float | None, BeforeValidator(_seconds)] = None


@dataclass(frozen=True)
class RatingTask:
    """A kind of work: its items in the rater's order, and what the session asks of it.

    `show` gives an item's JSON without its id, for which texts are read when they are asked for.
    `scale` holds the grades that it takes. `texts` identifies what `show` shows.
    `session` is JSON that holds for all items: the scale and the instructions. `notes` are lines
    for whoever starts the work.
    """

    purpose: Purpose
    sample: str
    items: Sequence[RatingItem]
    show: Callable[[RatingItem], Shown]
    scale: Mapping[int, str]
    texts: Callable[[RatingItem], str] = lambda _item: ""
    session: Shown = field(default_factory=dict)
    notes: Sequence[str] = ()


_ANSWER = TypeAdapter(RaterAnswer)


def answer_in(body: object) -> RaterAnswer:
    """The answer that a request's JSON holds; `Misuse` says which of its values is none."""
    try:
        answer = _ANSWER.validate_python(body)
    except ValidationError as error:
        raise Misuse(first_invalid(error, "answer")) from None
    if sum((answer.grade is not None, answer.cannot_judge, answer.skip)) != 1:
        raise Misuse("expected a grade, 'cannot judge' or 'skip', and only one of them")
    return answer


class RatingSession:
    """One rater's work on one task; every method may be called from several threads."""

    def __init__(self, rater: str, task: RatingTask, journal: RatingJournal) -> None:
        self.rater, self.task, self._journal = rater, task, journal
        self._by_id = {item.id: number for number, item in enumerate(task.items)}
        self._given = AnswersGiven()
        self._goto: str | None = None
        self._last_shown: tuple[str, Shown] = ("", {})
        self._lock = threading.Lock()

    def _is_of_task(self, row: JournalRow) -> bool:
        if row.sample != self.task.sample or row.item not in self._by_id:
            return False
        item = self.task.items[self._by_id[row.item]]
        return not row.texts or row.texts == self.task.texts(item)  # else it is open again

    def check(self) -> None:
        """Raise where the journal cannot be read, or not be written to, before anybody grades."""
        self._journal.check()

    @property
    def answers(self) -> dict[str, JournalRow]:
        """The standing answer of each item that has one, the earliest first."""
        with self._read():
            return self._given.standing()

    def state(self) -> dict[str, Any]:
        """The current item and how far the work is, as JSON."""
        with self._read():
            return self._state()

    def answer(self, answer: RaterAnswer) -> dict[str, Any]:
        """Write an answer to the current item; the state after it.

        `NotCurrent` where another item is the current one: nothing is written.
        """
        with self._read(), self._journal.held():
            self._refresh()
            item = self._current()
            if item is None or item.id != answer.item:
                was = "answered in another window" if self._given.has(answer.item) else "left"
                raise NotCurrent(f"this one was {was}; here is the next")
            row = self._row(item, answer)
            if row is not None:
                self._journal.append(row)
                self._refresh()
            self._goto = self._next_after(item)
            return self._state()

    def undo(self) -> dict[str, Any]:
        """Take the last answer back and make its item the current one; the state after it."""
        with self._read(), self._journal.held():
            self._refresh()
            last = self._given.last
            if last is None:
                raise Misuse("there is no answer to take back")
            item = self.task.items[self._by_id[last.item]]
            self._journal.append(self._row_of(item, undo=True, texts=last.texts))
            self._refresh()
            self._goto = item.id
            undone = {key: getattr(last, key) for key in _SHOWN_OF_ANSWER}
            return {**self._state(), "undone": undone}

    def goto(self, item: object) -> dict[str, Any]:
        """Make an item the current one, or with None the next that needs an answer."""
        with self._read():
            if item is not None and not (isinstance(item, str) and item in self._by_id):
                raise Misuse("there is no such item")
            self._goto = item
            return self._state()

    @contextmanager
    def _read(self) -> Iterator[None]:
        with self._lock:
            self._refresh()
            yield

    def _refresh(self) -> None:
        rows, is_other = self._journal.fresh()
        if is_other:
            self._given = AnswersGiven()
        for row in rows:
            if self._is_of_task(row):
                self._given.take(row)

    def _row(self, item: RatingItem, answer: RaterAnswer) -> JournalRow | None:
        """The line of an answer; None where what is skipped was answered already."""
        if answer.skip:
            is_new = item.id not in self._given.answered
            return self._row_of(item, skip=True, note=answer.note) if is_new else None
        if not answer.cannot_judge and answer.grade not in self.task.scale:
            grades = ", ".join(map(str, sorted(self.task.scale)))
            raise Misuse(f"expected one of the grades {grades}")
        return self._row_of(
            item,
            grade=answer.grade,
            cannot_judge=answer.cannot_judge,
            note=answer.note,
            seconds=answer.seconds,
            texts=self.task.texts(item),
        )

    def _row_of(self, item: RatingItem, **values: Any) -> JournalRow:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        probability = item.probability if self.task.purpose == "audit" else None
        return JournalRow(
            "grade",
            self.task.purpose,
            self.task.sample,
            item.id,
            item.query_id,
            item.doc_id,
            time=time,
            probability=probability,
            **values,
        )

    def _current(self) -> RatingItem | None:
        """The item that was gone to, else the first that is neither answered nor skipped."""
        if self._goto is not None:
            return self.task.items[self._by_id[self._goto]]
        return self._untouched()

    def _untouched(self) -> RatingItem | None:
        """The first item that is neither answered nor skipped."""
        return next((item for item in self.task.items if not self._given.has(item.id)), None)

    def _next_after(self, item: RatingItem) -> str | None:
        """Whither to go from an item: None is the first that has nothing yet.

        Where each has, and this one had been skipped, the next one that was skipped.
        """
        if item.id != self._goto or self._untouched() is not None:
            return None
        number = self._by_id[item.id]
        behind = (other for other in self._given.skipped if self._by_id[other] > number)
        return min(behind, key=self._by_id.__getitem__, default=None)

    def _state(self) -> dict[str, Any]:
        item = self._current()
        number = len(self.task.items) if item is None else self._by_id[item.id]
        around = self.task.items[max(number - 1, 0) : number], self.task.items[number + 1 :][:1]
        return {
            "item": None if item is None else self._shown(item),
            "progress": {
                "done": len(self._given.answered),
                "of": len(self.task.items),
                "skipped": len(self._given.skipped),
            },
            "can_undo": self._given.last is not None,
            "before": around[0][0].id if around[0] else None,
            "after": around[1][0].id if around[1] else None,
            "first_skipped": min(self._given.skipped, key=self._by_id.__getitem__, default=None),
        }

    def _shown(self, item: RatingItem) -> dict[str, Any]:
        row = self._given.row_of(item.id)
        previous = None if row is None else {key: getattr(row, key) for key in _SHOWN_OF_ANSWER}
        if self._last_shown[0] != item.id:  # a long text takes a second
            self._last_shown = item.id, self.task.show(item)
        return {"id": item.id, **self._last_shown[1], "previous": previous}


_SHOWN_OF_ANSWER = ("grade", "note", "cannot_judge")
