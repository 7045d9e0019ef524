"""What may be chosen of an evaluation.

Without numpy, because the command line reads the choices from here before it computes anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from labeler.errors import Misuse
from labeler.messages import Progress, no_progress

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")

Missing = Literal["zero", "skip"]
Unanswerable = Literal["count", "skip"]
Ties = Literal["trec", "file"]
Stale = Literal["drop", "keep"]
IntervalKind = Literal["bootstrap", "t"]
Thin = Literal["fail", "skip"]
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
    `stale`: grades of texts that have changed since are unjudged (`drop`), or count (`keep`).
    """

    missing: Missing = "zero"
    unanswerable: Unanswerable = "count"
    ties: Ties = "trec"
    max_grade: int | None = None
    stale: Stale = "drop"

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, Missing)
        check_choice("unanswerable", self.unanswerable, Unanswerable)
        check_choice("ties", self.ties, Ties)
        check_choice("stale", self.stale, Stale)

    def with_top_grade(self, grade: int | None) -> Scoring:
        """The same, with that top grade where none was chosen."""
        return self if self.max_grade is not None else replace(self, max_grade=grade)


FEWEST = 10
"""Queries that a group needs for its score to be held against a gate."""

Facts = Mapping[str, Mapping[str, Any]]
"""Query id to the name of a field to its value."""


@dataclass(frozen=True)
class Grouping:
    """Groups of queries to score apart, and what each query counts.

    `by` are fields of the queries' metadata, as `kind`; `weights` is the one that holds a number.
    `queries` is a file or a dict with these fields, where the qrels stand in no collection. Groups
    of less than `fewest` queries are too thin to be held against a gate.
    """

    by: tuple[str, ...] = ()
    weights: str = ""
    queries: str | os.PathLike[str] | Facts | None = None
    fewest: int = FEWEST

    def __post_init__(self) -> None:
        if self.fewest < 2:
            raise Misuse("a group needs two queries at least", parameter="min_queries")
        if self.queries is not None and not (self.by or self.weights):
            problem = "these queries are read for groups or weights, and none is asked for"
            raise Misuse(problem, parameter="queries")
        if self.fewest != FEWEST and not self.by:
            problem = "this is how many queries a group needs, and no groups are asked for"
            raise Misuse(problem, parameter="min_queries")


@dataclass(frozen=True)
class EvaluationOptions:
    """What to compute: measures, intervals of this kind, and a comparison with the baseline.

    Of the measures in `margins` it is said whether runs are shown to differ by less than that.
    `progress` is told how many runs are scored, and how much of each field's groups is. With `jobs`
    so many processes score the runs, each one at a time; the report is the same.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    scoring: Scoring = field(default_factory=Scoring)
    baseline: str | None = None
    interval: IntervalKind = "bootstrap"
    scenarios: bool = True
    seed: int = 0
    margins: Mapping[str, float] = field(default_factory=dict)
    grouping: Grouping = field(default_factory=Grouping)
    progress: Progress = field(default=no_progress, compare=False, repr=False)
    jobs: int = 1

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, IntervalKind)
        if self.grouping.weights and self.margins:
            problem = "a margin is held by queries that count alike; leave it or the weights out"
            raise Misuse(problem, parameter="margin")


@dataclass(frozen=True)
class CorrectionOptions:
    """What to correct: means by these measures, over these queries or over all like them."""

    measures: tuple[str, ...] = DEFAULT_MEASURES
    scoring: Scoring = field(default_factory=Scoring)
    baseline: str | None = None
    target: Target = "like-these"

    def __post_init__(self) -> None:
        check_choice("target", self.target, Target)


def names_of(measures: str | Iterable[object]) -> tuple[str, ...]:
    """Measures as texts: one text, several, or those of `ir_measures`."""
    return (measures,) if isinstance(measures, str) else tuple(map(str, measures))
