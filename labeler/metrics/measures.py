"""The measures: each a function of `Rankings`, its cutoff and its parameters."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.errors import BadInput
from labeler.metrics.rankings import Rankings, firsts, ordinals, sums
from labeler.metrics.registry import measure

SETS = "set and cutoff"
RANKS = "rank"
INFAP_EPSILON = 0.00001


def ratio(above: Floats | Integers, below: Floats | Integers | float) -> Floats:
    """`above / below`, and 0 where `below` is 0, as trec_eval has it."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.not_equal(below, 0))


def relevant(r: Rankings, rel: int, cutoff: float | None = None) -> Flags:
    """Which retrieved documents are relevant, and above the cutoff where there is one."""
    is_relevant = r.grade >= rel
    return is_relevant if cutoff is None else is_relevant & (r.rank < cutoff)


@measure("P", SETS)
def precision(r: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Precision: the share of the first k places that hold a relevant document."""
    return r.count(relevant(r, rel, cutoff)) / cutoff


@measure("R", SETS)
def recall(r: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Recall: the share of the relevant documents that stand among the first k."""
    return ratio(r.count(relevant(r, rel, cutoff)), r.in_pool(rel))


@measure("F1", SETS)
def f1(r: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Harmonic mean of precision and recall at k."""
    return weighted_harmonic(precision(r, cutoff, rel), recall(r, cutoff, rel), 1.0)


@measure("Success", SETS, summary="share")
def success(r: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Hit ratio: 1 where a relevant document stands among the first k, else 0."""
    return (r.count(relevant(r, rel, cutoff)) > 0).astype(np.float64)


@measure("SetP", SETS)
def set_precision(r: Rankings, rel: int = 1) -> Floats:
    """The share of the retrieved documents that are relevant."""
    return ratio(r.count(relevant(r, rel)), r.retrieved)


@measure("SetR", SETS)
def set_recall(r: Rankings, rel: int = 1) -> Floats:
    """The share of the relevant documents that were retrieved."""
    return ratio(r.count(relevant(r, rel)), r.in_pool(rel))


@measure("SetF", SETS)
def set_f(r: Rankings, rel: int = 1, beta: float = 1.0) -> Floats:
    """Weighted harmonic mean of set precision and set recall, trec_eval's formula.

    `beta` weighs recall as it stands, not squared: (beta + 1) P R / (beta P + R).
    """
    return weighted_harmonic(set_precision(r, rel), set_recall(r, rel), beta)


def weighted_harmonic(p: Floats, r: Floats, beta: float) -> Floats:
    """`(beta + 1) p r / (beta p + r)`, 0 where both are."""
    return ratio((beta + 1.0) * p * r, beta * p + r)


@measure("Rprec", SETS)
def r_precision(r: Rankings, rel: int = 1) -> Floats:
    """Precision after as many documents as there are relevant ones."""
    relevants = r.in_pool(rel)
    return ratio(r.count(relevant(r, rel) & (r.rank < relevants[r.query])), relevants)


@measure("NumRet", SETS, summary="sum")
def num_ret(r: Rankings) -> Floats:
    """How many documents were retrieved; summed over queries."""
    return r.retrieved.astype(np.float64)


@measure("NumRel", SETS, summary="sum")
def num_rel(r: Rankings, rel: int = 1) -> Floats:
    """How many relevant documents there are; summed over queries."""
    return r.in_pool(rel).astype(np.float64)


@measure("NumRelRet", SETS, summary="sum")
def num_rel_ret(r: Rankings, rel: int = 1) -> Floats:
    """How many relevant documents were retrieved; summed over queries."""
    return r.count(relevant(r, rel)).astype(np.float64)


@measure("NumQ", SETS, summary="sum")
def num_q(r: Rankings) -> Floats:
    """How many queries there are."""
    return np.ones(r.n)


@measure("RR", RANKS)
def reciprocal_rank(r: Rankings, cutoff: int | None = None, rel: int = 1) -> Floats:
    """1 / rank of the first relevant document (MRR); 0 where there is none."""
    hits, values = relevant(r, rel, cutoff), np.zeros(r.n)
    # from the last to the first: what is written last stays
    values[r.query[hits][::-1]] = 1.0 / (r.rank[hits][::-1] + 1)
    return values


def precisions(r: Rankings, rel: int, cutoff: int | None = None) -> tuple[Flags, Floats]:
    """The relevant documents, and precision at the rank of each."""
    hits = relevant(r, rel, cutoff)
    return hits, (ordinals(r.query[hits]) + 1) / (r.rank[hits] + 1)


@measure("AP", RANKS)
def average_precision(r: Rankings, cutoff: int | None = None, rel: int = 1) -> Floats:
    """Mean over all relevant documents of the precision at their ranks (MAP)."""
    return ratio(r.total(*precisions(r, rel, cutoff)), r.in_pool(rel))


@measure("GMAP", RANKS, summary="geometric")
def geometric_average_precision(r: Rankings, rel: int = 1) -> Floats:
    """AP whose mean over queries is geometric; AP below .00001 counts as .00001."""
    return average_precision(r, None, rel)


@measure("IPrec", RANKS)
def interpolated_precision(r: Rankings, cutoff: float, rel: int = 1) -> Floats:
    """The highest precision at or after the rank that reaches recall k.

    The number of relevant documents to reach is rounded to the nearest, as trec_eval 10 does;
    trec_eval 9 added .9 and cut.
    """
    hits, values = precisions(r, rel)
    query = r.query[hits]
    needed = np.maximum(np.floor(cutoff * r.in_pool(rel) + 0.5), 1)
    reaches = ordinals(query) + 1 >= needed[query]
    query, values = query[reaches], values[reaches]
    highest = np.zeros(r.n)
    first = firsts(query)
    if len(first):
        highest[query[first]] = np.maximum.reduceat(values, first)
    return highest


def running(query: Integers, values: NDArray[Any]) -> NDArray[Any]:
    """Sums of whole numbers up to and including each entry, within its query."""
    added = np.cumsum(values)
    first = firsts(query)
    before = (added - values)[first]
    so_far: NDArray[Any] = added - np.repeat(before, np.diff(np.append(first, len(query))))
    return so_far


@measure("Bpref", RANKS)
def bpref(r: Rankings, rel: int = 1) -> Floats:
    """How often judged non-relevant documents stand above relevant ones; unjudged are skipped.

    After Buckley and Voorhees (SIGIR 2004), as trec_eval computes it.
    """
    judged = r.grade >= 0
    query, good = r.query[judged], r.grade[judged] >= rel
    wrong = running(query, ~good)[good]
    relevants, nonrelevants = r.in_pool(rel), r.in_pool(0, rel)
    at = query[good]
    worst = np.minimum(nonrelevants, relevants)[at]
    lost = ratio(np.minimum(wrong, relevants[at]), worst)
    return ratio(r.total(relevant(r, rel), 1.0 - lost), relevants)


@measure("infAP", RANKS)
def inferred_average_precision(r: Rankings, rel: int = 1) -> Floats:
    """AP inferred from a sample of the pool: negative grades are pooled but unjudged.

    After Yilmaz and Aslam (CIKM 2006), as trec_eval computes it.
    """
    good = r.grade >= rel
    rank = r.rank[good].astype(np.float64)
    above = running(r.query, good)[good] - 1
    wrong = running(r.query, (r.grade >= 0) & ~good)[good]
    inside = ratio(above + wrong + running(r.query, r.grade < 0)[good], rank)
    likely = (above + INFAP_EPSILON) / (above + wrong + 2 * INFAP_EPSILON)
    terms = 1.0 / (rank + 1.0) + (rank / (rank + 1.0)) * inside * likely
    return ratio(r.total(good, terms), r.in_pool(rel))


# Measures of what was judged at all.

HOLES = "holes"


@measure("Judged", HOLES)
def judged(r: Rankings, cutoff: int | None = None) -> Floats:
    """The share of the first k documents that are judged; undefined where none was retrieved."""
    ranks_seen = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    judged_documents = r.count((r.grade >= 0) & (r.rank < ranks_seen[r.query]))
    return np.where(ranks_seen > 0, ratio(judged_documents, ranks_seen), np.nan)


# Measures of graded relevance: gains, discounts, cascades.

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


def ideal(r: Rankings, cutoff: int | None) -> Flags:
    """Which documents of the pool gain something in the ideal rankings, above the cutoff."""
    best = r.pool_grade > 0
    return best if cutoff is None else best & (r.ideal_rank < cutoff)


def dcg_sums(r: Rankings, cutoff: int | None, dcg: str) -> tuple[Floats, Floats]:
    """Discounted gains of the rankings and of the ideal ones."""
    hits = relevant(r, 1, cutoff)
    gained = r.total(hits, gains(r.grade[hits], dcg) / discounts(r.rank[hits]))
    best = ideal(r, cutoff)
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


def expected_reciprocal_ranks(query: Integers, rank: Integers, stop: Floats, n: int) -> Floats:
    """ERR of rankings whose users stop at an entry with probability `stop`.

    Entries are sorted by query and rank (from 0); entries with probability 0 may be left out.
    """
    nth = ordinals(query)
    total, going = np.zeros(n), np.ones(n)
    order = np.argsort(nth, kind="stable")
    for start, end in pairwise(np.searchsorted(nth[order], np.arange(np.max(nth, initial=-1) + 2))):
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
    return expected_reciprocal_ranks(r.query[hits], r.rank[hits], _stop(r, r.grade[hits]), r.n)


@measure("nERR", GRADED)
def normalized_err(r: Rankings, cutoff: int | None = None) -> Floats:
    """ERR over that of the ideal ranking."""
    best = ideal(r, cutoff)
    stop = _stop(r, r.pool_grade[best])
    most = expected_reciprocal_ranks(r.pool_query[best], r.ideal_rank[best], stop, r.n)
    return ratio(err(r, cutoff), most)


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


def powers(p: float, rank: Integers) -> Floats:
    """p ** rank, multiplied up one by one as trec_eval does."""
    return np.multiply.accumulate(np.append(1.0, np.full(int(np.max(rank, initial=0)), p)))[rank]


@measure("Q-measure", GRADED)
def q_measure(r: Rankings, cutoff: int | None = None, beta: float = 1.0) -> Floats:
    """AP with graded credit, (relevant + beta gain) / (rank + beta ideal gain).

    With a cutoff, divided by the number of relevant documents that fit above it. After Sakai
    (2004), NTCIR-4.
    """
    hits = relevant(r, 1, cutoff)
    query, rank = r.query[hits], r.rank[hits]
    gained = running(query, gains(r.grade[hits], "log2"))
    blended = (ordinals(query) + 1 + beta * gained) / (
        rank + 1 + beta * _ideal_gain(r, query, rank)
    )
    relevants = r.in_pool(1)
    return ratio(
        r.total(hits, blended), relevants if cutoff is None else np.minimum(relevants, cutoff)
    )


def _ideal_gain(r: Rankings, query: Integers, rank: Integers) -> Floats:
    """The gain that the ideal ranking of `query` has at `rank`, from 0."""
    best = r.pool_grade > 0
    pool_query = r.pool_query[best]
    ideal = running(pool_query, gains(r.pool_grade[best], "log2"))
    sizes = np.bincount(pool_query, minlength=r.n)
    starts = np.cumsum(sizes) - sizes
    gain: Floats = ideal[starts[query] + np.minimum(rank, sizes[query] - 1)]
    return gain
