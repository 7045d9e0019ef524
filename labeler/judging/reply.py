"""What a reply of each kind says: a grade, numbered grades, or a list of questions. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from labeler.data import Failure, Judgement, Outcome, Pair
from labeler.files.boundary import log_probability
from labeler.model import NO_COMPLETION, NO_TEXT, Reply, status_of_ending, whole
from labeler.prompt import object_schema
from labeler.prompt.reply import (
    NoGrade,
    ReplyReader,
    answer_in,
    raise_nothing,
    refuses,
    whole_number,
)
from labeler.text.objects import after_thoughts, objects_named

# The JSON object that a reply is: how it ended, and the object that holds what was asked. Pure.

LONGEST = 1_000_000
"""Characters; a longer reply is no grade of one pair."""


def check_ending(reply: Reply) -> None:
    """Raise `NoGrade` where the way that a reply ended says that it holds none."""
    status = status_of_ending(reply.finish_reason)
    if status == "filtered":
        raise NoGrade(status, reply.refusal or "the server's content filter stopped the reply")
    if reply.refusal:
        raise NoGrade("refused", reply.refusal)
    if reply.finish_reason == NO_COMPLETION:
        raise NoGrade("unparsable", "the server's answer held no completion")
    if reply.finish_reason == NO_TEXT:
        raise NoGrade("unparsable", "the reply is a tool call or other parts, and no text")
    if status:
        raise NoGrade(status, f"the server ended the reply with {reply.finish_reason!r}")
    if len(reply.text) > LONGEST:
        raise NoGrade("unparsable", f"a reply of {len(reply.text):,} characters")


# What a model's reply says: one grade of the scale, or why there is none. Pure.
#
# The text is read by the prompt's reader; how the reply ended is looked at before what it says.

JSON = ReplyReader()
Value = TypeVar("Value")


def parse_grade(
    pair: Pair, reply: Reply, grades: Sequence[int], reader: ReplyReader = JSON
) -> Outcome:
    """The judgement in a reply, or the failure that it is.

    A refusal that holds a number, or half an answer, is no grade.
    """

    def judgement(text: str) -> Judgement:
        grade, reason, position = reader.read(text, grades)
        reason = reason if reason is None else whole(reason)
        if not reply.top_tokens or position is None:
            return Judgement(pair, grade, reason)
        return Judgement(pair, grade, reason, _distribution(reply, grades, position))

    return _read(pair, reply, judgement)


def _read(pair: Pair, reply: Reply, read: Callable[[str], Value]) -> Value | Failure:
    """What is read in a reply's text, or why that is nothing, as a failure of a pair."""
    try:
        check_ending(reply)
        return read(reply.text)
    except NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))


def _distribution(reply: Reply, grades: Sequence[int], position: int) -> Mapping[int, float] | None:
    """The probabilities of the grades at the token that holds the grade, where it is known."""
    start = 0
    for tops in reply.top_tokens:
        token = next(iter(tops), "")
        if start <= position < start + len(token):
            return _shares(tops, token[: position - start], grades)
        if not reply.text.startswith(token, start):
            return None
        start += len(token)
    return None


def _shares(
    tops: Mapping[str, float], before: str, grades: Sequence[int]
) -> Mapping[int, float] | None:
    """The share of each grade among the tokens; None where one has no log probability."""
    shares = dict.fromkeys(grades, 0.0)
    for token, value in tops.items():
        number = token.removeprefix(before).strip(' \n\t"},')
        written = token.startswith(before) and re.fullmatch(r"-?[0-9]{1,9}", number)
        if written and int(number) in shares:
            logprob = log_probability(value)
            if logprob is None:
                return None
            shares[int(number)] += math.exp(logprob)
    total = sum(shares.values())
    return {grade: share / total for grade, share in shares.items()} if total > 0 else None


# A reply that grades several things at once, each known by its number. Pure.
#
# The object is `{"grades": [{"number": 1, "grade": 2}, …]}`. A thing that is missing, that has two
# grades, or one off the scale has no grade; those of the others hold. A number that was not asked
# about means that the model counted otherwise than it was told to, so no grade of such a reply can
# be trusted to be of the thing whose number it carries.

