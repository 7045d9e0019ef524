"""Measures of graded relevance: gains, discounts, cascades."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.metrics.binary import ratio, relevant
from labeler.metrics.rankings import Rankings, ordinals, sums
from labeler.metrics.registry import measure

GRADED = "graded"
EXPONENTIAL = "exp-log2"
LARGEST_EXPONENT = 1000


def gains(grade: Integers, dcg: str) -> Floats:
    """What a grade is worth: the grade, or 2 ** grade - 1; nothing below 1."""
    positive = np.maximum(grade, 0)
    if dcg != EXPONENTIAL:
        return positive.astype(np.float64)
    if np.max(positive, initial=0) > LARGEST_EXPONENT:
        problem = f"2 ** {positive.max()} - 1 is no number to add up"
        raise BadInput(f"exponential gains need small grades: {problem}; map them to smaller ones")
    return np.exp2(positive.astype(np.float64)) - 1.0


def discounts(rank: Integers) -> Floats:
    """log2(rank + 2) for ranks from 0, from the C library, so that they are trec_eval's."""
    present = np.flatnonzero(np.bincount(rank))
    table = np.zeros(int(np.max(rank, initial=0)) + 1)
    table[present] = [math.log2(present_rank + 2) for present_rank in present.tolist()]
    return table[rank]


def dcg_sums(r: Rankings, cutoff: int | None, dcg: str) -> tuple[Floats, Floats]:
    """Discounted gains of the rankings and of the ideal ones."""
    hits = relevant(r, 1, cutoff)
    gained = r.total(hits, gains(r.grade[hits], dcg) / discounts(r.rank[hits]))
    best = r.pool_grade > 0
    if cutoff is not None:
        best &= r.ideal_rank < cutoff
    terms = gains(r.pool_grade[best], dcg) / discounts(r.ideal_rank[best])
    return gained, sums(r.pool_query[best], terms, r.n)


@measure("nDCG", GRADED)
def ndcg(r: Rankings, cutoff: int | None = None, dcg: str = "log2") -> Floats:
    """Discounted cumulative gain over that of the ideal ranking; gain is the grade.

    `dcg='exp-log2'` (or `gain=exp`) gains 2 ** grade - 1. After Jarvelin and Kekalainen (2002),
    ACM TOIS 20(4); the discount is log2(rank + 1).
    """
    return ratio(*dcg_sums(r, cutoff, dcg))


@measure("DCG", GRADED)
def discounted_gain(r: Rankings, cutoff: int | None = None, dcg: str = "log2") -> Floats:
    """Discounted cumulative gain, not normalized."""
    return dcg_sums(r, cutoff, dcg)[0]


@measure("CG", GRADED)
def cumulative_gain(r: Rankings, cutoff: int | None = None, dcg: str = "log2") -> Floats:
    """The sum of the gains, neither discounted nor normalized."""
    hits = relevant(r, 1, cutoff)
    return r.total(hits, gains(r.grade[hits], dcg))


def expected_reciprocal_ranks(query: Integers, rank: Integers, stop: Floats, n: int) -> Floats:
    """ERR of rankings whose users stop at an entry with probability `stop`.

    Entries are sorted by query and rank (from 0); entries with probability 0 may be left out.
    """
    nth = ordinals(query)
    total, going = np.zeros(n), np.ones(n)
    order = np.argsort(nth, kind="stable")
    borders = np.searchsorted(nth[order], np.arange(np.max(nth, initial=-1) + 2))
    for start, end in pairwise(borders):
        step = order[start:end]
        at = query[step]
        total[at] += going[at] * stop[step] / (rank[step] + 1)
        going[at] *= 1.0 - stop[step]
    return total


def _stop(r: Rankings, grade: Integers) -> Floats:
    """The probability that a document of this grade satisfies: (2 ** g - 1) / 2 ** top."""
    _check_scale(r, grade, "ERR")
    return gains(grade, EXPONENTIAL) / math.pow(2.0, min(r.max_grade, LARGEST_EXPONENT))


def _check_scale(r: Rankings, grade: Integers, name: str) -> None:
    if np.max(grade, initial=0) > r.max_grade:
        raise BadInput(
            f"{name}: the grade {grade.max()} is above the top grade {r.max_grade}; raise that",
            parameter="max_grade",
        )


