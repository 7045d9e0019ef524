"""Scoring runs against qrels: one report of means, intervals, comparisons and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labeler.errors import Misuse, about
from labeler.evaluation.comparison.compared import compared
from labeler.evaluation.comparison.discrimination import (
    Discrimination,
    discrimination_as_json,
    discrimination_table,
)
from labeler.evaluation.comparison.equivalence import (
    Equivalence,
    equivalence_as_json,
    equivalence_table,
)
from labeler.evaluation.comparison.margins import Margin, margins_by_measure
from labeler.evaluation.comparison.paired import Comparison
from labeler.evaluation.holes.several import DifferenceBounds, SeveralRuns, difference_bounds_table
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    RunsByName,
    pool_from,
    rank,
    runs_from,
    short_name,
    top_grade_beside,
)
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    EvaluationOptions,
    IntervalKind,
    Missing,
    Scoring,
    Ties,
    Unanswerable,
    names_of,
)
from labeler.evaluation.origin import kin_behind, kin_finding, origin_findings
from labeler.evaluation.scores import RunScores, counted, run_scores
from labeler.evaluation.summary import headline, in_order
from labeler.evaluation.tables import (
    comparison_as_json,
    comparison_table,
    query_table,
    run_as_json,
    scenario_table,
    score_table,
    scores_frame,
)
from labeler.evaluation.warnings import (
    few_queries,
    hole_findings,
    name_findings,
    qrels_findings,
    run_findings,
    score_findings,
    verdict_findings,
)
from labeler.messages import count_of
from labeler.metrics import parse_all
from labeler.report.finding import Finding, merged
from labeler.report.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.evaluation.comparison.movers import Mover

RUNS_NAMED = 3
"""So many of the highest scores stand in what a notebook prints of a report."""


@dataclass(frozen=True, repr=False)
class Report:
    """All that an evaluation says: scores of each run, comparisons with the baseline, findings."""

    qrels: str
    measures: tuple[str, ...]
    runs: tuple[RunScores, ...]
    comparisons: tuple[Comparison, ...] = ()
    findings: tuple[Finding, ...] = ()
    discrimination: tuple[Discrimination, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    together: SeveralRuns | None = None

    @cached_property
    def difference_bounds(self) -> tuple[DifferenceBounds, ...]:
        """What unjudged documents leave open of each run's difference from the baseline."""
        if self.together is None or not self.comparisons:
            return ()
        return tuple(self.together.difference_bounds(self.comparisons[0].baseline))

    @property
    def ranked(self) -> list[RunScores]:
        """The runs by their score by the first measure, the best first."""
        return in_order(self.runs, self.measures[0])

    @property
    def headline(self) -> list[str]:
        """Sentences: which run leads by the first measure, and how sure that is."""
        return headline(self.ranked, self.compared(), self.measures[0])

    def compared(self, measures: Sequence[str] | None = None) -> list[Comparison]:
        """The comparisons by some measures, else by the first that is a mean; best runs first."""
        names = self._first_compared if measures is None else measures
        order = {run.name: place for place, run in enumerate(self.ranked)}
        of = [c for name in names for c in self.comparisons if c.measure == name]
        return sorted(of, key=lambda c: (names.index(c.measure), order[c.run]))

    @property
    def _first_compared(self) -> list[str]:
        return [c.measure for c in self.comparisons][:1]

    def tables(self, compare: Sequence[str] | None = None) -> list[Table]:
        """The tables `scores`, `comparisons`, `discrimination`, `equivalence` and `scenarios`.

        Those without a row are left out. Runs are compared by the measures of `compare`, by the
        first of them by default.
        """
        tables = [
            score_table(self.ranked, self.measures),
            comparison_table(self.compared(compare), self.discrimination),
            discrimination_table(self.discrimination),
            equivalence_table(self.equivalences),
            scenario_table(self.ranked),
        ]
        return [table for table in tables if table.rows]

    def difference_bounds_table(self) -> Table:
        """The table `difference-bounds`: a row for each run and measure, against the baseline."""
        return difference_bounds_table(self.difference_bounds)

    def query_table(self) -> Table:
        """The table `queries`: a row for each run and query, a column for each measure."""
        return query_table(self.runs, self.measures)

    def movers(self, count: int, texts: Mapping[str, str] | None = None) -> list[Mover]:
        """So many queries that gained most, and that lost most, against the baseline, by run."""
        from labeler.evaluation.comparison.movers import movers

        baseline = self.comparisons[0].baseline if self.comparisons else None
        return movers(self.runs, baseline, count, texts or {})

    def frame(self, *, per_query: bool = False) -> DataFrame:
        """The scores as a pandas DataFrame: a row for each run and measure, with its interval.

        With `per_query` a row for each run and query, and a column for each measure.
        """
        return self.query_table().frame() if per_query else scores_frame(self.runs)

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """The JSON of the command `evaluate`; what is undefined is None."""
        return {
            "qrels": self.qrels,
            "measures": list(self.measures),
            "runs": [run_as_json(run, per_query=per_query) for run in self.ranked],
            "comparisons": [comparison_as_json(comparison) for comparison in self.comparisons],
            "discrimination": list(map(discrimination_as_json, self.discrimination)),
            "equivalence": list(map(equivalence_as_json, self.equivalences)),
            "difference_bounds": list(map(asdict, self.difference_bounds)),
            "warnings": [str(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        first = self.measures[0]
        means = [(run.name, run.scores.means()[first]) for run in self.ranked[:RUNS_NAMED]]
        scores = [f"{name} {mean:.4f}" for name, mean in means]
        scores += ["…"] if len(self.runs) > RUNS_NAMED else []
        of = f"{first} of {count_of(len(self.runs), 'run', 'runs')}"
        return f"<Report by {short_name(self.qrels)}; {of}: {', '.join(scores)}>"

    def _repr_html_(self) -> str:
        from labeler.report.notebook import notebook_html

        said = (Finding(sentence, level="note") for sentence in self.headline)
        return notebook_html(self.tables()[:2], [*said, *merged(self.findings)])


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
    margin: Margin = None,
) -> Report:
    """Score runs against qrels, with intervals, tests and the share that is judged.

    Qrels are a path, a dict, a DataFrame or rows of (query, document, grade); so is a run. `runs`
    is one run, several, or a dict of names to runs. Where `qrels` is a collection, its own runs are
    scored. Measures are names, as `"nDCG@10 AP"` too, or those of `ir_measures`. With a `margin`,
    in the measures' units or one for each measure, it is said whether runs are shown to differ by
    less from the baseline. `Scoring` and `EvaluationOptions` explain the other parameters.

    >>> import labeler
    >>> qrels = {"q1": {"d1": 3, "d2": 0}, "q2": {"d5": 2, "d6": 0}}
    >>> bm25 = {"q1": {"d2": 9.1, "d1": 8.4}, "q2": {"d5": 4.0, "d6": 3.1}}
    >>> dense = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d5": 0.7}}
    >>> report = labeler.evaluate(qrels, {"bm25": bm25, "dense": dense}, ["RR@10", "P@1"])
    >>> report.frame()[["run", "measure", "value"]].values.tolist()
    [['bm25', 'RR@10', 0.75], ['bm25', 'P@1', 0.5], ['dense', 'RR@10', 1.0], ['dense', 'P@1', 1.0]]
    >>> report.comparisons[0].verdict
    'unresolvable'
    """
    scoring = Scoring(missing, unanswerable, ties, max_grade, verdicts)
    names = names_of(measures)
    margins = margins_by_measure(margin, names)
    options = EvaluationOptions(names, scoring, baseline, interval, scenarios, seed, margins)
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
    pool = pool_from(qrels, lambda text: findings.append(Finding(text)), name)
    scoring = options.scoring.with_top_grade(top_grade_beside(qrels))
    findings += qrels_findings(pool, measures, scoring)
    findings += verdict_findings(scoring.verdicts, pool)
    scored = []
    together = SeveralRuns(pool.queries, measures)
    shared = options.scenarios and len(runs) > 1
    for run_name, run in runs.items():
        ranked, facts = rank(run, pool, scoring.ties, holes=shared)
        findings += run_findings(run_name, pool, facts, scoring)
        ranked = counted(ranked, scoring)
        if facts.holes is not None:
            together.add(run_name, ranked, facts.holes)
        scored.append(run_scores(run_name, ranked, measures, options, alone=not shared))
        findings += score_findings(run_name, scored[-1].scores)
    if shared:
        scored = [replace(run, scenarios=together.scenarios(run.name)) for run in scored]
    between = compared(scored, measures[0], options, findings)
    findings += [*few_queries(scored), *hole_findings(scored)]
    findings += [*origin_findings(qrels), *kin_finding(kin_behind(qrels, runs))]
    texts = tuple(map(str, measures))
    told = (between.comparisons, tuple(findings), between.discrimination, between.equivalences)
    return Report(pool.name, texts, tuple(scored), *told, together if shared else None)


def check_baseline(baseline: str | None, runs: Mapping[str, object]) -> None:
    """`Misuse` where no run has the baseline's name."""
    if baseline is not None and baseline not in runs:
        listed = ", ".join(runs)
        problem = f"no run {baseline!r} for a baseline; runs: {listed}"
        raise Misuse(problem, parameter="baseline")
