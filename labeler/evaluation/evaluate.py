"""Scoring runs against qrels: one report of means, intervals, comparisons and findings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from labeler.errors import Misuse, about
from labeler.evaluation.comparison.compared import compared
from labeler.evaluation.comparison.margins import Margin, margins_by_measure
from labeler.evaluation.groups.by_group import grouped_by, uncompared
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    RunsByName,
    pool_from,
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
from labeler.evaluation.query_facts import grouping_of, scope_of
from labeler.evaluation.score_report import Report
from labeler.evaluation.score_runs import score_runs
from labeler.evaluation.warnings import (
    few_queries,
    hole_findings,
    name_findings,
    qrels_findings,
    verdict_findings,
)
from labeler.metrics import parse_all
from labeler.report.finding import Finding


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
    verdicts: Mapping[str, bool] | None = None,
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
    scoring = Scoring(missing, unanswerable, ties, max_grade, verdicts, stale)
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
    if options.scoring.verdicts is not None and len(runs) > 1:
        problem = "a person looks at the documents of one run; expected that run alone"
        raise Misuse(problem, parameter="verdicts")
    findings = name_findings(options.measures)
    scoring = options.scoring
    pool = pool_from(qrels, lambda text: findings.append(Finding(text)), name, scoring.stale)
    scoring = scoring.with_top_grade(top_grade_beside(qrels))
    options = replace(options, scoring=scoring)
    findings += qrels_findings(pool, measures, scoring)
    findings += verdict_findings(scoring.verdicts, pool)
    scope = scope_of(options.grouping, qrels, pool.queries)
    findings += scope.findings
    scored, together, of_runs, queries = score_runs(runs, pool, measures, options, scope.weights)
    findings += of_runs
    between = compared(scored, measures[0], options, findings)
    grouped = grouped_by(scope, queries, scored, between.comparisons, options)
    findings += [finding for by in grouped for finding in by.findings()]
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
