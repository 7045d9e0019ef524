"""Prediction-powered means: people's scores on some queries, the assessor's on all of them.

PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453) at the level of queries. The labelled
queries are among all queries, so with a finite target it is survey sampling's regression estimator
(Cochran 1977, Sampling Techniques, chapter 7). How far to follow the assessor (lambda, between 0
and 1) is tuned on all systems together, so that a corrected difference is the difference of the two
corrected means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.report.result import as_plain
from labeler.stats.estimates import (
    UNIT,
    Bounds,
    Design,
    Mean,
    MeanEstimate,
    freedom_of,
)
from labeler.stats.families import Systems, Verdict, compared
from labeler.stats.student import t_of

FEWEST = 3
"""With fewer labelled queries nothing is corrected."""
MOST_LEVERAGE = 0.9
"""A query that pulls harder than this decides lambda alone, and leaves no residual to see it by."""
SIDES = ("human", "assessor", "corrected")
"""By people alone, by the assessor alone, and by both."""
THESE, LIKE_THESE = "these", "like-these"
"""The mean over this collection's queries, or over all queries like these."""


@dataclass(frozen=True)
class CorrectedMean:
    """A system's mean from people alone, from the assessor alone, and from both.

    `weight` is what the assessor's scores are multiplied with (lambda), 0 where they tell nothing;
    `freedom` the degrees of freedom of the corrected interval.
    """

    judged: int
    queries: int
    human: Mean
    assessor: Mean
    corrected: Mean
    weight: float
    freedom: float

    @property
    def sides(self) -> tuple[Mean, Mean, Mean]:
        """By people alone, by the assessor alone, and by both."""
        return self.human, self.assessor, self.corrected

    def as_json(self) -> dict[str, Any]:
        """The counts, the means beside one another, and what the corrected one rests on."""
        counts = {"human_queries": self.judged, "queries": self.queries}
        sides = {side: as_plain(getattr(self, side)) for side in SIDES}
        return {**counts, **sides, "lambda": self.weight, "freedom": self.freedom}

    @property
    def error(self) -> float:
        """The corrected mean's error, as its interval reaches towards 0; endless without one."""
        mean = self.corrected
        if mean.low is None or mean.high is None:
            return math.inf
        return (mean.value - mean.low if mean.value > 0 else mean.high - mean.value) / t_of(
            self.freedom
        )


class _Rows(NamedTuple):
    """Scores of systems, or differences of them: people's, and the assessor's of all queries.

    `inside` are the assessor's of the queries that people judged, or of the pairs.
    """

    human: Floats
    assessor: Floats
    inside: Floats


