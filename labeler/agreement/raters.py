"""More than two raters: ratings side by side, and the statistics of any number of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from labeler.agreement import alphas
from labeler.agreement.compare import Estimate, Options
from labeler.agreement.registry import Statistic
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats, Integers
from labeler.data import Pair, Qrels
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample

UNRATED = -1


@dataclass(frozen=True, eq=False)
class Ratings:
    """`values[i, r]` is rater `r`'s place in `grades` for pair `i`, or `UNRATED`.

    `query` holds the pairs' places in `queries`; `weight` is one over the pair's inclusion
    probability, `None` where every pair of the pool was graded.
    """

    raters: tuple[str, ...]
    queries: tuple[str, ...]
    grades: tuple[int, ...]
    query: Integers
    values: Integers
    weight: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Each pair's weight, 1 where none is known."""
        return np.ones(len(self.query)) if self.weight is None else self.weight

    def complete(self) -> Ratings:
        """The pairs that every rater graded, and their queries."""
        return self._keep((self.values != UNRATED).all(axis=1))

    def _keep(self, rows: Floats) -> Ratings:
        used, query = np.unique(self.query[rows], return_inverse=True)
        queries = tuple(self.queries[place] for place in used)
        return replace(
            self,
            queries=queries,
            query=query.astype(np.int64),
            values=self.values[rows],
            weight=None if self.weight is None else self.weight[rows],
        )


def ratings(
    raters: Mapping[str, Qrels],
    grades: Sequence[int],
    weights: Mapping[Pair, float] | None = None,
) -> Ratings:
    """The grades of several raters on every pair that at least one of them graded in the scale.

    With `weights` of a sample, the pairs of the sample alone, which stand for the pool.
    """
    place = {grade: index for index, grade in enumerate(grades)}
    rows: dict[tuple[str, str], list[int]] = {}
    for column, qrels in enumerate(raters.values()):
        for query_id, graded in qrels.items():
            for doc_id, grade in graded.items():
                if grade in place and (weights is None or (query_id, doc_id) in weights):
                    row = rows.setdefault((query_id, doc_id), [UNRATED] * len(raters))
                    row[column] = place[grade]
    queries = {query_id: None for query_id, _ in rows}
    index = {query_id: number for number, query_id in enumerate(queries)}
    return Ratings(
        tuple(raters),
        tuple(queries),
        tuple(grades),
        np.array([index[query_id] for query_id, _ in rows], dtype=np.int64),
        np.array(list(rows.values()), dtype=np.int64).reshape(-1, len(raters)),
        None if weights is None else np.array([weights[Pair(*pair)] for pair in rows]),
    )


def query_coincidences(found: Ratings) -> Floats:
    """One `(k, k)` coincidence matrix a query; a pair that one rater graded adds nothing."""
    k = len(found.grades)
    counts = np.stack([(found.values == grade).sum(axis=1) for grade in range(k)], axis=1)
    counts = counts.astype(np.float64)
    raters = counts.sum(axis=1)
    share = np.where(raters > 1, found.weights / np.maximum(raters - 1, 1), 0.0)
    within = counts[:, :, None] * counts[:, None, :]
    within[:, range(k), range(k)] -= counts
    matrices = np.zeros((len(found.queries), k, k))
    np.add.at(matrices, found.query, within * share[:, None, None])
    return matrices


def query_tables_of(found: Ratings, first: int, second: int) -> Floats:
    """One `(k, k)` contingency table a query of two of the raters, the first one's in rows."""
    k = len(found.grades)
    a, b = found.values[:, first], found.values[:, second]
    both = (a != UNRATED) & (b != UNRATED)
    cell = (found.query[both] * k + a[both]) * k + b[both]
    size = len(found.queries) * k * k
    counts = np.bincount(cell, weights=found.weights[both], minlength=size)
    return counts.astype(np.float64).reshape(len(found.queries), k, k)


JOINT = {
    "alpha-nominal": alphas.nominal,
    "alpha-ordinal": alphas.ordinal,
    "alpha-interval": alphas.interval,
    "fleiss": alphas.fleiss,
}
"""Statistics of any number of raters, from coincidences and grades."""
PAIRWISE = ("kappa", "kappa-quadratic")


@dataclass(frozen=True)
class Joint:
    """All raters together: statistics of them all, and two statistics of every two of them."""

    raters: tuple[str, ...]
    statistics: Mapping[str, Estimate]
    pairwise: Mapping[str, list[list[float | None]]]


def joint(found: Ratings, options: Options) -> Joint:
    """The statistics of any number of raters with intervals, ICC, and the pairwise matrices."""
    sample = Sample(query_coincidences(found), options.draws, options.seed)
    grades = np.array(found.grades, dtype=np.float64)
    statistics = {
        name: _estimate(sample, partial(compute, grades=grades), options.method)
        for name, compute in JOINT.items()
    }
    icc = icc_of_many(found)
    statistics["icc"] = Estimate(icc if np.isfinite(icc) else None, None, None, options.method)
    pairwise = {name: _matrix(found, find_statistic(name, found.grades)) for name in PAIRWISE}
    return Joint(found.raters, statistics, pairwise)


def _estimate(sample: Sample, compute: Callable[[Floats], Floats], method: str) -> Estimate:
    value = float(compute(sample.total))
    if not np.isfinite(value):
        return Estimate(None, None, None, method)
    low, high = between(method, sample, compute, bounded=True)
    return Estimate(value, low, high, method)


def _matrix(found: Ratings, chosen: Statistic) -> list[list[float | None]]:
    """The statistic of every two raters, each on the pairs that both graded."""
    grades = np.array(found.grades, dtype=np.float64)
    matrix = []
    for first in range(len(found.raters)):
        tables = [query_tables_of(found, first, b).sum(axis=0) for b in range(len(found.raters))]
        values = [float(chosen.compute(table, grades)) for table in tables]
        matrix.append([value if np.isfinite(value) else None for value in values])
    return matrix


def icc_of_many(found: Ratings) -> float:
    """ICC(A,1) of the pairs that all raters graded; McGraw and Wong (1996).

    `nan` for fewer than two pairs or without any variance.
    """
    whole = found.complete()
    x = np.asarray(found.grades, dtype=np.float64)[whole.values]
    n, k = x.shape
    if n < 2 or k < 2:
        return float("nan")
    w = (whole.weights * n / whole.weights.sum())[:, None]
    mean, by_rater = (w * x).sum() / (n * k), (w * x).sum(axis=0) / n
    own = x.mean(axis=1, keepdims=True)
    rows = float(k * (w * (own - mean) ** 2).sum() / (n - 1))
    columns = float(n * ((by_rater - mean) ** 2).sum() / (k - 1))
    error = float((w * (x - own - by_rater + mean) ** 2).sum() / ((n - 1) * (k - 1)))
    below = rows + (k - 1) * error + k / n * (columns - error)
    return float((rows - error) / below) if below > 0 else float("nan")
