"""How long a rater takes, with breaks bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from labeler.annotate.pace import LONGEST_BY_MEDIAN
from labeler.collection.annotations import JournalRow


@dataclass(frozen=True)
class RaterPace:
    """The median seconds of an answer, and the hours of all; `None` where no time is known.

    A time of more than five medians was a break, and counts as five medians.
    """

    answers: int
    median: float | None
    hours: float | None


def longest_seconds(rows: Sequence[JournalRow]) -> float:
    """The longest time that is taken as it is; endless where none is known."""
    times = seconds_of(rows)
    return LONGEST_BY_MEDIAN * median(times) if times else math.inf


def seconds_of(rows: Sequence[JournalRow]) -> list[float]:
    """The seconds of the answers whose time is known."""
    return [row.seconds for row in rows if row.is_answer and row.seconds is not None]


def pace_of(rows: Sequence[JournalRow]) -> RaterPace:
    """The pace over some answers."""
    times = seconds_of(rows)
    if not times:
        return RaterPace(0, None, None)
    longest = longest_seconds(rows)
    return RaterPace(len(times), median(times), sum(min(t, longest) for t in times) / 3600)
