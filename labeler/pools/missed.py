"""How many relevant documents a pool missed, from a random sample of what it left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.collection.layout import Collection, open_collection
from labeler.collection.pool import read_pool
from labeler.collection.whose import drawn_by_chance, routed_pairs
from labeler.data import Pooled, Qrels
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.report.table import Column, Table
from labeler.stats.student import LEVEL, chi_square_quantile
from labeler.trec.qrels import read_qrels

_TAIL = (1 - LEVEL) / 2
_CERTAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Missed:
    """The relevant documents that the runs found and the pool left out, estimated.

    `relevant` are those of the pool; `sampled` pairs were drawn beyond it, `judged` of them have a
    grade, and `hits` are relevant. `low` and `high` hold the number missed in 95 % of samples.
    """

    relevant: int
    sampled: int
    judged: int
    hits: int
    missed: float
    low: float
    high: float
    queries: int

    @property
    def completeness(self) -> tuple[float, float, float]:
        """The share of relevant documents that the pool has, and the ends of its interval."""
        low, middle, high = (_share(self.relevant, n) for n in (self.high, self.missed, self.low))
        return middle, low, high

    def as_json(self) -> dict[str, Any]:
        """The counts, the estimate and its interval, and the share that the pool has."""
        share, low, high = self.completeness
        return {
            "relevant_in_pool": self.relevant,
            "sampled": self.sampled,
            "judged": self.judged,
            "relevant_in_sample": self.hits,
            "missed": self.missed,
            "missed_low": self.low,
            "missed_high": self.high,
            "share_in_pool": share,
            "share_in_pool_low": low,
            "share_in_pool_high": high,
            "queries": self.queries,
        }

    def __str__(self) -> str:
        share, low, high = self.completeness
        drawn = f"{self.hits:,} of {count_of(self.judged, 'pair', 'pairs')} sampled beyond the pool"
        some = f"{_rounded(self.low)} to {_rounded(self.high)}"
        return (
            f"{drawn} {'is' if self.hits == 1 else 'are'} relevant: the pool has"
            f" {self.relevant:,} relevant documents and missed about {_rounded(self.missed)}"
            f" ({some}), so it has {share:.0%} of them ({low:.0%} to {high:.0%})"
        )

    def tables(self) -> list[Table]:
        """The estimate as one row."""
        figures = self.as_json()
        columns = [Column(name, format=",.4g") for name in figures]
        return [Table("missed", columns, [tuple(figures.values())])]


def _share(relevant: float, missed: float) -> float:
    return relevant / (relevant + missed) if relevant + missed else math.nan


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:,.1f}"


def missed(collection: Collection | Path | str, qrels: str, rel: int = 1) -> Missed:
    """Estimate how many relevant documents the pool missed, by a set of the collection's qrels.

    The estimate is Horvitz and Thompson's: each relevant document of the sample stands for one over
    the probability with which it was drawn. It is of these queries, and of what their runs found:
    of documents that no run found it says nothing. `status` and `evaluate` show it again
    while pool, runs and qrels stay as they are.

    >>> from labeler.judging.judge import judge
    >>> from labeler.pools.pool import PoolSize
    >>> from labeler.pools.pool import pool
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> collection.pool.unlink()
    >>> _ = pool(collection, depth=1, size=PoolSize(beyond=2))
    >>> _ = judge(collection, model=fake_model('{"grade": 1}'), name="llm")
    >>> missed(collection, "llm").relevant
    2
    """
    opened = open_collection(collection)
    path = opened.existing_qrels(qrels)
    grades = drawn_by_chance(read_qrels(path), routed_pairs(opened, qrels), path)
    pool = read_pool(opened.pool)
    if not any(entry.inclusion is not None for entry in pool):
        problem = "the pool has no random sample beyond it; pool with one, and judge it"
        raise Misuse(problem, parameter="beyond")
    return estimate_missed(pool, grades, rel)


def estimate_missed(pool: Sequence[Pooled], grades: Qrels, rel: int = 1) -> Missed:
    """The estimate from a pool with sampled pairs, and grades; `Misuse` where none is judged."""
    sampled = [entry for entry in pool if entry.inclusion is not None]
    judged = [entry for entry in sampled if _grade(grades, entry) is not None]
    if not judged:
        raise Misuse("none of the pairs sampled beyond the pool is judged; judge them first")
    weights = np.array([1 / (entry.inclusion or 1) for entry in judged])
    everything = sum(1 / (entry.inclusion or 1) for entry in sampled)
    weights *= everything / weights.sum()  # for sampled pairs without a grade
    is_hit = np.array([(_grade(grades, entry) or 0) >= rel for entry in judged])
    certain = [entry for entry in pool if entry.inclusion is None]
    relevant = sum((_grade(grades, entry) or 0) >= rel for entry in certain)
    low, high = weighted_count_interval(weights, is_hit)
    return Missed(
        relevant,
        len(sampled),
        len(judged),
        int(is_hit.sum()),
        float(weights[is_hit].sum()),
        low,
        high,
        len({entry.pair.query_id for entry in pool}),
    )


def _grade(grades: Mapping[str, Mapping[str, int]], entry: Pooled) -> int | None:
    return grades.get(entry.pair.query_id, {}).get(entry.pair.doc_id)


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
    relevant = weights[is_hit]
    total, variance, largest = (
        float(relevant.sum()),
        float((relevant**2).sum()),
        float(weights.max()),
    )
    low = 0.0
    if total:
        low = variance / (2 * total) * chi_square_quantile(_TAIL, 2 * total**2 / variance)
    more, spread = total + largest, variance + largest**2
    high = spread / (2 * more) * chi_square_quantile(1 - _TAIL, 2 * more**2 / spread)
    most = float(weights.sum()) - float((~is_hit).sum())
    return sure + max(low, float(is_hit.sum())), sure + max(min(high, most), total)
