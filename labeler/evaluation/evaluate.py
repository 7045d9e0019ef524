"""Scoring runs against qrels: one report of means, intervals, comparisons and findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from labeler.arrays import Floats
from labeler.data import Run
from labeler.errors import Misuse, about
from labeler.evaluation.comparison.equivalence import (
    Equivalence,
    Margin,
    equivalences,
    margins_by_measure,
)
from labeler.evaluation.comparison.paired import (
    MEANS,
    Comparison,
    ComparisonOptions,
    Correction,
    Discrimination,
    best,
    compare_all_pairs,
    compare_scores,
    discrimination,
)
from labeler.evaluation.groups import ByGroup, grouped_by, uncompared
from labeler.evaluation.holes.several import SeveralRuns
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    RunsByName,
    pool_from,
    rank,
    runs_from,
    top_grade_beside,
)
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    FEWEST,
    EvaluationOptions,
    Facts,
    IntervalKind,
    Missing,
    Scoring,
    Stale,
    Ties,
    Unanswerable,
    names_of,
)
from labeler.evaluation.origin import kin_behind, kin_finding, origin_findings
from labeler.evaluation.query_facts import QueryScope, Weights, grouping_of, scope_of
from labeler.evaluation.score_report import Report
from labeler.evaluation.scores import (
    RunScores,
    common_queries_finding,
    counted,
    few_queries,
    hole_findings,
    identical_findings,
    name_findings,
    over_common_queries,
    qrels_findings,
    run_findings,
    run_scores,
    score_findings,
    to_answer,
)
from labeler.files.read import copies_of, reading_copies, rereadable
from labeler.messages import Progress, no_progress
from labeler.metrics import Measure, Rankings, parse, parse_all
from labeler.report.finding import Finding
from labeler.trec.rankings import Holes, Pool

# The runs of an evaluation scored, by one process or several, with what is to be said of each.

Item = TypeVar("Item")


class ScoredRuns(NamedTuple):
    """The scores of runs, what several leave open together, and what is to be said of each.

    `queries` count of a run that answers all of them.
    """

    runs: list[RunScores]
    together: SeveralRuns | None
    findings: list[Finding]
    queries: list[str]


@dataclass(frozen=True)
class _Against:
    """What all runs are scored against, and how; `shares_holes` where several runs' are weighed."""

    pool: Pool
    measures: Sequence[Measure]
    options: EvaluationOptions
    weights: Weights | None
    shares_holes: bool


@dataclass(frozen=True)
class _Scorable:
    """A run to score; `copies` hold what can be read only once."""

    name: str
    run: Path | Run
    copies: Mapping[Path, Path] = field(default_factory=dict)


class _Scored(NamedTuple):
    """One run's scores and findings; its rankings and holes where several runs' are weighed."""

    scores: RunScores
    findings: list[Finding]
    queries: list[str]
    ranked: Rankings | None
    holes: Holes | None


def score_runs(
    runs: RunsByName,
    pool: Pool,
    measures: Sequence[Measure],
    options: EvaluationOptions,
    weights: Weights | None,
) -> ScoredRuns:
    """Each run's scores, and of several runs what their unjudged documents leave open together.

    Of weighted means nothing is said of unjudged documents. With several `options.jobs` each run is
    scored by one process, and the qrels' arrays are mapped by all.
    """
    shares_holes = options.scenarios and weights is None and len(runs) > 1
    alone = options.scenarios and weights is None and not shares_holes
    how = replace(options, scenarios=alone, progress=no_progress)
    against = _Against(pool, measures, how, weights, shares_holes)
    together = SeveralRuns(pool.queries, measures)
    scored: list[RunScores] = []
    findings: list[Finding] = []
    queries: list[str] = []
    with _workers(options.jobs) as shared_map:
        items = _scorable(runs, copied=options.jobs > 1)
        each = shared_map(_score, against, items)
        for run in _counted_by(options.progress, "runs scored", each, len(items)):
            scored.append(run.scores)
            findings += run.findings
            queries = queries or run.queries
            if run.ranked is not None and run.holes is not None:
                together.add(run.scores.name, run.ranked, run.holes)
        if not shares_holes:
            return ScoredRuns(scored, None, findings, queries)
        names = [run.name for run in scored]
        opened = shared_map(SeveralRuns.left_open, together, names)
        step = "unjudged documents of runs"
        for number, left in enumerate(_counted_by(options.progress, step, opened, len(names))):
            together.hold(names[number], left)
            scored[number] = replace(scored[number], scenarios=left.scenarios)
    return ScoredRuns(scored, together, findings, queries)


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[[Any, Any, Sequence[Any]], Iterator[Any]]]:
    """A function, what is common and items to the answers, by so many processes or by this one."""
    if jobs == 1:
        yield lambda function, common, items: (function(common, item) for item in items)
        return
    from labeler.evaluation.workers import Workers  # one process needs none of it

    with Workers(jobs) as workers, rereadable():
        yield workers.map


