"""How many relevant documents a pool missed, from a random sample of what it left out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.pool import Pool, read_pool
from labeler.collection.whose import drawn_by_chance, routed_pairs
from labeler.data import Pooled, Qrels
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.report.result import Result, figure_names
from labeler.report.table import Column, Interval, Table, interval_text, shown
from labeler.stats.student import LEVEL, chi_square_quantile
from labeler.trec.files import read_qrels

_TAIL = (1 - LEVEL) / 2
_CERTAIN = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Missed(Result):
    """The relevant documents that the runs found and the pool left out, estimated.

    `sampled` pairs were drawn beyond the pool, `judged` of them have a grade. From `missed_low` to
    `missed_high` reaches the interval, which holds the number missed in 95 % of samples.
    """

    relevant_in_pool: int
    sampled: int
    judged: int
    relevant_in_sample: int
    missed: float
    missed_low: float
    missed_high: float
    queries: int

    @shown
    def share_in_pool(self) -> float:
        """The share of relevant documents that the pool has."""
        return self._share(self.missed)

    @shown
    def share_in_pool_low(self) -> float:
        """The lower end of its interval."""
        return self._share(self.missed_high)

    @shown
    def share_in_pool_high(self) -> float:
        """The upper end of its interval."""
        return self._share(self.missed_low)

    def _share(self, missed: float) -> float:
        relevant = self.relevant_in_pool
        return relevant / (relevant + missed) if relevant + missed else math.nan

    @property
    def sentences(self) -> list[str]:
        """The estimate in words."""
        drawn = count_of(self.judged, "pair")
        hits = f"{self.relevant_in_sample:,} of {drawn} sampled beyond the pool are relevant"
        missed = interval_text(Interval(self.missed, self.missed_low, self.missed_high), ",.1f")
        ends = (self.share_in_pool, self.share_in_pool_low, self.share_in_pool_high)
        return [
            f"{hits}: the pool has {self.relevant_in_pool:,} relevant documents and missed about "
            f"{missed}, so it has {interval_text(Interval(*ends), '.0%')} of them"
        ]

    def tables(self) -> list[Table]:
        """The estimate as one row."""
        columns = [Column(name, format=",.4g") for name in figure_names(type(self))]
        return [Table("missed", columns, [[getattr(self, each.name) for each in columns]])]


def missed(collection: AnyCollection, qrels: str, rel: int = 1) -> Missed:
    """Estimate how many relevant documents the pool missed, by a set of the collection's qrels.

    The estimate is Horvitz and Thompson's: each relevant document of the sample stands for one over
    the probability with which it was drawn. It is of these queries, and of what their runs found:
    of documents that no run found it says nothing.

    >>> from labeler.judging.judge import judge
    >>> from labeler.pools.pool import PoolSize
    >>> from labeler.pools.pool import pool
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> collection.pool.unlink()
    >>> _ = pool(collection, depth=1, size=PoolSize(beyond=2))
    >>> _ = judge(collection, model=fake_model('{"grade": 1}'), name="llm")
    >>> missed(collection, "llm").relevant_in_pool
    2
    """
    opened = open_collection(collection)
    path = opened.existing_qrels(qrels)
    grades = drawn_by_chance(read_qrels(path), routed_pairs(opened, qrels), path)
    pool = read_pool(opened.pool)
    if not pool.is_sampled.any():
        problem = "the pool has no random sample beyond it; pool with one, and judge it"
        raise Misuse(problem, parameter="beyond")
    return estimate_missed(pool, grades, rel)


def estimate_missed(entries: Iterable[Pooled], grades: Qrels, rel: int = 1) -> Missed:
    """The estimate from a pool with sampled pairs, and grades; `Misuse` where none is judged."""
    pool = Pool.of(entries)
    sampled = list(pool.keep(pool.is_sampled))
    judged = [entry for entry in sampled if entry.pair.grade_in(grades) is not None]
    if not judged:
        raise Misuse("none of the pairs sampled beyond the pool is judged; judge them first")
    weights = np.array([1 / (entry.inclusion or 1) for entry in judged])
    everything = sum(1 / (entry.inclusion or 1) for entry in sampled)
    weights *= everything / weights.sum()  # for sampled pairs without a grade
    is_hit = np.array([(entry.pair.grade_in(grades) or 0) >= rel for entry in judged])
    certain = pool.keep(~pool.is_sampled).pairs
    relevant = sum((pair.grade_in(grades) or 0) >= rel for pair in certain)
    low, high = weighted_count_interval(weights, is_hit)
    return Missed(
        relevant,
        len(sampled),
        len(judged),
        int(is_hit.sum()),
        float(weights[is_hit].sum()),
        low,
        high,
        len(np.unique(pool.pairs.query)),
    )


def weighted_count_interval(weights: Floats, is_hit: Any) -> tuple[float, float]:
    """An interval of a total from a sample, where hits are rare and stand for `weights` each.

    Fay and Feuer (1997), Statistics in Medicine 16: hits are taken for Poisson counts, and the sum
    of their weights for a scaled gamma variable. The high end allows for one hit more, of the
    largest weight; so it is above 0 where none was found. The ends lie within the fewest and the
    most that the sample leaves possible.
    """
    certain = weights <= 1 + _CERTAIN
    sure = float((is_hit & certain).sum())
    if certain.all():
        return sure, sure
    weights, is_hit = weights[~certain], is_hit[~certain]
    relevant, largest = weights[is_hit], float(weights.max())
    total, variance = float(relevant.sum()), float((relevant**2).sum())
    low = 0.0
    if total:
        low = variance / (2 * total) * chi_square_quantile(_TAIL, 2 * total**2 / variance)
    more, spread = total + largest, variance + largest**2
    high = spread / (2 * more) * chi_square_quantile(1 - _TAIL, 2 * more**2 / spread)
    most = float(weights.sum()) - float((~is_hit).sum())
    return sure + max(low, float(is_hit.sum())), sure + max(min(high, most), total)
