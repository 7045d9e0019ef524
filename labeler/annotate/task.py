"""What raters are asked: items one after another, how each is shown, and which answers it takes.

This is the seam by which a kind of work is put on the page: a function makes a `RatingTask`, and
the session, the server and the export know no more of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labeler.collection.annotations import ANSWERS, LONGEST_TIME, Purpose, RatingKind
from labeler.errors import Misuse
from labeler.files.numbers import finite

LONGEST_NOTE = 10_000
Shown = Mapping[str, Any]
"""JSON for the page."""


class RatingItem(NamedTuple):
    """One item to answer; `id` names it within its task, also when the program starts again.

    `purpose` is `gold` for an item that trains the rater and enters no figure.
    """

    id: str
    query_id: str
    doc_id: str = ""
    probability: float | None = None
    purpose: Purpose = "audit"


@dataclass(frozen=True)
class RaterAnswer:
    """What a rater answers to an item: a grade, a choice, that nobody can tell, or not now."""

    item: str
    grade: int | None = None
    answer: str | None = None
    cannot_judge: bool = False
    skip: bool = False
    note: str = ""
    seconds: float | None = None


Check = Callable[[RatingItem, RaterAnswer], Mapping[str, Any]]
"""Raises `Misuse` of an answer that an item does not take; returns what to keep beside it."""


@dataclass(frozen=True)
class RatingTask:
    """A kind of work: its items in the rater's order, and what the session asks of it.

    `show` gives an item's JSON without its id, for which texts are read when they are asked for.
    `check` is not asked about an item that is skipped. `texts` identifies what `show` shows.
    `reveal` gives what is shown of an item once it is answered, None where that is nothing.
    `reveals_assessor` says that it shows the assessor's grades. `session` is JSON that holds for
    all items: the scale and the instructions. `notes` are lines for whoever starts the work.
    """

    name: RatingKind
    purpose: Purpose
    sample: str
    items: Sequence[RatingItem]
    show: Callable[[RatingItem], Shown]
    check: Check
    texts: Callable[[RatingItem], str] = lambda _item: ""
    reveal: Callable[[RatingItem], Shown | None] = lambda _item: None
    reveals_assessor: bool = False
    session: Shown = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def answer_in(body: object) -> RaterAnswer:
    """The answer that a request's JSON holds; `Misuse` says which of its values is none."""
    if not isinstance(body, dict):
        raise Misuse("expected a JSON object")
    item, note = body.get("item"), body.get("note", "")
    grade, choice = body.get("grade"), body.get("answer")
    if not isinstance(item, str):
        raise Misuse("expected 'item' to be the id of an item")
    if grade is not None and type(grade) is not int:
        raise Misuse("expected 'grade' to be a whole number")
    if choice is not None and choice not in ANSWERS:
        raise Misuse(f"expected 'answer' to be one of {', '.join(ANSWERS)}")
    flags = {name: body.get(name, False) for name in ("cannot_judge", "skip")}
    if not all(type(value) is bool for value in flags.values()):
        raise Misuse("expected 'cannot_judge' and 'skip' to be true or false")
    seconds = finite(body.get("seconds"), 0.0, LONGEST_TIME)
    answer = RaterAnswer(item, grade, choice, note=_note(note), seconds=seconds, **flags)
    _check_one_thing(answer)
    return answer


def _note(note: object) -> str:
    if not isinstance(note, str):
        raise Misuse("expected 'note' to be a text")
    if len(note) > LONGEST_NOTE:
        raise Misuse(f"the note is longer than {LONGEST_NOTE:,} characters")
    if any("\ud800" <= sign <= "\udfff" for sign in note):
        raise Misuse("the note holds half a character, which no file can keep")
    return note


def _check_one_thing(answer: RaterAnswer) -> None:
    """`Misuse` where an answer says two things, or nothing."""
    given = (answer.grade is not None, answer.answer is not None, answer.cannot_judge, answer.skip)
    if sum(given) != 1:
        raise Misuse("expected a grade, a choice, 'cannot judge' or 'skip', and only one of them")
