"""The values of measures for the queries of one run, and their means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.data import Qrels, Run
from labeler.metrics.judged import rankings
from labeler.metrics.rankings import Rankings
from labeler.metrics.registry import Measure, parse_all

if TYPE_CHECKING:
    from pandas import DataFrame

# How much each query counts in a mean over queries.


@dataclass(frozen=True, eq=False)
class Weighting:
    """The weight of each query, `(queries,)`, all above 0.

    `chances` are those with which each was drawn from a log, where means are of that log's queries.
    """

    weights: Floats
    chances: Floats | None = None

    def choose(self, mask: Flags) -> Weighting:
        """The same of the queries in the mask alone."""
        return Weighting(self.weights[mask], None if self.chances is None else self.chances[mask])

    @property
    def open(self) -> Floats:
        """Which share of each query's variance is left open: none where all were drawn."""
        return np.ones(len(self.weights)) if self.chances is None else 1 - self.chances

    @property
    def open_share(self) -> float:
        """The same of the weighted mean's variance."""
        return float(np.average(self.open, weights=self.weights**2))

    @property
    def effective(self) -> float:
        """So many queries of equal weight would be as precise: Kish (1965), Survey Sampling.

        Rounded, so that ten equal weights are as precise as ten queries, however a computer holds
        such a weight.
        """
        weights = self.weights / self.weights.max()
        return round(float(weights.sum() ** 2 / (weights**2).sum()), 9)


SMALLEST_IN_GEOMETRIC_MEAN = 0.00001


@dataclass(frozen=True)
class Scores:
    """`values` has a row for each measure and a column for each query; `nan` is undefined.

    With a `weighting` queries count by their weights in means. `lean` is how far off grades that
    fill holes may take a mean, of a measure up to 1.
    """

    queries: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: Floats
    weighting: Weighting | None = None
    lean: float = 0.0

    def of(self, measure: Measure) -> Floats:
        """The values of one measure, by query."""
        row: Floats = self.values[self.measures.index(measure)]
        return row

    def choose(self, mask: Sequence[bool] | Flags) -> Scores:
        """The scores of the queries in the mask alone."""
        queries = tuple(query for query, keep in zip(self.queries, mask, strict=True) if keep)
        selected = np.array(mask, bool)
        weighting = None if self.weighting is None else self.weighting.choose(selected)
        return Scores(queries, self.measures, self.values[:, selected], weighting, self.lean)

    def means(self) -> dict[str, float]:
        """Each measure summed up over the queries where it is defined: its mean, as a rule."""
        weights = None if self.weighting is None else self.weighting.weights
        return {str(m): summed_up(m, self.of(m), weights) for m in self.measures}

    def per_query(self) -> dict[str, dict[str, float]]:
        """Query id to measure to value."""
        names = [str(measure) for measure in self.measures]
        columns = self.values.T.tolist()
        return {
            q: dict(zip(names, c, strict=True)) for q, c in zip(self.queries, columns, strict=True)
        }

    def frame(self) -> DataFrame:
        """A row for each query, a column for each measure."""
        import pandas as pd

        names = [str(measure) for measure in self.measures]
        return pd.DataFrame(
            self.values.T, index=pd.Index(self.queries, name="query"), columns=names
        )


def score(ranked: Rankings, measures: str | Sequence[object]) -> Scores:
    """The values of the measures for one run's rankings."""
    parsed = parse_all(measures)
    rows = [measure.per_query(ranked) for measure in parsed]
    return Scores(ranked.queries, tuple(parsed), np.array(rows).reshape(len(rows), ranked.n))


def evaluate(
    qrels: Qrels,
    run: Run,
    measures: str | Sequence[object],
    max_grade: int | None = None,
) -> Scores:
    """The values of `measures` for the queries of the qrels.

    Measures are names, as `"nDCG@10 AP"` too, or those of `ir_measures`. Queries that the run lacks
    score 0. `max_grade` is the scale's top grade (ERR, RBP), the largest of the qrels where it is
    not given.
    """
    return score(rankings(qrels, run, max_grade), measures)


def summed_up(measure: Measure, values: Floats, weights: Floats | None = None) -> float:
    """The mean (sum, geometric mean) of the defined values; `nan` where there are none.

    Weights count in means alone.
    """
    defined, kind = ~np.isnan(values), measure.definition.summary
    if kind != "sum" and not defined.any():
        return math.nan
    counted = None if weights is None else weights[defined].tolist()
    return added_up(kind, values[defined].tolist(), counted)


def added_up(kind: str, values: list[float], weights: list[float] | None = None) -> float:
    """The `sum` of some values, their `geometric` mean, or their mean.

    Values without weights are added one by one in the order of the queries, as trec_eval adds.
    """
    if kind == "geometric":
        logs = [math.log(max(value, SMALLEST_IN_GEOMETRIC_MEAN)) for value in values]
        return math.exp(added_up("mean", logs, weights))
    if kind != "sum" and weights is not None:
        mean = math.fsum(map(mul, values, weights)) / math.fsum(weights)
        # so that rounding never puts a mean of scores of 1 below a gate at 1
        return min(max(mean, min(values)), max(values))
    total = 0.0
    for value in values:
        total += value
    return total if kind == "sum" else total / len(values)
