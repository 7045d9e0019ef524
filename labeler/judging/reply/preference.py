"""A reply that prefers one of two documents. Pure."""

from __future__ import annotations

from typing import Literal, cast, get_args

from labeler.data import Failure, Pair
from labeler.judging.reply.object import object_of
from labeler.model import Reply, whole
from labeler.prompt.reply.reader import NoGrade

Better = Literal["first", "second", "both", "neither"]
"""Which of two documents is the better one; both as good, or neither any good."""

POINTS: dict[Better, tuple[float, float]] = {
    "first": (1.0, 0.0),
    "second": (0.0, 1.0),
    "both": (0.5, 0.5),
    "neither": (0.0, 0.0),
}
"""What a preference gives to the first document, and to the second."""


def parse_preference(pair: Pair, reply: Reply) -> Better | Failure:
    """The document that a reply prefers; `Failure` of the pair where it says none of the words."""
    try:
        better = str(object_of(reply, "better")["better"]).strip().lower()
        if not is_preference(better):
            raise NoGrade("unparsable", f"{better!r:.40} is none of {', '.join(POINTS)}")
    except NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    return cast("Better", better)


def is_preference(answer: object) -> bool:
    """Whether an answer is one of the words."""
    return answer in get_args(Better)
