"""What a reader of scores should know, in one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from labeler.data import Failure
from labeler.errors import BadInput
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import Measure, Scores
from labeler.metrics.registry import renamed
from labeler.models.local.caveats import caveat, embedded_name
from labeler.trec.rankings import Facts, Pool

FEW_QUERIES = 25
WELL_JUDGED = 0.95
SCALED = ("ERR", "nERR", "RBP")
_NAMED = 10


def qrels_warnings(
    pool: Pool, measures: Sequence[Measure], *, skipped: bool, max_grade: int | None
) -> list[str]:
    """Of the qrels: queries without a relevant document, and a top grade that nobody named."""
    found = []
    n = len(pool.queries)
    empty = int((np.bincount(pool.query[pool.grade > 0], minlength=n) == 0).sum())
    if empty:
        what = "left out" if skipped else "counted as 0 (--unanswerable skip leaves them out)"
        found.append(f"{_of(empty, n)} without a relevant document; {what}")
    scaled = [str(m) for m in measures if m.name in SCALED and "rel" not in dict(m.parameters)]
    if scaled and max_grade is None:
        source = "the largest in the qrels; --max-grade says otherwise"
        found.append(f"{', '.join(scaled)}: took {pool.max_grade} for the scale's top, {source}")
    return found


def run_warnings(
    name: str, pool: Pool, facts: Facts, *, ties: str = "trec", skipped: bool = False
) -> list[str]:
    """What a reader of the scores should know about a run; `BadInput` where no query is common."""
    if not facts.common:
        run = f"the run {name}"
        raise BadInput(no_query_in_common(pool.name, pool.queries, run, facts.some_ids))
    found = []
    n = len(pool.queries)
    if missing := n - facts.common:
        found.append(f"{name}: {_of(missing, n)} missing from the run; {MISSING[skipped]}")
    if facts.extra:
        queries = _many(facts.extra, "query", "queries")
        found.append(f"{name}: {queries} of the run not in the qrels: ignored")
    if not facts.matched:
        found.append(f"{name}: none of its documents stands in the qrels; are their ids the same?")
    if facts.tied_pairs:
        pairs = _many(facts.tied_pairs, "pair", "pairs")
        found.append(f"{name}: {pairs} of documents tied in score; {ORDERED[ties]}")
    if facts.contradictions:
        lines = _many(facts.contradictions, "line", "lines")
        found.append(f"{name}: {lines} whose rank contradicts the score; {ORDERED[ties]}")
    return found


MISSING = {True: "left out", False: "counted as 0 (--missing skip leaves them out)"}
ORDERED = {"trec": "ordered as trec_eval does", "file": "ordered as written"}


def _of(some: int, every: int) -> str:
    """`1 of 3 queries`, `1 of 1 query`."""
    return f"{some} of {_many(every, 'query', 'queries')}"


def _many(number: int, one: str, many: str) -> str:
    """`count_of` without commas: programs read these warnings, too."""
    return count_of(number, one, many).replace(",", "")


def verdict_warnings(passed: Collection[str], pool: Pool) -> list[str]:
    """Of the queries that a person looked at, those not in the qrels; `BadInput` if that is all."""
    unknown = [query for query in passed if query not in pool.queries]
    if not unknown:
        return []
    if len(unknown) == len(passed):
        raise BadInput(no_query_in_common(pool.name, pool.queries, "the file of --lgtm", unknown))
    stands = count_of(len(unknown), "query stands", "queries stand")
    return [f"{stands} in the file of --lgtm and not in the qrels, as {unknown[0]}: ignored"]


def name_warnings(given: Sequence[str]) -> list[str]:
    """Which measures go by another name below than they were asked for by."""
    return [f"{word} goes by the name {name} here" for word, name in renamed(given).items()]


def hole_warnings(
    name: str, judged: Mapping[str, float], scenarios: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """Of the run that is judged least: what its unjudged documents could do to a score."""
    share_name, share = next(iter(judged.items()))
    bounded = next((item for item in scenarios.items() if "low" in item[1]), None)
    if bounded is None or not share < WELL_JUDGED:
        return []
    measure, entry = bounded
    ends = f"{entry['low']:.3f} to {entry['high']:.3f}"
    what = f"were the rest judged, its {measure} could be anything from {ends} (--scenarios)"
    return [f"{name}: {share_name} is {share:.2f}; {what}"]


def score_warnings(name: str, scores: Scores) -> list[str]:
    """Of a run's values: the queries for which a measure is undefined, and so not in its mean."""
    found = []
    for measure in scores.measures:
        undefined = np.flatnonzero(np.isnan(scores.of(measure)))
        if len(undefined):
            named = ", ".join(scores.queries[i] for i in undefined[:_NAMED])
            more = ", …" if len(undefined) > _NAMED else ""
            count = _of(len(undefined), len(scores.queries))
            found.append(f"{name}: {measure} is undefined for {count}, left out: {named}{more}")
    return found


def few_queries(name: str, scores: Scores, intervals: dict[str, tuple[float, float]]) -> list[str]:
    """That there are few, and how wide the intervals are then."""
    n = len(scores.queries)
    if n >= FEW_QUERIES:
        return []
    measure, (low, high) = next(iter(intervals.items()))
    wide = f"; {name}'s {measure} lies anywhere from {low:.3f} to {high:.3f}"
    few = "1 query: there is no interval" if n == 1 else f"{n} queries: intervals are wide"
    return [f"only {few}{wide if high > low else ''}"]


def label_warnings(judgements: Path) -> list[str]:
    """What to say beside every figure that stands on a set of judgements; none without a file."""
    if not judgements.exists():
        return []
    from labeler.collection.judgements import read_judgements  # takes long to load

    failures: Counter[str] = Counter()
    asked = ""
    pairs = 0
    for row in read_judgements(judgements):
        pairs += 1
        asked = asked or row.origin.model
        if isinstance(row.judged.outcome, Failure):
            failures[row.judged.outcome.status] += 1
    warnings = [caveat(name)] if (name := embedded_name(asked)) else []
    if failures:
        listed = ", ".join(f"{count} {status}" for status, count in failures.most_common())
        missing = f"{failures.total()} of {pairs} pairs have no label ({listed})"
        warnings.append(f"{judgements}: {missing}; they count as unjudged")
    return warnings
