"""Whether a rater's grades, strictness or pace change over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.annotate.raters.agreement import gold_grade
from labeler.annotate.raters.seconds import longest_seconds
from labeler.collection.annotations import JournalRow
from labeler.data import Pair
from labeler.messages import count_of
from labeler.stats.drift import drift
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import holm

FEWEST_PAIRS = 20
"""Of fewer answers no drift is tested."""
SHORTEST = 0.1
"""Seconds; less is counted as so much."""
GRADE, PACE = "mean grade", "seconds a pair"
Value = Callable[[JournalRow], float | None]


@dataclass(frozen=True)
class RaterDrift:
    """How a series of a rater's answers changes from the first to the last, along a line.

    `change` is in grades, or of the seconds a pair the share by which they grow. `p` is exact
    under no drift, whatever answers to one query have in common; `p_holm` allows for the rater's
    other series, and is `None` where too few stretches of one query are there to test.
    """

    series: str
    pairs: int
    blocks: int
    change: float
    p: float | None
    p_holm: float | None = None

    @property
    def is_alarm(self) -> bool:
        """Whether the change is told from chance."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def sentence(self, rater: str) -> str:
        """The change in words."""
        pairs = count_of(self.pairs, "pair", "pairs")
        p = "p below .001" if (self.p_holm or 0) < 0.001 else f"p {self.p_holm:.3f}"
        if self.series == PACE:
            more = "more" if self.change > 0 else "less"
            how = f"took {abs(100 * self.change):.0f} % {more} time for a pair at the end"
            return f"{rater} {how} of {pairs} than at the beginning ({p})"
        up = "up" if self.change > 0 else "down"
        return (
            f"{rater}: {self.series} goes {up} by {abs(self.change):.2f} from the first to the last"
            f" of {pairs} ({p})"
        )

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "series": self.series,
            "pairs": self.pairs,
            "blocks": self.blocks,
            "change": self.change,
            "p": self.p,
            "p_holm": self.p_holm,
            "drifts": self.is_alarm,
        }


def drifts_of(
    rows: Sequence[JournalRow], references: Mapping[str, Mapping[Pair, float]], seed: int = 0
) -> list[RaterDrift]:
    """The drift of a rater's answers, in the order in which they were given.

    `references` are steady grades of pairs, as the other raters' or the assessor's: the rater's
    grade less theirs is strictness, free of which pairs came first. A series of fewer than
    `FEWEST_PAIRS` is left out. The p of the others allow for their number (Holm).
    """
    audit = [row for row in rows if row.purpose == "audit"]
    gold = [row for row in rows if row.purpose == "gold"]
    series: list[tuple[str, Sequence[JournalRow], Value]] = [
        (GRADE, audit, lambda row: row.grade),
        *(
            (f"grade less {name}", audit, _less(reference))
            for name, reference in references.items()
        ),
        ("grade less gold", gold, _less_gold),
        (PACE, audit, _log_seconds(longest_seconds(audit))),
    ]
    tested = [drift_of(name, of, value, seed) for name, of, value in series]
    return _with_holm([each for each in tested if each is not None])


def drift_of(
    name: str, rows: Sequence[JournalRow], value: Value, seed: int = 0
) -> RaterDrift | None:
    """The drift of one series; `None` where too few answers have a value."""
    values = [(value(row), row.query_id) for row in rows]
    defined = [(number, query_id) for number, query_id in values if number is not None]
    if len(defined) < FEWEST_PAIRS:
        return None
    numbers = np.array([number for number, _ in defined], dtype=np.float64)
    of = drift(numbers, [query_id for _, query_id in defined], seed)
    change = math.expm1(of.change) if name == PACE else of.change
    return RaterDrift(name, of.values, of.blocks, change, of.p)


def _with_holm(drifts: Sequence[RaterDrift]) -> list[RaterDrift]:
    p = [each.p for each in drifts if each.p is not None]
    corrected = iter(holm(np.array(p)).tolist() if p else [])
    return [
        each if each.p is None else replace(each, p_holm=float(next(corrected))) for each in drifts
    ]


def _less(reference: Mapping[Pair, float]) -> Value:
    def value(row: JournalRow) -> float | None:
        steady = reference.get(row.pair)
        return None if row.grade is None or steady is None else row.grade - steady

    return value


def _less_gold(row: JournalRow) -> float | None:
    gold = gold_grade(row)
    return None if row.grade is None or gold is None else float(row.grade - gold)


def _log_seconds(longest: float) -> Value:
    def value(row: JournalRow) -> float | None:
        if row.seconds is None or not row.is_answer:
            return None
        return math.log(min(max(row.seconds, SHORTEST), max(longest, SHORTEST)))

    return value
