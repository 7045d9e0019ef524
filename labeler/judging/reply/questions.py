"""A reply that lists questions, which documents are then held against. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labeler.data import Failure, Pair
from labeler.judging.reply.object import object_of
from labeler.model import Reply, whole
from labeler.prompt.reply.prose import refuses
from labeler.prompt.reply.reader import NoGrade

LONGEST_QUESTION = 1000
"""Characters; what is longer is no question."""


QUESTIONS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"questions": {"type": "array", "items": {"type": "string"}}},
    "required": ["questions"],
    "additionalProperties": False,
}


def parse_questions(pair: Pair, reply: Reply, most: int) -> tuple[str, ...] | Failure:
    """The questions of a reply, each once, at most so many; `Failure` where there are none.

    `pair` is the one that a failure names.
    """
    try:
        value = object_of(reply, "questions")
        written = value["questions"]
        if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
            raise NoGrade("unparsable", "the object's 'questions' is no list of texts")
        listed = distinct(written)
        if not listed:
            none = f"no question of at most {LONGEST_QUESTION:,} characters"
            raise NoGrade(
                "unparsable", none if value.get("questions") else "an empty list of questions"
            )
        if refuses(listed[0]):
            raise NoGrade("refused", listed[0])
    except NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    return listed[:most]


def distinct(questions: list[str]) -> tuple[str, ...]:
    """Questions in their order on one line each, without empty, repeated and overlong ones."""
    lines = (" ".join(whole(question).split()) for question in questions)
    return tuple(dict.fromkeys(line for line in lines if 0 < len(line) <= LONGEST_QUESTION))