@dataclass(frozen=True, eq=False)
class Joint:
    """Systems that people and an assessor scored by one measure, corrected with one lambda.

    `human` holds `(systems, labelled)` scores in the order of the design's queries, `assessor`
    those of all queries. `bounds` are those of the scores.
    `of_differences` says that scores are differences, whose tail is on no known side.
    """

    human: Floats
    assessor: Floats
    design: Design
    target: str = LIKE_THESE
    bounds: Bounds = UNIT
    of_differences: bool = False

    @cached_property
    def weight(self) -> float:
        """Lambda, tuned on all systems; 0 where the assessor tells nothing of people.

        That is where the residuals' variance, with the degree of freedom that lambda takes, is no
        smaller than people's own; where one query decides; and where scores pile up, and the
        intervals of all systems together become no narrower.
        """
        weight = self._tuned
        if not weight or not self._estimate(self._scores, weight).piled:
            return weight
        of_people, of_both = (
            sum(mean.width for mean in self._corrected(self._scores, tried))
            for tried in (0.0, weight)
        )
        return weight if of_both < of_people else 0.0

    @cached_property
    def _tuned(self) -> float:
        """The slope of people's scores on the assessor's, within 0 and 1, where it tells any."""
        n = self.design.count
        if n <= FEWEST or n == self.design.total:
            return 0.0
        apart, own = self._apart, self.design.centered(self.human)
        slack = float(self.design.mean(apart**2).sum())
        pull = (1 + (apart**2).sum(axis=0) / max(slack, 1e-12)) / n
        if slack < 1e-12 or pull.max() > MOST_LEVERAGE:
            return 0.0
        # cov(x, y) / var(x)
        weight = min(max(float(self.design.mean(apart * own).sum()) / slack, 0.0), 1.0)
        # var(residual) on n - 2 degrees of freedom against var(people) on n - 1
        left = float(self.design.mean((own - weight * apart) ** 2).sum())
        return weight if left * (n - 1) < float(self.design.mean(own**2).sum()) * (n - 2) else 0.0

    def means(self) -> list[CorrectedMean]:
        """The three means of each system."""
        return self._of(self._scores)

    def differences(self, baseline: int) -> list[CorrectedMean]:
        """The three means of each other system less the baseline, in their order.

        The corrected ones are the differences of the systems' corrected means.
        """
        others = np.arange(len(self.human)) != baseline
        rows = [scores[others] - scores[baseline] for scores in self._scores]
        apart = replace(self, bounds=self._span, of_differences=True)
        differences = apart._of(_Rows(*rows), self.weight)
        exact = (self._values[others] - self._values[baseline]).tolist()
        return [_moved(own, value) for own, value in zip(differences, exact, strict=True)]

    @cached_property
    def _scores(self) -> _Rows:
        return _Rows(self.human, self.assessor, self.assessor[:, self.design.judged])

    @cached_property
    def _values(self) -> Floats:
        """The corrected mean of each system."""
        return np.array([mean.value for mean in self._corrected(self._scores, self.weight)])

    @cached_property
    def _apart(self) -> Floats:
        """The assessor's scores of the labelled queries, less their means."""
        return self.design.centered(self._scores.inside)

    def _pull(self, apart: Floats) -> Floats:
        """How far each query pulls the mean and lambda, and so each row's fit, towards itself."""
        slack = max(float(self.design.mean(self._apart**2).sum()), 1e-12)
        # (labelled,): how far a query of all systems moves lambda
        moves = np.abs(self._apart).sum(axis=0) / slack
        return np.asarray((1 + np.abs(apart) * moves) / self.design.count, dtype=np.float64)

    @property
    def _span(self) -> Bounds:
        """Between which differences of scores lie."""
        if self.bounds is None:
            return None
        low, high = self.bounds
        return low - high, high - low

    def _of(self, rows: _Rows, weight: float | None = None) -> list[CorrectedMean]:
        """The three means of rows of scores with this lambda, or the tuned one."""
        weight = self.weight if weight is None else weight
        sides = (
            self._corrected(rows, 0.0),
            self._assessors(rows.assessor),
            self._corrected(rows, weight),
        )
        freedom = self._estimate(rows, weight).freedom
        counts = self.design.count, rows.assessor.shape[1]
        return [CorrectedMean(*counts, *row, weight, freedom) for row in zip(*sides, strict=True)]

    def _corrected(self, rows: _Rows, weight: float) -> list[Mean]:
        """The corrected means of rows of scores with this lambda; with 0, people's own."""
        # by how much the assessor's mean over all queries differs from that over the labelled ones
        shifts = weight * (rows.assessor.mean(axis=1) - self.design.mean(rows.inside))
        return self._estimate(rows, weight).means(shifts, self.bounds)

    def _estimate(self, rows: _Rows, weight: float) -> MeanEstimate:
        """The means of rows of scores with this lambda."""
        design, human, more = self.design, rows.human, self._more(rows)
        finite = self.target == THESE
        residual, freedom = human, design.count - 1.0
        pull = np.full(human.shape, 1 / design.count)
        if weight:
            residual = human - weight * rows.inside
            freedom = min(freedom_of(design.centered(residual), 2), max(freedom, 1.0))
            pull = np.minimum(self._pull(design.centered(rows.inside)), MOST_LEVERAGE)
        parts = human, residual, more
        return MeanEstimate(parts, pull, design, freedom, finite, not self.of_differences)

    def _more(self, rows: _Rows) -> Floats:
        """What all queries like these add to each row's error, of one or of all queries each."""
        design, total = self.design, rows.assessor.shape[1]
        if self.target == THESE:
            return np.zeros_like(rows.human)
        scale = 1 / max(design.count - 1, 1) / total
        return design.centered(rows.human) * math.sqrt(scale)

    def compared(self, baseline: int | None, seed: int = 0) -> list[tuple[CorrectedMean, Verdict]]:
        """The difference of each other system from one, or from the best, and its verdict.

        Corrected intervals hold for all of them together. What is drawn are people's scores less
        what the assessor foretells of them, query by query.
        """
        means = self._values
        base = int(means.argmax()) if baseline is None else baseline
        differences = self.differences(base)
        errors = np.full((len(means), len(means)), math.inf)
        errors[np.arange(len(means)) != base, base] = [d.error for d in differences]
        span = math.inf if self._span is None else self._span[1]
        residual = self.human - self.weight * self._scores.inside
        verdicts = compared(Systems(residual, None, span, means, errors), baseline, seed=seed)
        return [
            (replace(d, corrected=Mean(d.corrected.value, *v.ends)), v)
            for d, v in zip(differences, verdicts, strict=True)
        ]

    def _assessors(self, assessor: Floats) -> list[Mean]:
        """What the assessor's scores alone say; over these queries they leave nothing open."""
        total = assessor.shape[1]
        design = Design(np.arange(total), total)
        of_all = Joint(assessor, assessor, design, self.target, self.bounds)
        return of_all._corrected(of_all._scores, 0.0)


def _moved(means: CorrectedMean, value: float) -> CorrectedMean:
    """The same with another corrected value, which its interval holds."""
    low, high = means.corrected.low, means.corrected.high
    if low is not None and high is not None:
        low, high = min(low, value), max(high, value)
    return replace(means, corrected=Mean(value, low, high))
