"""Scores of runs where grades are uncertain: drawn grades in place of one, many times.

A measure such as nDCG is no sum over documents, and its ideal ranking hangs on all grades of a
query, so that expected grades alone do not give its expectation. So grades are drawn from the
calibrated probabilities, and each draw is scored as qrels are.

No command does this: see what `simulate_calibration.py` prints. Documents that systems rank high
are better than others of the same grade, and probabilities by grades alone do not know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.arrays import Floats, Integers
from labeler.data import Pair, Qrels, Run
from labeler.errors import BadInput
from labeler.lab.calibrate import CalibrationSet, held_out
from labeler.metrics import Measure, Rankings, rankings, score
from labeler.stats.regression import logistic_function
from labeler.stats.student import LEVEL

DRAWS = 200
FLATTENED = 0.346
"""By `sqrt(1 + .346 v)` logits shrink when a normal of variance `v` is added and averaged out."""
SURE = 1e-6


class ExpectedScore(NamedTuple):
    """A run's mean over the queries: by the grades as they are, and over drawn grades.

    `low` and `high` hold the middle 95 % of the draws: what grades leave open, of these queries.
    """

    run: str
    measure: str
    as_graded: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GradeDraws:
    """Whose grades are drawn: the assessor's pairs, and people's, by which probabilities are had.

    `human` are people's grades, which stand wherever there are some.
    """

    matrix: GradeMatrix
    pairs: CalibrationSet
    human: Qrels
    seed: int = 0

    def grades(self, draws: int) -> Iterator[Integers]:
        """Grades of all pairs, draw after draw.

        Each fit is to a bootstrap sample of people's queries, and each query's documents have a
        deviation in common: errors of one query are alike.
        """
        rng = np.random.default_rng(self.seed)
        names, query = self.matrix.pairs.by_query_id()
        variance = query_variance(self.pairs, self.seed)
        scale, fixed = np.array(self.pairs.scale), self._by_people()
        for _ in range(draws):
            above = self._above(rng)
            logits = np.log(above / (1 - above)) * np.sqrt(1 + FLATTENED * variance)
            shift = rng.normal(0.0, np.sqrt(variance), len(names))[query]
            reached = logistic_function(logits + shift[:, None]) > rng.random(len(query))[:, None]
            drawn = scale[reached.cumprod(axis=1).sum(axis=1).astype(np.int64)]
            yield np.where(fixed >= 0, fixed, drawn)

    def _above(self, rng: np.random.Generator) -> Floats:
        """The probability of each cut or more, by a fit to people's queries drawn again."""
        counts = np.bincount(
            rng.integers(0, len(self.pairs.queries), len(self.pairs.queries)),
            minlength=len(self.pairs.queries),
        )[self.pairs.query]
        drawn = replace(self.pairs, weight=self.pairs.weight * counts)
        given = drawn.fit(counts > 0).probabilities(self.matrix)
        above = given[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        return np.clip(above, SURE, 1 - SURE)

    def _by_people(self) -> Integers:
        """People's grade of each pair, -1 where they gave none."""
        grades = [self.human.get(q, {}).get(d, -1) for q, d in self.matrix.pairs.pairs()]
        return np.array(grades, dtype=np.int64)


def query_variance(pairs: CalibrationSet, seed: int = 0) -> float:
    """The variance of what queries' documents have in common, on the scale of logits.

    Sums of a query's residuals vary by more than single pairs do; what is beyond that, by how far
    a common deviation moves them, is the variance: a moment estimator, 0 where nothing is.
    """
    given = held_out(pairs, seed).calibrated
    above = given[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    reached = pairs.outcome[:, None] >= np.arange(1, len(pairs.scale))
    spread, weight = above * (1 - above), pairs.weight / pairs.weight.mean()
    excess = reach = 0.0
    for cut in range(above.shape[1]):
        columns = [
            weight * (reached[:, cut] - above[:, cut]),
            weight**2 * spread[:, cut],
            weight * spread[:, cut],
        ]
        sums = [np.bincount(pairs.query, column, len(pairs.queries)) for column in columns]
        excess += float((sums[0] ** 2 - sums[1]).sum())
        reach += float((sums[2] ** 2).sum())
    return max(excess / reach, 0.0) if reach > 0 else 0.0


def expected_scores(
    drawing: GradeDraws,
    runs: Mapping[str, Run],
    measures: Sequence[Measure],
    draws: int = DRAWS,
) -> list[ExpectedScore]:
    """Each run's mean scores over drawn grades, over the queries that the assessor judged."""
    ranked = {name: _ranked([*drawing.matrix.pairs.pairs()], run) for name, run in runs.items()}
    if all(r.n == 0 for r in ranked.values()):
        raise BadInput("no run has a query that the assessor judged")
    as_graded = np.array(drawing.matrix.grades)[drawing.matrix.values[:, 0]]
    columns = [_means(ranked, as_graded, measures)]
    columns += [_means(ranked, grades, measures) for grades in drawing.grades(draws)]
    table = np.stack(columns, axis=-1)
    rows = []
    for r, name in enumerate(runs):
        for m, measure in enumerate(measures):
            drawn = table[r, m, 1:]
            low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            means = float(table[r, m, 0]), float(drawn.mean()), float(low), float(high)
            rows.append(ExpectedScore(name, str(measure), *means))
    return rows


def _ranked(pairs: Sequence[Pair], run: Run) -> Rankings:
    """A run's rankings, with the number of each pair in place of its grade."""
    numbered: Qrels = {}
    for number, (query_id, doc_id) in enumerate(pairs):
        numbered.setdefault(query_id, {})[doc_id] = number
    return rankings(numbered, {query: run.get(query, {}) for query in numbered})


def _means(ranked: Mapping[str, Rankings], grades: Integers, measures: Sequence[Measure]) -> Floats:
    """`(runs, measures)`: the mean scores of every run by these grades."""
    top = max(1, int(grades.max()))
    rows = []
    for r in ranked.values():
        pool = grades[r.pool_grade]
        order = np.lexsort((-pool, r.pool_query))
        graded = replace(
            r,
            grade=grades[r.grade],
            pool_query=r.pool_query[order],
            pool_grade=pool[order],
            max_grade=top,
        )
        rows.append(score(graded, measures).values.mean(axis=1))
    return np.array(rows, dtype=np.float64)
