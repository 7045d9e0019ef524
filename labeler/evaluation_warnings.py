"""What a reader of scores should know, in one line each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labeler.errors import BadInput
from labeler.formats.ranked import Facts, Pool
from labeler.in_common import nothing_in_common
from labeler.metrics import Measure, Scores

FEW_QUERIES = 25
SCALED = ("ERR", "nERR", "RBP", "RBPresidual")
_NAMED = 10


def qrels_warnings(
    pool: Pool, measures: Sequence[Measure], *, skipped: bool, max_grade: int | None
) -> list[str]:
    """Of the qrels: queries without a relevant document, and a top grade that nobody named."""
    found = []
    n = len(pool.queries)
    empty = int((np.bincount(pool.query[pool.grade > 0], minlength=n) == 0).sum())
    if empty:
        what = "left out" if skipped else "they score 0 (--unanswerable skip)"
        found.append(f"{empty} of {n} queries have no relevant document; {what}")
    scaled = [str(m) for m in measures if m.name in SCALED and "rel" not in dict(m.parameters)]
    if scaled and max_grade is None:
        source = "the largest in the qrels; --max-grade says otherwise"
        found.append(f"{', '.join(scaled)}: took {pool.max_grade} for the scale's top, {source}")
    return found


def run_warnings(name: str, pool: Pool, facts: Facts) -> list[str]:
    """What a reader of the scores should know about a run; `BadInput` where no query is common."""
    if not facts.common:
        raise BadInput(nothing_in_common(str(pool.path), pool.queries, name, facts.some_ids))
    found = []
    n = len(pool.queries)
    if missing := n - facts.common:
        found.append(f"{name}: {missing} of {n} queries are missing from the run")
    if facts.extra:
        found.append(f"{name}: {facts.extra} queries of the run are not in the qrels: ignored")
    if facts.tied_pairs:
        found.append(f"{name}: {facts.tied_pairs} pairs of documents tie in score")
    if facts.contradictions:
        found.append(f"{name}: the rank of {facts.contradictions} lines contradicts their score")
    return found


def score_warnings(name: str, scores: Scores) -> list[str]:
    """Of a run's values: the queries for which a measure is undefined, and so not in its mean."""
    found = []
    for measure in scores.measures:
        undefined = np.flatnonzero(np.isnan(scores.of(measure)))
        if len(undefined):
            named = ", ".join(scores.queries[i] for i in undefined[:_NAMED])
            more = ", …" if len(undefined) > _NAMED else ""
            count = f"{len(undefined)} of {len(scores.queries)} queries"
            found.append(f"{name}: {measure} is undefined for {count}, left out: {named}{more}")
    return found


def few_queries(name: str, scores: Scores, intervals: dict[str, tuple[float, float]]) -> list[str]:
    """That there are few, and how wide the intervals are then."""
    n = len(scores.queries)
    if n >= FEW_QUERIES:
        return []
    measure, (low, high) = next(iter(intervals.items()))
    wide = f"; {name}'s {measure} lies anywhere from {low:.3f} to {high:.3f}"
    few = "one query: there is no interval" if n == 1 else f"{n} queries: intervals are wide"
    return [f"only {few}{wide if high > low else ''}"]
