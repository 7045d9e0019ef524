"""A reply that grades several things at once, each known by its number. Pure.

The object is `{"grades": [{"number": 1, "grade": 2}, …]}`. A thing that is missing, that has two
grades, or one off the scale has no grade; those of the others hold. A number that was not
asked about means that the model counted otherwise than it was told to, so no grade of such a reply
can be trusted to be of the thing whose number it carries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labeler.data import Failure, Pair
from labeler.judging.reply.object import check_ending
from labeler.model import Reply, whole
from labeler.prompt.reply.reader import NoGrade, answer_in, raise_nothing, whole_number
from labeler.text.objects import after_thoughts, objects_named

_NUMBER = re.compile("number", re.IGNORECASE)


class NumberedGrade(NamedTuple):
    """What a reply says of one numbered thing: its grade and the reason, or why it has none."""

    grade: int | None
    reason: str | None = None
    status: str = ""
    detail: str = ""


class _Entry(NamedTuple):
    number: int
    grade: int
    reason: str | None


Numbered = Mapping[int, NumberedGrade]
"""What a reply says of each number from 1 on."""


def parse_numbered(
    pair: Pair, reply: Reply, count: int, grades: Sequence[int]
) -> Numbered | Failure:
    """What a reply says of the things numbered from 1 to `count`; `Failure` where of none of them.

    `pair` is the one that a failure names.
    """
    try:
        check_ending(reply)
        entries = _entries(reply.text[after_thoughts(reply.text) :])
        _check_numbers(entries, count)
    except NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    by_number: dict[int, list[_Entry]] = {number: [] for number in range(1, count + 1)}
    for entry in entries:
        by_number[entry.number].append(entry)
    return {number: _graded(own, number, grades) for number, own in by_number.items()}


def _entries(text: str) -> Sequence[_Entry]:
    """The grades that the objects of a text give, in a list or not."""
    objects, _ = answer_in(text)
    entries = [
        {name.strip().lower(): value for name, value in entry.items()}
        for entry in objects_named(objects, _NUMBER)
    ]
    if not entries:
        raise_nothing('no JSON object with "grades"', text)
    return [_entry(entry) for entry in entries]


def _entry(members: Mapping[str, object]) -> _Entry:
    if "grade" not in members:
        raise NoGrade("unparsable", f"number {members['number']!s:.20} without a grade")
    reason = members.get("reason")
    own = whole(reason) if isinstance(reason, str) else None
    return _Entry(whole_number(members["number"]), whole_number(members["grade"]), own)


def _check_numbers(entries: Sequence[_Entry], count: int) -> None:
    for entry in entries:
        if not 1 <= entry.number <= count:
            problem = f"a grade of number {entry.number}, where 1 to {count} were asked about"
            raise NoGrade("conflict", problem)


def _graded(own: Sequence[_Entry], number: int, grades: Sequence[int]) -> NumberedGrade:
    """What its own entries say of one number."""
    if not own:
        return NumberedGrade(None, None, "unparsable", f"number {number} is missing in the reply")
    if len({entry.grade for entry in own}) > 1:
        return NumberedGrade(None, None, "conflict", f"number {number} stands twice in the reply")
    grade = own[0].grade
    if grade not in grades:
        allowed = ", ".join(map(str, grades))
        return NumberedGrade(None, None, "out_of_scale", f"{grade} is not one of {allowed}")
    return NumberedGrade(grade, own[0].reason)
