"""The runs of an evaluation against each other, over the queries that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labeler.evaluation.comparison.discrimination import Discrimination, discrimination
from labeler.evaluation.comparison.equivalence import Equivalence, equivalences
from labeler.evaluation.comparison.paired import (
    Comparison,
    ComparisonOptions,
    Correction,
    best,
    compare_all_pairs,
    compare_scores,
)
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.scores import RunScores, over_common_queries
from labeler.evaluation.warnings import common_queries_finding, identical_findings
from labeler.metrics import Measure
from labeler.report.finding import Finding


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
        tuple(equivalences(scores, baseline, options.margins, identical)),
    )
