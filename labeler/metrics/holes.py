"""Measures of what was judged at all, and the ROC curve over what was."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import Misuse
from labeler.metrics.binary import ratio
from labeler.metrics.rankings import Rankings, sums
from labeler.metrics.registry import measure

HOLES = "holes"
CURVE = "curve"
PEOPLE = "people"


@measure("Judged", HOLES)
def judged(r: Rankings, cutoff: int | None = None) -> Floats:
    """The share of the first k documents that are judged; undefined where none was retrieved."""
    ranks_seen = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    judged_documents = r.count((r.grade >= 0) & (r.rank < ranks_seen[r.query]))
    return np.where(ranks_seen > 0, ratio(judged_documents, ranks_seen), np.nan)


@measure("LGTM", PEOPLE, summary="share")
def looks_good(r: Rankings, cutoff: int) -> Floats:
    """Share of the queries looked at whose first k documents a person passed."""
    if r.passed is None:
        problem = "needs a person's verdicts: a query and yes or no a line"
        raise Misuse(f"LGTM@{cutoff} {problem}", parameter="verdicts")
    return r.passed


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
