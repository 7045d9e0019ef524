"""What may be chosen of an evaluation.

Without numpy, because the command line reads the choices from here before it computes anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from labeler.errors import Misuse

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")

Missing = Literal["zero", "skip"]
Unanswerable = Literal["count", "skip"]
Ties = Literal["trec", "file"]
IntervalKind = Literal["bootstrap", "t"]
Target = Literal["these", "like-these"]


def check_choice(parameter: str, value: str, choices: object) -> None:
    """`Misuse` where `value` is none of a `Literal`'s choices."""
    names = get_args(choices)
    if value not in names:
        listed = " or ".join(names)
        raise Misuse(f"{parameter} is {listed}, not {value!r}", parameter=parameter)


@dataclass(frozen=True)
class Scoring:
    """Which queries count, how documents are ordered, and on what scale they were judged.

    `missing`: queries that a run lacks score 0 (`zero`) or are left out (`skip`). `unanswerable`:
    queries without any relevant document `count`, or are left out (`skip`). `ties`: documents rank
    by score, then id (`trec`), or as they are written (`file`). `max_grade`: the scale's top grade.
    `verdicts`: whether a person passed the first documents of each query that they looked at.
    """

    missing: Missing = "zero"
    unanswerable: Unanswerable = "count"
    ties: Ties = "trec"
    max_grade: int | None = None
    verdicts: Mapping[str, bool] | None = None

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, Missing)
        check_choice("unanswerable", self.unanswerable, Unanswerable)
        check_choice("ties", self.ties, Ties)

    def with_top_grade(self, grade: int | None) -> Scoring:
        """The same, with that top grade where none was chosen."""
        return self if self.max_grade is not None else replace(self, max_grade=grade)


@dataclass(frozen=True)
class EvaluationOptions:
    """What to compute: measures, intervals of this kind, and a comparison with the baseline.

    Of the measures in `margins` it is said whether runs are shown to differ by less than that.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    scoring: Scoring = field(default_factory=Scoring)
    baseline: str | None = None
    interval: IntervalKind = "bootstrap"
    scenarios: bool = True
    seed: int = 0
    margins: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, IntervalKind)


@dataclass(frozen=True)
class CorrectionOptions:
    """What to correct: means by these measures, over these queries or over all like them.

    `chances` says how likely each query that people judged was to be drawn, where not all were as
    likely.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    scoring: Scoring = field(default_factory=Scoring)
    baseline: str | None = None
    target: Target = "like-these"
    chances: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_choice("target", self.target, Target)


def names_of(measures: str | Iterable[object]) -> tuple[str, ...]:
    """Measures as texts: one text, several, or those of `ir_measures`."""
    return (measures,) if isinstance(measures, str) else tuple(map(str, measures))
