"""What a reader of scores should know, one finding each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from labeler.data import Failure
from labeler.errors import BadInput
from labeler.evaluation.options import Scoring
from labeler.evaluation.scores import RunScores
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import Measure, Scores
from labeler.metrics.registry import renamed
from labeler.report.finding import Finding, Setting
from labeler.trec.pool import Pool
from labeler.trec.rankings import Facts

FEW_QUERIES = 25
WELL_JUDGED = 0.95
SCALED = ("ERR", "nERR", "RBP")
"""Measures whose gain depends on the scale's top grade."""
_MOST_NAMES = 10


def name_findings(texts: Sequence[str]) -> list[Finding]:
    """Which measures go by another name than they were asked for by."""
    return [
        Finding(f"{word} goes by the name {name} here", about=name, level="note")
        for word, name in renamed(texts).items()
    ]


def qrels_findings(
    pool: Pool, measures: Sequence[Measure], scoring: Scoring, *, may_skip: bool = True
) -> list[Finding]:
    """Of the qrels: queries without a relevant document, and a top grade that nobody named.

    `may_skip` says whether the caller can leave such queries out.
    """
    findings = []
    n = len(pool.queries)
    empty = int((np.bincount(pool.query[pool.grade > 0], minlength=n) == 0).sum())
    if empty:
        what = f"{_of(empty, n)} without a relevant document"
        skip = Setting("unanswerable", "skip")
        counted = Finding(f"{what}; counted as 0")
        findings.append(_left_out(what, skip, scoring.unanswerable) if may_skip else counted)
    scaled = [str(m) for m in measures if m.name in SCALED and "rel" not in dict(m.parameters)]
    if scaled and scoring.max_grade is None:
        top = Setting("max_grade")
        source, advice = "the largest in the qrels", f"; {top} says otherwise"
        text = f"{', '.join(scaled)}: took {pool.max_grade} for the scale's top, {source}{advice}"
        findings.append(Finding(text, settings=(top,), advice=advice))
    return findings


def run_findings(name: str, pool: Pool, facts: Facts, scoring: Scoring) -> list[Finding]:
    """What a reader of the scores should know about a run; `BadInput` where no query is common."""
    if not facts.common:
        run = f"the run {name}"
        raise BadInput(no_query_in_common(pool.name, pool.queries, run, facts.some_ids))
    findings = []
    if missing := len(pool.queries) - facts.common:
        what = f"{name}: {_of(missing, len(pool.queries))} missing from the run"
        finding = _left_out(what, Setting("missing", "skip"), scoring.missing, name)
        each = finding.text.partition(f"{missing:,} ")[2]
        findings.append(replace(finding, each=each, count=missing))
    if not facts.matched:
        text = "none of its documents stands in the qrels; are their ids the same?"
        findings.append(Finding(f"{name}: {text}", name, each=text))
    ordered = ORDERED[scoring.ties]
    counts = (
        (facts.extra, ("query", "queries"), "of the run not in the qrels: ignored"),
        (facts.tied_pairs, ("pair", "pairs"), f"of documents tied in score; {ordered}"),
        (facts.contradictions, ("line", "lines"), f"whose rank contradicts the score; {ordered}"),
    )
    return findings + [
        Finding(f"{name}: {count_of(n, *nouns)} {rest}", name, each=f"{nouns[1]} {rest}", count=n)
        for n, nouns, rest in counts
        if n
    ]


ORDERED = {"trec": "ordered as trec_eval does", "file": "ordered as written"}


def _left_out(what: str, skip: Setting, value: str, about: str = "") -> Finding:
    """That some queries are left out, or which setting would leave them out."""
    if value == skip.value:
        return Finding(f"{what}; left out", about)
    advice = f" ({skip} leaves them out)"
    return Finding(f"{what}; counted as 0{advice}", about, (skip,), advice=advice)


def _of(some: int, every: int) -> str:
    """`1 of 3 queries`, `1 of 1 query`."""
    return f"{some:,} of {count_of(every, 'query', 'queries')}"


