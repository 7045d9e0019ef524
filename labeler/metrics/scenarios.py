"""What unjudged documents could do to a score: two scenarios, and bounds where they are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labeler.metrics.rankings import Floats, Integers, Rankings
from labeler.metrics.registry import Measure
from labeler.metrics.scores import summed_up

RISING = frozenset({"P", "Success", "RR", "RBP", "DCG", "CG", "ERR", "SetP", "NumRelRet"})
"""Measures that never fall when an unjudged document turns out better: no ideal moves with it.

For ERR: a document at rank i that stops the user with probability s adds s / i and takes at most
s times what came after, which is less than 1 / i.
"""

SEE_HOLES = frozenset({"Bpref", "infAP", "AUC", "Judged", "RBPresidual"})
"""Measures that tell an unjudged document from one of grade 0; the others take it for one."""


def filled(r: Rankings, filling: int) -> Rankings:
    """The rankings if all unjudged documents had the grade `filling`.

    These are the retrieved ones outside the qrels and those of the pool with a negative grade,
    retrieved or not; the ideal ranking gets them too. Their scores are not known here, so AUC takes
    those outside the qrels for untied.
    """
    starts = np.cumsum(r.retrieved) - r.retrieved
    grade = np.full(int(r.retrieved.sum()), filling)
    score = np.full(len(grade), np.nan)
    at = starts[r.query] + r.rank
    grade[at] = np.where(r.grade < 0, filling, r.grade)
    score[at] = r.score
    query = np.repeat(np.arange(r.n), r.retrieved)
    outside = r.retrieved - np.bincount(r.query, minlength=r.n)
    pool_query, pool_grade = _with_more(r, outside, filling)
    rank = np.arange(len(grade)) - starts[query]
    ideal = replace(r, pool_query=pool_query, pool_grade=pool_grade)
    return replace(ideal, query=query, rank=rank, grade=grade, score=score)


def _with_more(r: Rankings, outside: Integers, filling: int) -> tuple[Integers, Integers]:
    """The qrels with so many more documents of that grade a query, best first."""
    pool_query = np.concatenate([r.pool_query, np.repeat(np.arange(r.n), outside)])
    known = np.where(r.pool_grade < 0, filling, r.pool_grade)
    pool_grade = np.concatenate([known, np.full(int(outside.sum()), filling)])
    order = np.lexsort((-pool_grade, pool_query))
    return pool_query[order], pool_grade[order]


def scenarios(r: Rankings, measures: Sequence[Measure]) -> dict[str, dict[str, float]]:
    """A measure: its mean if all unjudged documents were irrelevant, and if all were of top grade.

    `low` and `high` are there where the two are true bounds. RBP's upper bound counts the documents
    below the ranking's end too. For nDCG and whatever divides by what could be found, neither
    scenario is a bound, because the ideal moves.
    """
    best = filled(r, r.max_grade)
    worst = filled(r, 0) if any(map(_sees_holes, measures)) else r
    found = {}
    for measure in measures:
        worst_case = summed_up(measure, measure.per_query(worst if _sees_holes(measure) else r))
        best_case = measure.per_query(best)
        entry = {"unjudged_irrelevant": worst_case, "unjudged_top": summed_up(measure, best_case)}
        if measure.name in RISING and not measure.judged_only:
            entry["low"], entry["high"] = (
                worst_case,
                summed_up(measure, _high(measure, r, best_case)),
            )
        found[str(measure)] = entry
    return found


def _sees_holes(measure: Measure) -> bool:
    """Whether grade 0 in place of no grade may change its value; `rel=0` finds grade 0 relevant."""
    level = dict(measure.parameters).get("rel")
    return measure.judged_only or measure.name in SEE_HOLES or level == 0


def _high(measure: Measure, r: Rankings, best_case: Floats) -> Floats:
    """The upper bound: for RBP the tail below the last retrieved document counts."""
    if measure.name != "RBP":
        return best_case
    p = float(dict(measure.parameters).get("p", 0.8))
    seen = r.retrieved if measure.cutoff is None else np.minimum(r.retrieved, int(measure.cutoff))
    last = np.inf if measure.cutoff is None else float(measure.cutoff)
    tail: Floats = p ** seen.astype(np.float64) - p**last
    return best_case + tail
