"""The scores of some runs by one measure and one set of qrels, as power plans take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse, about
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.inputs import AnyQrels, RunsByName
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.ranges import MEANS
from labeler.metrics import Measure, parse
from labeler.report.finding import Finding


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
