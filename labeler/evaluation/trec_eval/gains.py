"""The measures of trec_eval that are sums of gains, with gains that the user may set.

They follow trec_eval 10 to the order of its additions; the names are its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.metrics.binary import ratio, relevant
from labeler.metrics.graded import discounts, powers
from labeler.metrics.rankings import Rankings, ordinals, sums

Worth = Mapping[int, float]
"""Gains of levels that differ from the level itself."""


@dataclass(frozen=True)
class Gained:
    """Gains of the retrieved documents, and of the ideal rankings in their order."""

    query: Integers
    rank: Integers
    gain: Floats
    ideal_query: Integers
    ideal_rank: Integers
    ideal_gain: Floats


def gained(r: Rankings, worth: Worth) -> Gained:
    """Gains are grades, unless `worth` says otherwise; documents without a gain are left out."""
    gain, ideal = _gains(r.grade, worth), _gains(r.pool_grade, worth)
    has_gain, good = gain != 0, ideal > 0
    query, value = r.pool_query[good], ideal[good]
    order = np.lexsort((-value, query))
    query, value = query[order], value[order]
    return Gained(
        r.query[has_gain], r.rank[has_gain], gain[has_gain], query, ordinals(query), value
    )


def _gains(grade: Integers, worth: Worth) -> Floats:
    gain = np.maximum(grade, 0).astype(np.float64)
    for level, value in worth.items():
        gain[grade == level] = value
    return gain


def dcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains of the rankings."""
    g = gained(r, worth)
    return sums(g.query, g.gain / discounts(g.rank), r.n)


def ideal_dcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains of the ideal rankings."""
    g = gained(r, worth)
    return sums(g.ideal_query, g.ideal_gain / discounts(g.ideal_rank), r.n)


def ndcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains over those of the ideal rankings."""
    return ratio(dcg(r, worth), ideal_dcg(r, worth))


def _by_query(r: Rankings, g: Gained) -> Iterator[tuple[int, slice, slice]]:
    """The number of each query, with its retrieved documents and its ideal ranking."""
    hits = np.searchsorted(g.query, np.arange(r.n + 1))
    best = np.searchsorted(g.ideal_query, np.arange(r.n + 1))
    for q in range(r.n):
        yield q, slice(hits[q], hits[q + 1]), slice(best[q], best[q + 1])


def ndcg_rel(r: Rankings, worth: Worth) -> Floats:
    """nDCG averaged over the ranks of the relevant documents."""
    g = gained(r, worth)
    terms, ideals = g.gain / discounts(g.rank), g.ideal_gain / discounts(g.ideal_rank)
    values_by_query = np.zeros(r.n)
    for q, hits, best in _by_query(r, g):
        ideal, dcg = np.cumsum(ideals[best]), np.cumsum(terms[hits])
        good = g.gain[hits] > 0
        if not len(ideal) or not good.any():
            continue
        at = np.minimum(g.rank[hits][good], len(ideal) - 1)
        total = float(np.cumsum(dcg[good] / ideal[at])[-1])
        total += float((len(ideal) - int(good.sum())) * dcg[-1] / ideal[-1])
        values_by_query[q] = total / len(ideal) if total > 0 else 0.0
    return values_by_query


def r_ndcg(r: Rankings, level: int, worth: Worth) -> Floats:
    """nDCG averaged over the ranks at which the ideal ranking's gain changes."""
    g = gained(r, worth)
    terms, ideals = g.gain / discounts(g.rank), g.ideal_gain / discounts(g.ideal_rank)
    values_by_query, relevants = np.zeros(r.n), r.in_pool(level)
    for q, hits, best in _by_query(r, g):
        if not relevants[q] or best.start == best.stop:
            continue
        ideal = np.cumsum(ideals[best])
        dcg = np.append(0.0, np.cumsum(terms[hits]))
        ends = np.append(np.flatnonzero(np.diff(g.ideal_gain[best])) + 1, len(ideal))
        values = list(dcg[np.searchsorted(g.rank[hits], ends)] / ideal[ends - 1])
        if r.retrieved[q] > len(ideal) + 1:
            values.append(dcg[-1] / ideal[-1])
        values_by_query[q] = float(np.cumsum(values)[-1]) / len(values)
    return values_by_query


def normalized_gain(r: Rankings, worth: Worth) -> Floats:
    """G: gains discounted by how much more could have been gained before."""
    g = gained(r, worth)
    values_by_query = np.zeros(r.n)
    for q, hits, best in _by_query(r, g):
        ideal = g.ideal_gain[best]
        if not len(ideal):
            continue
        cost = np.append(0.0, np.cumsum(np.maximum(ideal, 1.0)))
        rank = g.rank[hits] + 1
        spent = cost[np.minimum(rank, len(ideal))] + np.maximum(rank - len(ideal), 0)
        left = 2.0 + spent - np.cumsum(g.gain[hits])
        logs = [math.log2(value) for value in left.tolist()]
        values_by_query[q] = _added((g.gain[hits] / logs).tolist()) / _added(ideal.tolist())
    return values_by_query


def _added(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def binary_gain(r: Rankings, level: int) -> Floats:
    """binG: 1 / log2(2 + non-relevant documents above), averaged over the relevant ones."""
    good = relevant(r, level)
    above = r.rank[good] - ordinals(r.query[good])
    return ratio(r.total(good, 1.0 / discounts(above)), r.in_pool(level))


def rbp(r: Rankings, worth: Worth, p: float) -> Floats:
    """Rank-biased precision; gains are stretched to 0 … 1 by query where they lie outside.

    trec_eval 10 leaves the two ends uninitialised; its own expected output has them start at 0.
    """
    tops = np.zeros(r.n, dtype=np.int64)
    np.maximum.at(tops, r.pool_query, r.pool_grade)
    low = min(0.0, *worth.values(), 0.0)
    ends = {top: _highest(int(top), worth) for top in np.unique(tops)}
    high = np.array([ends[top] for top in tops])
    gain = _gains(r.grade, worth)
    outside = (high[r.query] > 1) | (low < 0)
    has_gain = (r.grade >= 0) | np.isin(r.grade, list(worth))
    stretched = np.where(has_gain, ratio(gain - low, high[r.query] - low), 0.0)
    gain = np.where(outside, stretched, gain)
    return (1.0 - p) * sums(r.query, gain * powers(p, r.rank), r.n)


def _highest(top: int, worth: Worth) -> float:
    """The highest gain of the levels from 0 to `top`, and of those named."""
    # of the levels that gain themselves only the topmost counts: no more are looked at than named
    topmost = islice((level for level in range(top, -1, -1) if level not in worth), 1)
    return max([*map(float, topmost), *worth.values()])
