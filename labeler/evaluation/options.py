"""What may be chosen of an evaluation.

Without numpy, because the command line reads the choices from here before it computes anything.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from labeler.errors import Misuse
from labeler.messages import Progress, no_progress
from labeler.options import TOP_GRADE, Bounds, Option, Options, option

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")

Missing = Literal["zero", "skip"]
Unanswerable = Literal["count", "skip"]
Stale = Literal["drop", "keep"]
Target = Literal["these", "like-these"]
Compare = Literal["best", "all", "hsd"]


SCORING, COMPARING = "Scoring", "Comparing runs"
GROUPS = "Groups and weights of queries"
"""The headings of these options in help."""

MEASURES = Option(
    "A measure, as nDCG@10 or P(rel=2)@5; repeatable.", flags="-m --measure", panel=SCORING
)
BASELINE = Option("The run to compare with (default: the best).", metavar="RUN", panel=COMPARING)
FILL = Option(
    "Another set, or file, whose grades stand where these qrels have none.",
    metavar="NAME",
    panel=SCORING,
)
STALE_GRADES = Option(
    "Grades of texts that have changed since: drop, or keep.", panel=SCORING, rare=True
)


@dataclass(frozen=True)
class Scoring(Options):
    """Which queries count, and on what scale they were judged.

    `missing`: queries that a run lacks score 0 (`zero`) or are left out (`skip`). `unanswerable`:
    queries without any relevant document `count`, or are left out (`skip`). `max_grade`: the
    scale's top grade. `stale`: grades of texts that have changed since are unjudged (`drop`), or
    count (`keep`).
    """

    missing: Missing = option(
        "zero", "Queries that a run lacks: zero, or skip as trec_eval does.", panel=SCORING
    )
    unanswerable: Unanswerable = option(
        "count", "Queries without a relevant document: count, or skip.", panel=SCORING, rare=True
    )
    max_grade: int | None = option(
        None, "The scale's top grade, for ERR and RBP.", TOP_GRADE, panel=SCORING, rare=True
    )
    stale: Stale = option("drop", STALE_GRADES)

    def with_top_grade(self, grade: int | None) -> Scoring:
        """The same, with that top grade where none was chosen."""
        if grade is None or self.max_grade is not None:
            return self
        return replace(self, max_grade=grade)


FEWEST = 10
"""Queries that a group needs for its score to be held against a gate."""

IN_A_GROUP = Bounds(2, 10**9)

Facts = Mapping[str, Mapping[str, Any]]
"""Query id to the name of a field to its value."""


@dataclass(frozen=True)
class Grouping(Options):
    """Groups of queries to score apart, and what each query counts.

    `by` are fields of the queries' metadata, as `kind`; `weights` is the one that holds a number.
    `queries` is a file or a dict with these fields, where the qrels stand in no collection. Groups
    of less than `min_queries` queries are too thin to be held against a gate.
    """

    by: tuple[str, ...] = option(
        (),
        "Score groups of queries apart: kind, or any field of metadata. Repeatable.",
        metavar="FIELD",
        panel=GROUPS,
    )
    weights: str = option(
        "",
        "What each query counts in means, as the weight of queries from-log.",
        metavar="FIELD",
        panel=GROUPS,
    )
    queries: str | os.PathLike[str] | Facts | None = None
    min_queries: int = option(
        FEWEST,
        "A group of fewer is too thin to decide a gate.",
        IN_A_GROUP,
        panel=GROUPS,
        rare=True,
    )

    def check(self) -> None:
        """Raise `Misuse` where something is said of groups, and none are asked for."""
        if self.queries is not None and not (self.by or self.weights):
            problem = "these queries are read for groups or weights, and none is asked for"
            raise Misuse(problem, parameter="queries")
        if self.min_queries != FEWEST and not self.by:
            problem = "this is how many queries a group needs, and no groups are asked for"
            raise Misuse(problem, parameter="min_queries")


@dataclass(frozen=True)
class ScoredOptions(Options):
    """By which measures runs are scored, how, and with which of them the others are compared."""

    measures: tuple[str, ...] = option(DEFAULT_MEASURES, MEASURES)
    scoring: Scoring = field(default_factory=Scoring)
    baseline: str | None = option(None, BASELINE)


@dataclass(frozen=True)
class EvaluationOptions(ScoredOptions):
    """What to compute: measures, and a comparison with the baseline or else with the best.

    `compare` may ask for `all` pairs of runs, or for the test of Tukey's `hsd`.
    Of the measures in `margins` it is said whether runs are shown to differ from the baseline by
    less than that.
    `fill` names the set whose grades stand where the qrels have none.
    `progress` is told how many runs are scored, and how much of each field's groups is.
    """

    compare: Compare = option(
        "best",
        "Compare runs with the best (or a baseline), all pairs of them, or by Tukey's hsd.",
        panel=COMPARING,
        rare=True,
    )
    fill: str = option("", FILL)
    scenarios: bool = True
    seed: int = 0
    margins: Mapping[str, float] = field(default_factory=dict)
    grouping: Grouping = field(default_factory=Grouping)
    progress: Progress = field(default=no_progress, compare=False, repr=False)


@dataclass(frozen=True)
class CorrectionOptions(ScoredOptions):
    """What to correct: means by these measures, over these queries or over all like them."""

    target: Target = option(
        "like-these", "The mean over all queries like-these, or over these alone."
    )


def names_of(measures: str | Iterable[object]) -> tuple[str, ...]:
    """Measures as texts: one text, several, or those of `ir_measures`."""
    return (measures,) if isinstance(measures, str) else tuple(map(str, measures))


class Limit(NamedTuple):
    """The gate that `NAME:NUMBER` asks for, before its name is looked up."""

    name: str
    number: float


def parse_limits(texts: Sequence[str], example: str, parameter: str = "require") -> list[Limit]:
    """Names with finite numbers behind the last colon; `Misuse` shows the example."""
    limits = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            limit = float(number) if colon else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise Misuse(
                f"cannot read {text.removeprefix(':')!r}; write it as {example}",
                parameter=parameter,
            )
        limits.append(Limit(name, limit))
    return limits