_NUMBER = re.compile("number", re.IGNORECASE)
_QUESTIONS = re.compile("questions", re.IGNORECASE)


class _Entry(NamedTuple):
    number: int
    grade: int
    reason: str | None


Numbered = Sequence[Outcome]
"""What a reply says of each number, from 1 on."""


def parse_numbered(
    pairs: Sequence[Pair], reply: Reply, grades: Sequence[int]
) -> Numbered | Failure:
    """What a reply says of each number, each of which grades one of `pairs`, which may be equal.

    `Failure`, of the first pair, where it says nothing of any of them.
    """

    def numbered(whole_text: str) -> Numbered:
        text = whole_text[after_thoughts(whole_text) :]
        entries = [
            _entry({name.strip().lower(): value for name, value in entry.items()})
            for entry in objects_named(answer_in(text)[0], _NUMBER)
        ]
        if not entries:
            raise_nothing('no JSON object with "grades"', text)
        for entry in entries:
            if not 1 <= entry.number <= len(pairs):
                raise NoGrade(
                    "conflict",
                    f"a grade of number {entry.number}, where 1 to {len(pairs)} were asked about",
                )
        return [
            _graded(pair, number, [entry for entry in entries if entry.number == number], grades)
            for number, pair in enumerate(pairs, start=1)
        ]

    return _read(pairs[0], reply, numbered)


def _entry(members: Mapping[str, object]) -> _Entry:
    if "grade" not in members:
        raise NoGrade("unparsable", f"number {members['number']!s:.20} without a grade")
    reason = members.get("reason")
    own = whole(reason) if isinstance(reason, str) else None
    return _Entry(whole_number(members["number"]), whole_number(members["grade"]), own)


def _graded(pair: Pair, number: int, own: Sequence[_Entry], grades: Sequence[int]) -> Outcome:
    """What its own entries say of one number."""
    if not own:
        return Failure(pair, "unparsable", f"number {number} is missing in the reply")
    if len({entry.grade for entry in own}) > 1:
        return Failure(pair, "conflict", f"number {number} stands twice in the reply")
    grade = own[0].grade
    if grade not in grades:
        allowed = ", ".join(map(str, grades))
        return Failure(pair, "out_of_scale", f"{grade} is not one of {allowed}")
    return Judgement(pair, grade, own[0].reason)


LONGEST_QUESTION = 1000
"""Characters; what is longer is no question."""


QUESTIONS_SCHEMA = object_schema({"questions": {"type": "array", "items": {"type": "string"}}})


def parse_questions(pair: Pair, reply: Reply, most: int) -> tuple[str, ...] | Failure:
    """The questions of a reply, each once, at most so many; `Failure` where there are none.

    `pair` is the one that a failure names.
    """

    def questions(whole_text: str) -> tuple[str, ...]:
        text = whole_text[after_thoughts(whole_text) :]
        holders = objects_named(answer_in(text)[0], _QUESTIONS)
        members = [member for holder in holders for member in holder.items()]
        values = [value for name, value in members if _QUESTIONS.fullmatch(name.strip())]
        if not values:
            raise_nothing('no JSON object with "questions"', text)
        written = values[-1]
        if any(other != written for other in values):
            raise NoGrade("conflict", f'{len(values)} objects with another "questions" each')
        if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
            raise NoGrade("unparsable", "the object's 'questions' is no list of texts")
        listed = distinct(written)
        if not listed:
            none = f"no question of at most {LONGEST_QUESTION:,} characters"
            raise NoGrade("unparsable", none if written else "an empty list of questions")
        if refuses(listed[0]):
            raise NoGrade("refused", listed[0])
        return listed[:most]

    return _read(pair, reply, questions)


def distinct(questions: list[str]) -> tuple[str, ...]:
    """Questions in their order on one line each, without empty, repeated and overlong ones."""
    lines = (" ".join(whole(question).split()) for question in questions)
    return tuple(dict.fromkeys(line for line in lines if 0 < len(line) <= LONGEST_QUESTION))
