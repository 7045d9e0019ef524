"""What unjudged documents could do to a score: two scenarios, and bounds where they are exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import BOUND_FUNCTIONS, bounds, level_of
from labeler.metrics.graded import rank_biased_residual
from labeler.metrics.rankings import Rankings
from labeler.metrics.registry import Measure
from labeler.metrics.scores import summed_up

RISING = frozenset({"P", "Success", "RR", "RBP", "DCG", "CG", "ERR", "SetP", "NumRel", "NumRelRet"})
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
    graded = np.where(r.pool_grade < 0, filling, r.pool_grade)
    pool_grade = np.concatenate([graded, np.full(int(outside.sum()), filling)])
    order = np.lexsort((-pool_grade, pool_query))
    return pool_query[order], pool_grade[order]


EndsByMeasure = dict[str, tuple[Floats, Floats]]

DOCUMENTS = 1 << 20
"""So many documents are filled in at once: what is held does not grow with a run's lines."""


class _Values(NamedTuple):
    """Values of each query by one measure: in both scenarios, at the ends, and of RBP's residual.

    The last three are empty where there are none.
    """

    irrelevant: Floats
    top: Floats
    low: Floats
    high: Floats
    residual: Floats


_NONE: Floats = np.zeros(0)


def scenarios(
    r: Rankings,
    measures: Sequence[Measure],
    ends_by_measure: EndsByMeasure | None = None,
    size: int = DOCUMENTS,
) -> dict[str, dict[str, float]]:
    """A measure: its mean if all unjudged documents were irrelevant, and if all were of top grade.

    `low` and `high` are true bounds, where an exact way to them is known. RBP's upper bound counts
    the documents below the ranking's end too. For nDCG and whatever divides by what could be found,
    neither scenario is a bound, because the ideal moves; see `bounds`. The ends of each query are
    put into `ends_by_measure`. About `size` documents are worked on at a time.
    """
    return scenarios_by_block(r.blocks(r.documents, size), measures, ends_by_measure)


def scenarios_by_block(
    blocks: Iterable[Rankings],
    measures: Sequence[Measure],
    ends_by_measure: EndsByMeasure | None = None,
) -> dict[str, dict[str, float]]:
    """The same of rankings that come as blocks of queries, in the order of the queries."""
    parts = [_of_block(block, measures) for block in blocks]
    cases_by_measure = {}
    for measure, of_measure in zip(measures, zip(*parts, strict=True), strict=True):
        values = _Values(*map(np.concatenate, zip(*of_measure, strict=True)))
        cases_by_measure[str(measure)] = _summed_up(measure, values)
        if len(values.low) and ends_by_measure is not None:
            ends_by_measure[str(measure)] = values.low, values.high
    return cases_by_measure


def _of_block(r: Rankings, measures: Sequence[Measure]) -> list[_Values]:
    """The values of each measure."""
    cases = filled(r, 0) if any(map(_sees_holes, measures)) else r, filled(r, r.max_grade)
    of_measures = []
    for measure in measures:
        seen = cases[0] if _sees_holes(measure) else r
        values = measure.per_query(seen), measure.per_query(cases[1])
        ends = _ends(measure, r, *values) or (_NONE, _NONE)
        residual = _residual(measure, r) if measure.name == "RBP" else _NONE
        of_measures.append(_Values(*values, *ends, residual))
    return of_measures


def _summed_up(measure: Measure, values: _Values) -> dict[str, float]:
    """Both scenarios, and what else there is."""
    entry = {
        "unjudged_irrelevant": summed_up(measure, values.irrelevant),
        "unjudged_top": summed_up(measure, values.top),
    }
    names = ("low", "high", "residual")
    more = zip(names, (values.low, values.high, values.residual), strict=True)
    return entry | {name: summed_up(measure, each) for name, each in more if len(each)}


def _ends(
    measure: Measure, r: Rankings, worst: Floats, best: Floats
) -> tuple[Floats, Floats] | None:
    """The bounds for each query, from its values in the two scenarios where these are bounds.

    Where no grade, or every grade, makes an unjudged document relevant, both scenarios are one.
    """
    if measure.judged_only or measure.name not in RISING | BOUND_FUNCTIONS.keys():
        return None
    if measure.name in RISING:
        return worst, _high(measure, r, best)
    return bounds(measure, r) if 0 < level_of(measure) <= r.max_grade else (worst, best)


def _sees_holes(measure: Measure) -> bool:
    """Whether grade 0 in place of no grade may change its value; `rel=0` finds grade 0 relevant."""
    level = dict(measure.parameters).get("rel")
    return measure.judged_only or measure.name in SEE_HOLES or level == 0


def _residual(measure: Measure, r: Rankings) -> Floats:
    """What the unjudged documents, and those below the last, weigh in RBP."""
    p = float(dict(measure.parameters).get("p", 0.8))
    seen = r.condensed if measure.judged_only else r
    return rank_biased_residual(seen, None if measure.cutoff is None else int(measure.cutoff), p)


def _high(measure: Measure, r: Rankings, best_case: Floats) -> Floats:
    """The upper bound: for RBP the tail below the last retrieved document counts."""
    if measure.name != "RBP":
        return best_case
    p = float(dict(measure.parameters).get("p", 0.8))
    seen = r.retrieved if measure.cutoff is None else np.minimum(r.retrieved, int(measure.cutoff))
    last = np.inf if measure.cutoff is None else float(measure.cutoff)
    tail: Floats = p ** seen.astype(np.float64) - p**last
    return best_case + tail
