"""Measures of relevant or not: sets, cutoffs, first hits, precision and recall."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.metrics.rankings import Rankings, firsts, ordinals, sums
from labeler.metrics.registry import measure

SETS = "set and cutoff"
RANKS = "rank"
INFAP_EPSILON = 0.00001


def ratio(above: Floats | Integers, below: Floats | Integers | float) -> Floats:
    """`above / below`, and 0 where `below` is 0, as trec_eval has it."""
    below = np.broadcast_to(np.asarray(below, dtype=np.float64), np.shape(above))
    zeros = np.zeros(np.shape(above))
    return np.divide(above, below, out=zeros, where=below != 0)


def relevant(r: Rankings, rel: int, cutoff: float | None = None) -> Flags:
    """Which retrieved documents are relevant, and above the cutoff where there is one."""
    is_relevant: Flags = r.grade >= rel
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


def first_relevant(r: Rankings, rel: int, cutoff: int | None = None) -> Floats:
    """The rank, from 1, of the first relevant document; `nan` where there is none."""
    hits = relevant(r, rel, cutoff)
    query, rank = r.query[hits], r.rank[hits]
    ranks = np.full(r.n, np.nan)
    first = firsts(query)
    ranks[query[first]] = rank[first] + 1
    return ranks


@measure("RR", RANKS)
def reciprocal_rank(r: Rankings, cutoff: int | None = None, rel: int = 1) -> Floats:
    """1 / rank of the first relevant document (MRR); 0 where there is none."""
    return np.nan_to_num(1.0 / first_relevant(r, rel, cutoff))


@measure("MeanRank", RANKS)
def mean_rank(r: Rankings, rel: int = 1) -> Floats:
    """Rank of the first relevant document; undefined where none was retrieved."""
    return first_relevant(r, rel)


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


def _so_far(query: Integers, counted: Flags) -> Integers:
    """At each entry: how many `counted` ones its query has up to it, itself included."""
    running = np.cumsum(counted)
    first = firsts(query)
    before: Integers = (running - counted)[first]
    sizes = np.diff(np.append(first, len(query)))
    return running - np.repeat(before, sizes)


@measure("Bpref", RANKS)
def bpref(r: Rankings, rel: int = 1) -> Floats:
    """How often judged non-relevant documents stand above relevant ones; unjudged are skipped.

    After Buckley and Voorhees (SIGIR 2004), as trec_eval computes it.
    """
    judged = r.grade >= 0
    query, good = r.query[judged], r.grade[judged] >= rel
    wrong = _so_far(query, ~good)[good]
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
    above = _so_far(r.query, good)[good] - 1
    wrong = _so_far(r.query, (r.grade >= 0) & ~good)[good]
    unjudged = _so_far(r.query, r.grade < 0)[good]
    inside = ratio(above + wrong + unjudged, rank)
    likely = (above + INFAP_EPSILON) / (above + wrong + 2 * INFAP_EPSILON)
    terms = 1.0 / (rank + 1.0) + (rank / (rank + 1.0)) * inside * likely
    return ratio(r.total(good, terms), r.in_pool(rel))


# Measures of what was judged at all, and the ROC curve over what was.

HOLES = "holes"
CURVE = "curve"


@measure("Judged", HOLES)
def judged(r: Rankings, cutoff: int | None = None) -> Floats:
    """The share of the first k documents that are judged; undefined where none was retrieved."""
    ranks_seen = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    judged_documents = r.count((r.grade >= 0) & (r.rank < ranks_seen[r.query]))
    return np.where(ranks_seen > 0, ratio(judged_documents, ranks_seen), np.nan)


@measure("AUC", CURVE)
def area_under_curve(r: Rankings, rel: int = 1) -> Floats:
    """Area under the ROC curve over a query's judged documents, tied scores half.

    Judged documents that were not retrieved stand below all others, tied. Undefined where the
    judged documents are all relevant or all not.
    """
    positives, negatives = r.in_pool(rel), r.in_pool(0, rel)
    is_judged = r.grade >= 0
    query, good = r.query[is_judged], r.grade[is_judged] >= rel
    group = _groups(query, r.score[is_judged])
    goods = sums(group, good.astype(np.float64), 0)
    bads = sums(group, (~good).astype(np.float64), 0)
    of_group = query[np.flatnonzero(np.diff(group, prepend=-1))]
    below = _after(of_group, bads, r.n)
    won = sums(of_group, goods * (below + bads / 2), r.n)
    lost = negatives - np.bincount(query, ~good, minlength=r.n)
    unseen = positives - np.bincount(query, good, minlength=r.n)
    seen_goods = np.bincount(query, good, minlength=r.n)
    area = won + seen_goods * lost + unseen * lost / 2
    pairs = positives * negatives
    return np.where(pairs > 0, ratio(area, pairs), np.nan)


def _groups(query: Integers, score: Floats) -> Integers:
    """Numbers the groups of one query and one score, in order."""
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(score, prepend=np.nan) != 0)
    return np.cumsum(new) - 1


def _after(query: Integers, counts: Floats, n: int) -> Floats:
    """The sum of the counts that come after each entry within its query."""
    totals = np.cumsum(sums(query, counts, n))
    return totals[query] - np.cumsum(counts)
