"""Scoring runs against qrels: one report of means, intervals, comparisons and findings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse, about
from labeler.evaluation.equivalence import Equivalence, Margin, equivalences, margins_by_measure
from labeler.evaluation.groups import ByGroup, QueryScope, grouped_by, grouping_of, scope_of
from labeler.evaluation.holes import UnjudgedOfAllRuns, scenarios
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
    Missing,
    Scoring,
    Stale,
    Unanswerable,
    names_of,
)
from labeler.evaluation.origin import kin_behind, kin_finding, origin_findings
from labeler.evaluation.paired import (
    MEANS,
    Comparison,
    Correction,
    Discrimination,
    best,
    compare_all_pairs,
    compare_scores,
    discrimination,
)
from labeler.evaluation.score_report import Report
from labeler.evaluation.scores import (
    RunScores,
    Weights,
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
)
from labeler.metrics import Measure, parse, parse_all
from labeler.report.finding import Finding
from labeler.trec.rankings import Pool


def score_runs(
    runs: RunsByName,
    pool: Pool,
    measures: Sequence[Measure],
    options: EvaluationOptions,
    weights: Weights | None,
) -> tuple[list[RunScores], list[Finding]]:
    """Each run's scores, and what is to be said of them.

    What unjudged documents leave open is not known of weighted means.

    What any run retrieved may be relevant, and so is a candidate of all of them.
    """
    scoring, is_open = options.scoring, options.scenarios and weights is None
    scored, findings = list[RunScores](), list[Finding]()
    unjudged, held = UnjudgedOfAllRuns(pool.queries), []
    with options.progress("runs scored") as advance:
        for number, (name, run) in enumerate(runs.items(), start=1):
            ranked, facts = rank(run, pool, outside=is_open)
            findings += run_findings(name, pool, facts, scoring)
            ranked = counted(ranked, scoring, weights)
            weighting = None if weights is None else weights.of(ranked.queries)
            scored.append(run_scores(name, ranked, measures, options, weighting))
            findings += score_findings(name, scored[-1].scores)
            if facts.outside is not None:  # `replace`: without what was derived for measures
                held.append((replace(ranked), unjudged.add(facts.outside)))
            advance(number, len(runs))
    with options.progress("unjudged documents of runs") as advance:
        for number, (ranked, own) in enumerate(held):
            cases = scenarios(unjudged.with_others(ranked, own), measures)
            scored[number] = replace(scored[number], scenarios=cases)
            advance(number + 1, len(runs))
    return scored, findings


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
    mark = next(run.mark for run in runs if run.name == baseline)
    identical = [run.name for run in runs if run.mark == mark]
    return RunsCompared(
        tuple(compare_scores(scores, baseline, correction, options.seed, pairs)),
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
    max_grade: int | None = None,
    scenarios: bool = True,
    seed: int = 0,
    stale: Stale = "drop",
    margin: Margin = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | Mapping[str, float] = "",
    queries: str | os.PathLike[str] | Facts | None = None,
    min_queries: int = FEWEST,
) -> Report:
    """Score runs against qrels, with intervals, tests and the share that is judged.

    Qrels are a path, a dict, a DataFrame or rows of (query, document, grade); so is a run. `runs`
    is one run, several, or a dict of names to runs. Where `qrels` is a collection, its own runs are
    scored. Measures are names, as `"nDCG@10 AP"` too, or those of `ir_measures`. With a `margin`,
    in the measures' units or one for each measure, it is said whether runs are shown to differ by
    less from the baseline. With `by`, a field of the queries' metadata or a dict of queries to
    groups, `report.by` has the scores of each group; `weights` are what queries count. Both are
    looked up in the collection, or in `queries`. `Scoring`, `EvaluationOptions` and `Grouping`
    explain the other parameters.

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
    scoring = Scoring(missing, unanswerable, max_grade, stale)
    names = names_of(measures)
    margins = margins_by_measure(margin, names)
    grouping = grouping_of(by, weights, queries, min_queries)
    options = EvaluationOptions(names, scoring, baseline, scenarios, seed, margins, grouping)
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
    scored, of_runs = score_runs(runs, pool, measures, options, scope.weights)
    findings += of_runs
    between = compared(scored, measures[0], options, findings)
    by: tuple[ByGroup, ...] = ()
    if grouping.by:
        by = grouped_by(scope, scored, options)
        findings += [finding for grouped in by for finding in grouped.findings]
    findings += [*few_queries(scored), *hole_findings(scored)]
    findings += [*origin_findings(qrels), *kin_finding(kin_behind(qrels, runs))]
    return Report(
        pool.name,
        tuple(map(str, measures)),
        tuple(scored),
        between.comparisons,
        tuple(findings),
        between.discrimination,
        between.equivalences,
        by,
        grouping.weights,
        pool.stale,
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
