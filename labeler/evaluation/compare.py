"""Runs against a baseline: the differences, their intervals, and what can be told of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeler.errors import BadInput, Misuse
from labeler.evaluation.comparison.equivalence import (
    Equivalence,
    Margin,
    equivalence_table,
    margins_by_measure,
)
from labeler.evaluation.comparison.paired import Comparison, Discrimination, discrimination_table
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.inputs import AnyQrels, AnyRuns, runs_from
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    EvaluationOptions,
    IntervalKind,
    Missing,
    Scoring,
    names_of,
)
from labeler.evaluation.summary import comparison_as_json, comparison_table
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Comparisons:
    """Every run against the baseline by every measure, and what a reader should know."""

    baseline: str
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...] = ()
    discrimination: tuple[Discrimination, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()

    def tables(self) -> list[Table]:
        """The tables `comparisons`, `discrimination` and `equivalence`, those that have rows."""
        tables = [
            comparison_table(self.comparisons, self.discrimination),
            discrimination_table(self.discrimination),
            equivalence_table(self.equivalences),
        ]
        return [table for table in tables if table.rows]

    def frame(self) -> DataFrame:
        """A row for each run and measure, as a pandas DataFrame."""
        return comparison_table(self.comparisons).frame()

    def as_json(self) -> list[dict[str, Any]]:
        """The comparisons as in the JSON of the command `evaluate`."""
        return [comparison_as_json(comparison) for comparison in self.comparisons]

    def __repr__(self) -> str:
        verdicts = Counter(comparison.verdict for comparison in self.comparisons)
        counts = ", ".join(f"{verdict}: {count}" for verdict, count in verdicts.items())
        return f"Comparisons(baseline={self.baseline!r}, {counts})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings)


def compare(  # noqa: PLR0913 - whoever calls it names the few that are needed
    qrels: AnyQrels,
    runs: AnyRuns | None = None,
    measures: str | Sequence[object] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    missing: Missing = "zero",
    interval: IntervalKind = "bootstrap",
    seed: int = 0,
    margin: Margin = None,
    jobs: int = 1,
) -> Comparisons:
    """Compare runs with a baseline: by default the best one by the first measure.

    Differences of paired queries with intervals, a randomization test (the paired t test with
    `interval="t"`), and what is left of it after a correction: Holm's for the runs compared with a
    `baseline`, and for all pairs of runs (randomised HSD) where the best is taken. With a `margin`
    it is said whether runs are shown to differ by less. Qrels, runs, measures and `jobs` are taken
    as by `evaluate`.

    >>> import labeler
    >>> qrels = {f"q{n}": {"d1": 1} for n in range(30)}
    >>> good = {q: {"d1": 2.0, "d2": 1.0} for q in qrels}
    >>> bad = {q: {"d1": 1.0, "d2": 2.0} for q in qrels}
    >>> labeler.compare(qrels, {"good": good, "bad": bad}, "P@1 RR")
    Comparisons(baseline='good', worse: 2)
    """
    runs_by_name = runs_from(runs, qrels)
    if len(runs_by_name) < 2:
        raise Misuse("a comparison needs two or more runs", parameter="runs")
    scoring = Scoring(missing)
    names = names_of(measures)
    margins = margins_by_measure(margin, names)
    options = EvaluationOptions(names, scoring, baseline, interval, False, seed, margins, jobs=jobs)
    report = report_on(qrels, runs_by_name, options)
    if not report.comparisons:
        raise BadInput("no query is scored for all runs by a measure that is a mean over queries")
    parts = (report.comparisons, report.findings, report.discrimination, report.equivalences)
    return Comparisons(report.comparisons[0].baseline, *parts)