def _scorable(runs: RunsByName, *, copied: bool) -> list[_Scorable]:
    """The runs; what can be read only once is copied first where other processes read it."""
    return [
        _Scorable(name, run, copies_of([run]) if copied and isinstance(run, Path) else {})
        for name, run in runs.items()
    ]


def _counted_by(progress: Progress, step: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """The items, of which `progress` is told how many are done."""
    with progress(step) as advance:
        for number, item in enumerate(items, start=1):
            yield item
            advance(number, total)


def _score(against: _Against, item: _Scorable) -> _Scored:
    """One run's scores, in whichever process."""
    pool, scoring, weights = against.pool, against.options.scoring, against.weights
    with reading_copies(item.copies):
        ranked, facts = rank(item.run, pool, scoring.ties, holes=against.shares_holes)
    findings = run_findings(item.name, pool, facts, scoring)
    queries = list(compress(ranked.queries, to_answer(ranked, scoring, weights)))
    ranked = counted(ranked, scoring, weights)
    weighting = None if weights is None else weights.of(ranked.queries)
    scores = run_scores(item.name, ranked, against.measures, against.options, weighting)
    findings += score_findings(item.name, scores.scores)
    if facts.holes is None:
        return _Scored(scores, findings, queries, None, None)
    plain = replace(ranked)  # without what was derived from it for measures
    return _Scored(scores, findings, queries, plain, facts.holes)


# The runs of an evaluation against each other, over the queries that all of them have.


class RunsCompared(NamedTuple):
    """The runs against a baseline, each measure over all pairs of runs, and what margins show."""

    comparisons: tuple[Comparison, ...] = ()
    discrimination: tuple[Discrimination, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()


def compared(
    runs: Sequence[RunScores],
    first: Measure,
    options: EvaluationOptions,
    findings: list[Finding],
) -> RunsCompared:
    """All runs against the baseline: the one asked for, else the best by the first measure.

    Over the queries that all runs have. The best of the same scores is no baseline that was fixed
    beforehand: against it the tests allow for all pairs of runs.
    """
    if len(runs) < 2:
        return RunsCompared()
    scores = over_common_queries({run.name: run.scores for run in runs})
    queries = len(next(iter(scores.values())).queries)
    if queries < max(len(run.scores.queries) for run in runs):
        findings.append(common_queries_finding(queries))
    if not queries:
        return RunsCompared()
    findings += identical_findings(runs)
    pairs = compare_all_pairs(scores, options.seed)
    baseline = options.baseline or best(scores, first)
    correction: Correction = "hsd" if options.baseline is None else "holm"
    how = ComparisonOptions(options.interval, options.seed, correction)
    mark = next(run.mark for run in runs if run.name == baseline)
    identical = [run.name for run in runs if run.mark == mark]
    return RunsCompared(
        tuple(compare_scores(scores, baseline, how, pairs)),
        discrimination(pairs),
        tuple(equivalences(scores, baseline, options.margins, identical))
        if options.margins
        else (),
    )


def evaluate(  # noqa: PLR0913 - whoever calls it names the few that are needed
    qrels: AnyQrels,
    runs: AnyRuns | None = None,
    measures: str | Sequence[object] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    missing: Missing = "zero",
    unanswerable: Unanswerable = "count",
    ties: Ties = "trec",
    max_grade: int | None = None,
    interval: IntervalKind = "bootstrap",
    scenarios: bool = True,
    seed: int = 0,
    stale: Stale = "drop",
    margin: Margin = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | Mapping[str, float] = "",
    queries: str | os.PathLike[str] | Facts | None = None,
    min_queries: int = FEWEST,
    jobs: int = 1,
) -> Report:
    """Score runs against qrels, with intervals, tests and the share that is judged.

    Qrels are a path, a dict, a DataFrame or rows of (query, document, grade); so is a run. `runs`
    is one run, several, or a dict of names to runs. Where `qrels` is a collection, its own runs are
    scored. Measures are names, as `"nDCG@10 AP"` too, or those of `ir_measures`. With a `margin`,
    in the measures' units or one for each measure, it is said whether runs are shown to differ by
    less from the baseline. With `by`, a field of the queries' metadata or a dict of queries to
    groups, `report.by` has the scores of each group; `weights` are what queries count. Both are
    looked up in the collection, or in `queries`. With `jobs` so many processes score the runs; the
    report is the same. `Scoring`, `EvaluationOptions` and `Grouping` explain the other parameters.

    >>> import labeler
    >>> qrels = {"q1": {"d1": 3, "d2": 0}, "q2": {"d5": 2, "d6": 0}}
    >>> bm25 = {"q1": {"d2": 9.1, "d1": 8.4}, "q2": {"d5": 4.0, "d6": 3.1}}
    >>> dense = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d5": 0.7}}
    >>> report = labeler.evaluate(qrels, {"bm25": bm25, "dense": dense}, ["RR@10", "P@1"])
    >>> report.frame()[["run", "measure", "value"]].values.tolist()
    [['bm25', 'RR@10', 0.75], ['bm25', 'P@1', 0.5], ['dense', 'RR@10', 1.0], ['dense', 'P@1', 1.0]]
    >>> report.comparisons[0].verdict
    'unresolvable'
    >>> report = labeler.evaluate(qrels, bm25, "P@1", by={"q1": "keyword", "q2": "question"})
    >>> [(score.group, score.value) for score in report.by[0].scores]
    [('keyword', 0.0), ('question', 1.0)]
    """
    scoring = Scoring(missing, unanswerable, ties, max_grade, stale)
    names = names_of(measures)
    margins = margins_by_measure(margin, names)
    grouping = grouping_of(by, weights, queries, min_queries)
    options = EvaluationOptions(
        names, scoring, baseline, interval, scenarios, seed, margins, grouping, jobs=jobs
    )
    return report_of(qrels, runs, options)


def report_of(qrels: AnyQrels, runs: AnyRuns | None, options: EvaluationOptions) -> Report:
    """The report of `evaluate`, with its options in one place."""
    return report_on(qrels, runs_from(runs, qrels), options)


def report_on(
    qrels: AnyQrels, runs: RunsByName, options: EvaluationOptions, name: str = "the qrels"
) -> Report:
    """The same of runs that have their names; messages call qrels without a file `name`."""
    with about("measures"):
        measures = parse_all(options.measures)
    check_baseline(options.baseline, runs)
    findings = name_findings(options.measures)
    scoring = options.scoring
    pool = pool_from(qrels, lambda text: findings.append(Finding(text)), name, scoring.stale)
    scoring = scoring.with_top_grade(top_grade_beside(qrels))
    options = replace(options, scoring=scoring)
    findings += qrels_findings(pool, measures, scoring)
    grouping = options.grouping
    grouping.check()
    is_grouped = bool(grouping.by or grouping.weights)
    scope = scope_of(grouping, qrels, pool.queries) if is_grouped else QueryScope()
    findings += scope.findings
    scored, together, of_runs, queries = score_runs(runs, pool, measures, options, scope.weights)
    findings += of_runs
    between = compared(scored, measures[0], options, findings)
    grouped: tuple[ByGroup, ...] = ()
    if grouping.by:
        grouped = grouped_by(scope, queries, scored, between.comparisons, options)
        findings += [finding for by in grouped for finding in by.findings]
        findings += uncompared(grouped, between.comparisons, options)
    findings += [*few_queries(scored), *hole_findings(scored)]
    findings += [*origin_findings(qrels), *kin_finding(kin_behind(qrels, runs))]
    parts = (between.comparisons, tuple(findings), between.discrimination, between.equivalences)
    of_groups = (grouped, options.grouping.weights)
    return Report(
        pool.name,
        tuple(map(str, measures)),
        tuple(scored),
        *parts,
        together,
        *of_groups,
        stale=pool.stale,
    )


def check_baseline(baseline: str | None, runs: Mapping[str, object]) -> None:
    """`Misuse` where no run has the baseline's name."""
    if baseline is not None and baseline not in runs:
        listed = ", ".join(runs)
        problem = f"no run {baseline!r} for a baseline; runs: {listed}"
        raise Misuse(problem, parameter="baseline")


# The scores of some runs by one measure and one set of qrels, as power plans take them.


def mean_measure(measure: object) -> Measure:
    """The measure, refused where it is no mean over queries."""
    with about("measure"):
        parsed = parse(str(measure))
    if parsed.definition.summary not in MEANS:
        raise Misuse(f"{measure} is no mean over queries", parameter="measure")
    return parsed


@dataclass(frozen=True)
class SystemScores:
    """The values of one measure, `(runs, queries)`, and what to know of them."""

    qrels: str
    runs: list[str]
    queries: list[str]
    values: Floats
    findings: tuple[Finding, ...]

    def over(self, queries: Sequence[str]) -> Floats:
        """The values of these queries, in their order."""
        column = {query: i for i, query in enumerate(self.queries)}
        values: Floats = self.values[:, [column[query] for query in queries]]
        return values


def scores_of(
    qrels: AnyQrels, runs: RunsByName, measure: object, name: str = "the qrels"
) -> SystemScores:
    """The scores of some runs by one measure; messages call qrels without a file `name`."""
    mean_measure(measure)
    report = report_on(qrels, runs, EvaluationOptions((str(measure),), scenarios=False), name)
    values = np.array([run.scores.values[0] for run in report.runs])
    queries = list(report.runs[0].scores.queries)
    findings = tuple(finding.without_advice() for finding in report.findings)
    return SystemScores(report.qrels, list(runs), queries, values, findings)