@measure("ERR", GRADED)
def err(r: Rankings, cutoff: int | None = None) -> Floats:
    """Expected reciprocal rank at which a user is satisfied.

    Needs the scale's top grade. After Chapelle, Metzler, Zhang and Grinspan (CIKM 2009).
    """
    hits = relevant(r, 1, cutoff)
    stop = _stop(r, r.grade[hits])
    return expected_reciprocal_ranks(r.query[hits], r.rank[hits], stop, r.n)


@measure("nERR", GRADED)
def normalized_err(r: Rankings, cutoff: int | None = None) -> Floats:
    """ERR over that of the ideal ranking."""
    best = r.pool_grade > 0
    if cutoff is not None:
        best &= r.ideal_rank < cutoff
    stop = _stop(r, r.pool_grade[best])
    ideal = expected_reciprocal_ranks(r.pool_query[best], r.ideal_rank[best], stop, r.n)
    return ratio(err(r, cutoff), ideal)


@measure("RBP", GRADED)
def rank_biased_precision(
    r: Rankings, cutoff: int | None = None, p: float = 0.8, rel: int | None = None
) -> Floats:
    """Rank-biased precision with persistence p: gain is grade / top grade, or binary with `rel`.

    After Moffat and Zobel (2008), ACM TOIS 27(1).
    """
    hits = relevant(r, 1 if rel is None else rel, cutoff)
    if rel is None:
        _check_scale(r, r.grade[hits], "RBP")
    gain = np.ones(int(hits.sum())) if rel is not None else r.grade[hits] / r.max_grade
    return (1.0 - p) * r.total(hits, gain * powers(p, r.rank[hits]))


@measure("RBPresidual", GRADED)
def rank_biased_residual(r: Rankings, cutoff: int | None = None, p: float = 0.8) -> Floats:
    """How much RBP could rise were all unjudged documents of top grade, those below too."""
    ranks_seen = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    judged = (r.grade >= 0) & (r.rank < ranks_seen[r.query])
    return 1.0 - (1.0 - p) * r.total(judged, powers(p, r.rank[judged]))


def powers(p: float, rank: Integers) -> Floats:
    """p ** rank, multiplied up one by one as trec_eval does."""
    table = np.multiply.accumulate(np.append(1.0, np.full(int(np.max(rank, initial=0)), p)))
    return table[rank]


@measure("Q-measure", GRADED)
def q_measure(r: Rankings, cutoff: int | None = None, beta: float = 1.0) -> Floats:
    """AP with graded credit, (relevant + beta gain) / (rank + beta ideal gain).

    With a cutoff, divided by the number of relevant documents that fit above it. After Sakai
    (2004), NTCIR-4.
    """
    hits = relevant(r, 1, cutoff)
    query, rank = r.query[hits], r.rank[hits]
    gained = _running(query, gains(r.grade[hits], "log2"))
    blended = (ordinals(query) + 1 + beta * gained) / (
        rank + 1 + beta * _ideal_gain(r, query, rank)
    )
    relevants = r.in_pool(1)
    return ratio(
        r.total(hits, blended), relevants if cutoff is None else np.minimum(relevants, cutoff)
    )


def _running(query: Integers, values: Floats) -> Floats:
    """Sums of whole numbers up to and including each entry, within its query."""
    running = np.cumsum(values)
    before = np.zeros(int(np.max(query, initial=-1)) + 1)
    first = ordinals(query) == 0
    before[query[first]] = (running - values)[first]
    return running - before[query]


def _ideal_gain(r: Rankings, query: Integers, rank: Integers) -> Floats:
    """The gain that the ideal ranking of `query` has at `rank`, from 0."""
    best = r.pool_grade > 0
    pool_query = r.pool_query[best]
    ideal = _running(pool_query, gains(r.pool_grade[best], "log2"))
    sizes = np.bincount(pool_query, minlength=r.n)
    starts = np.cumsum(sizes) - sizes
    gain: Floats = ideal[starts[query] + np.minimum(rank, sizes[query] - 1)]
    return gain