def verdict_findings(verdicts: Collection[str] | None, pool: Pool) -> list[Finding]:
    """Of the queries that a person looked at, those not in the qrels; `BadInput` if that is all."""
    unknown = [query for query in verdicts or () if query not in pool.queries]
    if not unknown:
        return []
    if len(unknown) == len(verdicts or ()):
        raise BadInput(no_query_in_common(pool.name, pool.queries, "the verdicts", unknown))
    stands = count_of(len(unknown), "query stands", "queries stand")
    text = f"{stands} among the verdicts and not in the qrels, as {unknown[0]}: ignored"
    return [Finding(text)]


def score_findings(name: str, scores: Scores) -> list[Finding]:
    """Of a run's values: the queries for which a measure is undefined, and so not in its mean."""
    findings = []
    for measure in scores.measures:
        undefined = np.flatnonzero(np.isnan(scores.of(measure)))
        if len(undefined):
            names = ", ".join(scores.queries[i] for i in undefined[:_MOST_NAMES])
            more = ", …" if len(undefined) > _MOST_NAMES else ""
            count = _of(len(undefined), len(scores.queries))
            text = f"{name}: {measure} is undefined for {count}, left out: {names}{more}"
            each = f"of {count_of(len(scores.queries), 'query', 'queries')} for which {measure} is"
            each += " undefined, left out"
            findings.append(Finding(text, about=name, each=each, count=len(undefined)))
    return findings


def common_queries_finding(queries: int) -> Finding:
    """That runs have other queries, so that fewer compare them."""
    common = count_of(queries, "query", "queries")
    return Finding(f"runs are compared over the {common} that all of them have")


def identical_findings(runs: Sequence[RunScores]) -> list[Finding]:
    """Which runs rank documents of the same grades alike in every query, as copies of a run do."""
    names_by_mark: dict[str, list[str]] = {}
    for run in runs:
        names_by_mark.setdefault(run.mark, []).append(run.name)
    same = "rank documents of the same grades alike in every query: copies of one run?"
    return [
        Finding(f"{' and '.join(names)} {same}", about=names[0])
        for names in names_by_mark.values()
        if len(names) > 1
    ]


def few_queries(runs: Sequence[RunScores]) -> list[Finding]:
    """That there are few, and how wide the intervals of the run with the fewest are."""
    run = min(runs, key=lambda run: len(run.scores.queries))
    n = len(run.scores.queries)
    if n >= FEW_QUERIES:
        return []
    measure, (low, high) = next(iter(run.intervals.items()))
    wide = f"; {run.name}'s {measure} over all such queries: {low:.3f} to {high:.3f}, at 95 %"
    few = "1 query: there is no interval" if n == 1 else f"{n} queries: intervals are wide"
    return [Finding(f"only {few}{wide if high > low else ''}", about=run.name)]


def hole_findings(runs: Sequence[RunScores]) -> list[Finding]:
    """Of the run that is judged least: what its unjudged documents could do to a score."""
    run = min(runs, key=lambda run: next(iter(run.judged.values())))
    share_name, share = next(iter(run.judged.items()))
    bounded = next((item for item in run.scenarios.items() if "low" in item[1]), None)
    if bounded is None or not share < WELL_JUDGED:
        return []
    measure, case = bounded
    ends = f"{case['low']:.3f} to {case['high']:.3f}"
    table = Setting("scenarios")
    what = f"were the rest judged, its {measure} could be anything from {ends} ({table})"
    return [Finding(f"{run.name}: {share_name} is {share:.2f}; {what}", run.name, (table,))]


def judgement_findings(judgements: Path) -> list[Finding]:
    """How many pairs have no grade, and why; nothing without a file."""
    if not judgements.exists():
        return []
    from labeler.collection.judgements import read_judgements  # takes long to load

    failures: Counter[str] = Counter()
    pairs = 0
    for row in read_judgements(judgements):
        pairs += 1
        if isinstance(row.judged.outcome, Failure):
            failures[row.judged.outcome.status] += 1
    return _failure_findings(judgements, failures, pairs)


def _failure_findings(path: Path, failures: Mapping[str, int], pairs: int) -> list[Finding]:
    if not failures:
        return []
    by_count = sorted(failures.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{count:,} {status}" for status, count in by_count)
    asked = count_of(pairs, "pair", "pairs")
    missing = f"no grade for {sum(failures.values()):,} of {asked} ({listed})"
    return [Finding(f"{path}: {missing}; counted as unjudged", about=str(path))]
