"""Scoring runs against qrels: one report of means, intervals, comparisons and findings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.errors import Misuse, about, check_known
from labeler.evaluation.equivalence import Equivalence, equivalence_table, equivalences
from labeler.evaluation.groups import (
    ByGroup,
    QueryScope,
    group_table,
    grouped_by,
    grouping_of,
    scope_of,
)
from labeler.evaluation.holes import UnjudgedOfAllRuns
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    Kin,
    RunsByName,
    kin_behind,
    kin_finding,
    origin_findings,
    qrels_path,
    rank,
    runs_from,
    short,
    top_grade_beside,
)
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    FEWEST,
    Compare,
    EvaluationOptions,
    Facts,
    Missing,
    Scoring,
    Stale,
    Unanswerable,
    names_of,
)
from labeler.evaluation.rulings import Ruling, gate_table
from labeler.evaluation.scores import (
    MEANS,
    NAMED,
    Comparing,
    Comparison,
    RunScores,
    Weights,
    counted,
    few_queries,
    hole_findings,
    identical_findings,
    in_order,
    is_sum,
    listed,
    measure_column,
    name_findings,
    over_common_queries,
    qrels_findings,
    run_findings,
    score_findings,
)
from labeler.evaluation.verdicts import (
    GradesUsed,
    Trust,
    against,
    allowance,
    beside,
    fill_paths,
    filled_pool,
    may_be_best,
    scenario_table,
    told_apart,
)
from labeler.messages import count_of
from labeler.metrics import Measure, parse, parse_all, score
from labeler.metrics.judged import JudgedPairs
from labeler.report.finding import Finding
from labeler.report.result import Result, as_plain
from labeler.report.table import Column, Row, Table, frame_of, interval_text, table_of

if TYPE_CHECKING:
    from pandas import DataFrame


def evaluate(  # noqa: PLR0913 - whoever calls it names the few that are needed
    qrels: AnyQrels,
    runs: AnyRuns | None = None,
    measures: str | Sequence[object] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    compare: Compare = "best",
    missing: Missing = "zero",
    unanswerable: Unanswerable = "count",
    max_grade: int | None = None,
    scenarios: bool = True,
    seed: int = 0,
    stale: Stale = "drop",
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | Mapping[str, float] = "",
    queries: str | os.PathLike[str] | Facts | None = None,
    min_queries: int = FEWEST,
    fill: str = "",
) -> Report:
    """Score runs against qrels, with intervals, tests and the share that is judged.

    Qrels are a path, a dict, a DataFrame or rows of (query, document, grade); so is a run. `runs`
    is one run, several, or a dict of names to runs. Where `qrels` is a collection, its own runs are
    scored. Measures are names, as `"nDCG@10 AP"` too, or those of `ir_measures`. With `by`, a field
    of the queries' metadata or a dict of queries to groups, `report.by` has the scores of each
    group; `weights` are what queries count. Both are looked up in the collection, or in `queries`.
    `fill` names a set of the same collection, or a file, whose grades stand where `qrels` has none.
    `Scoring`, `EvaluationOptions` and `Grouping` explain the other parameters.

    >>> import labeler
    >>> qrels = {"q1": {"d1": 3, "d2": 0}, "q2": {"d5": 2, "d6": 0}}
    >>> bm25 = {"q1": {"d2": 9.1, "d1": 8.4}, "q2": {"d5": 4.0, "d6": 3.1}}
    >>> dense = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d5": 0.7}}
    >>> report = labeler.evaluate(qrels, {"bm25": bm25, "dense": dense}, ["RR@10", "P@1"])
    >>> report.frame()[["run", "measure", "value"]].values.tolist()
    [['bm25', 'RR@10', 0.75], ['bm25', 'P@1', 0.5], ['dense', 'RR@10', 1.0], ['dense', 'P@1', 1.0]]
    >>> report.comparisons[0].doubt.because
    '2 queries are too few (at least 10)'
    >>> report = labeler.evaluate(qrels, bm25, "P@1", by={"q1": "keyword", "q2": "question"})
    >>> [(score.group, score.value) for score in report.by[0].scores]
    [('keyword', 0.0), ('question', 1.0)]
    """
    scoring = Scoring(missing, unanswerable, max_grade, stale)
    names = names_of(measures)
    grouping = grouping_of(by, weights, queries, min_queries)
    options = EvaluationOptions(
        names, scoring, baseline, compare, fill, scenarios, seed, grouping=grouping
    )
    return report_on(qrels, runs_from(runs, qrels), options)


def report_on(qrels: AnyQrels, runs: RunsByName, options: EvaluationOptions) -> Report:
    """The report of `evaluate`, of runs that have their names, with its options in one place."""
    with about("measures"):
        measures = parse_all(options.measures)
    if options.baseline is not None:
        check_known("run", options.baseline, runs, "baseline")
    findings = name_findings(options.measures)
    scoring = options.scoring
    pool, grades = filled_pool(qrels, runs, options, lambda text: findings.append(Finding(text)))
    if grades.filling:
        both = count_of(grades.by_both, "pair")
        text = "are as it gave them: too few of its pairs have people's to correct them"
        if grades.by_both:
            text = f"are drawn as people grade what it grades so, by {both} that both graded"
        text = f"{text}; intervals allow for how far off that may be"
        findings.append(Finding(f"{options.fill}'s grades in the holes {text}", level="note"))
    scoring = scoring.with_top_grade(top_grade_beside(qrels))
    options = replace(options, scoring=scoring)
    findings += qrels_findings(pool, measures, scoring)
    grouping = options.grouping
    grouping.check()
    is_grouped = grouping.by or grouping.weights
    scope = scope_of(grouping, qrels, pool.queries) if is_grouped else QueryScope()
    findings += scope.findings
    scored, of_runs = score_runs(runs, pool, measures, options, scope.weights)
    scored = [
        replace(run, scores=replace(run.scores, lean=grades.lean(run.name))) for run in scored
    ]
    findings += of_runs
    comparing = compared(scored, options, findings)
    of_margins: tuple[Equivalence, ...] = ()
    if comparing is not None and options.margins and (baseline := options.baseline):
        marks = {run.name: run.mark for run in scored}
        identical = [run for run, mark in marks.items() if mark == marks[baseline]]
        of_margins = tuple(equivalences(comparing, options.margins, identical))
    by = grouped_by(scope, scored, options) if grouping.by else ()
    findings += [finding for grouped in by for finding in grouped.findings]
    filling = fill_paths(qrels_path(qrels), options.fill)[0] if options.fill else qrels
    kin = kin_behind(filling, runs)
    of_judges = (*origin_findings(qrels), *kin_finding(kin))
    return Report(
        pool.name,
        tuple(map(str, measures)),
        tuple(scored),
        comparing,
        tuple(findings),
        of_judges,
        of_margins,
        by,
        grouping.weights,
        pool.stale,
        grades,
        tuple(kin),
    )


def score_runs(
    runs: RunsByName,
    pool: JudgedPairs,
    measures: Sequence[Measure],
    options: EvaluationOptions,
    weights: Weights | None,
) -> tuple[list[RunScores], list[Finding]]:
    """Each run's scores, and the findings about them.

    What unjudged documents leave open is worked out of unweighted means alone. Unjudged documents
    that any run retrieved may be relevant, so they count among those that each run may lack.
    """
    scoring, is_open = options.scoring, options.scenarios and weights is None
    scored, findings = list[RunScores](), list[Finding]()
    of_all = UnjudgedOfAllRuns(pool.queries)
    with options.progress("runs scored") as advance:
        for number, (name, run) in enumerate(runs.items(), start=1):
            ranked, facts = rank(run, pool, outside=is_open and len(runs) > 1)
            findings += run_findings(name, pool, facts, scoring)
            ranked = counted(ranked, scoring, weights)
            weighting = None if weights is None else weights.of(ranked.queries)
            scores = replace(score(ranked, measures), weighting=weighting)
            if facts.outside is not None:
                of_all.of_runs.append(facts.outside)
            seed, holes = options.seed, of_all if is_open else None
            of = RunScores(name, scores, seed, replace(ranked), facts.outside, holes)
            scored.append(replace(of, file=run) if isinstance(run, Path) else of)
            findings += score_findings(name, scores)
            advance(number, len(runs))
    return scored, findings


def compared(
    runs: Sequence[RunScores],
    options: EvaluationOptions,
    findings: list[Finding],
) -> Comparing | None:
    """All runs against the baseline that is asked for, or against the best by each measure.

    Over the queries that all runs have. The best of the same scores is no baseline that was fixed
    beforehand: the tests allow for its choice.
    """
    if len(runs) < 2:
        return None
    scores = over_common_queries({run.name: run.scores for run in runs})
    queries = len(next(iter(scores.values())).queries)
    if queries < max(len(run.scores.queries) for run in runs):
        common = count_of(queries, "query")
        findings.append(Finding(f"runs are compared over the {common} that all of them have"))
    if not queries:
        return None
    findings += identical_findings(runs)
    return Comparing(scores, options.baseline, options.seed, options.compare)


def mean_measure(measure: object) -> Measure:
    """The measure, refused where it is no mean over queries."""
    with about("measure"):
        parsed = parse(str(measure))
    if parsed.definition.summary not in MEANS:
        raise Misuse(f"{measure} is no mean over queries", parameter="measure")
    return parsed


# What an evaluation says: scores of runs, comparisons with a baseline, findings, as a result.


@dataclass(frozen=True, repr=False)
class Report(Result):
    """All that an evaluation says: scores of each run, comparisons with the baseline, findings.

    `stale` counts the grades of texts that have changed since they were judged. `of_scoring` and
    `of_judges` are findings that were met on the way. `gates` is what comes of gates.
    """

    qrels: str
    measures: tuple[str, ...]
    runs: tuple[RunScores, ...]
    comparing: Comparing | None = None
    of_scoring: tuple[Finding, ...] = ()
    of_judges: tuple[Finding, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    by: tuple[ByGroup, ...] = ()
    weights: str = ""
    stale: int = 0
    grades: GradesUsed = field(default_factory=GradesUsed)
    kin: tuple[Kin, ...] = ()
    gates: Sequence[Ruling] = ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader of the scores should know; what is unjudged is worked out for it."""
        fewest = min(len(run.scores.queries) for run in self.runs)
        of_runs = [*few_queries(fewest), *hole_findings(self.runs)]
        return (*self.of_scoring, *of_runs, *self.of_judges)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The runs against the baseline, by each measure that is a mean over queries."""
        return tuple(self._compared())

    @cached_property
    def trust(self) -> Trust:
        """How far these scores may be believed."""
        by_name = {run.name: run for run in self.runs}
        return Trust(self.grades, by_name, {kin.run: kin for kin in self.kin}, self.qrels)

    def _compared(self, most: int | None = None) -> Iterator[Comparison]:
        """The same by so many measures, as far as they may be believed."""
        if (of := self.comparing) is not None:
            for measure in of.measures[:most]:
                yield from map(self.trust.believed, of.by(measure))

    @property
    def ranked(self) -> list[RunScores]:
        """The runs by their score by the first measure, the best first."""
        return in_order(self.runs, self.measures[0])

    @property
    def sentences(self) -> list[str]:
        """Which run leads by the first measure, and how sure that is."""
        return headline(self.ranked, self.compared(), self.measures[0])

    def compared(self) -> list[Comparison]:
        """The comparisons by the first measure that is a mean; best runs first."""
        order = {run.name: number for number, run in enumerate(self.ranked)}
        return sorted(self._compared(1), key=lambda c: order[c.run])

    def tables(self, *, scenarios: bool = False) -> list[Table]:
        """The tables `scores`, `comparisons`, `equivalence`, groups, if asked `scenarios`, `gates`.

        Those without a row are left out. Runs are compared by the first measure.
        """
        tables = [
            replace(score_table(self.ranked, self.measures), note=str(self.grades)),
            comparison_table(self.compared()),
            *([equivalence_table(self.equivalences)] if self.equivalences else []),
            *self.group_tables(),
            *([scenario_table(self.ranked)] if scenarios else []),
            *([gate_table(self.gates)] if self.gates else []),
        ]
        return [table for table in tables if table.rows]

    def group_tables(self) -> list[Table]:
        """For each field that groups queries, a table of scores, for people."""
        runs = [run.name for run in self.ranked]
        return [group_table(grouped, runs, self.measures) for grouped in self.by]

    def query_table(self) -> Table:
        """The table `queries`: a row for each run and query, a column for each measure."""
        columns = [*(Column(name, align="left") for name in ("run", "query"))]
        rows: list[Row] = [
            (run.name, query, *values.values())
            for run in self.runs
            for query, values in run.scores.per_query().items()
        ]
        return Table("queries", [*columns, *map(Column, self.measures)], rows)

    def frame(self, *, per_query: bool = False) -> DataFrame:
        """The scores as a pandas DataFrame: a row for each run and measure, with its interval.

        With `per_query` a row for each run and query, and a column for each measure.
        """
        if per_query:
            return self.query_table().frame()
        rows = (
            (run.name, len(run.scores.queries), name, *mean)
            for run in self.runs
            for name, mean in run.means().items()
        )
        return frame_of(rows, "run", "queries", "measure", "value", "low", "high")

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """The JSON of the command `evaluate`; what is undefined is None."""
        asked_for = {"groups": self.by, "weights": self.weights, "gates": self.gates}
        figures = self.picked(
            *("qrels", "grades", "measures", "stale", "comparisons"),
            equivalence=self.equivalences,
            runs=[run.as_json(per_query=per_query) for run in self.ranked],
            warnings=self.findings,
        )
        return figures | {name: as_plain(of) for name, of in asked_for.items() if of}

    def __repr__(self) -> str:
        first, more = self.measures[0], ", …" if len(self.runs) > NAMED else ""
        best = [f"{run.name} {run.means()[first].value:.4f}" for run in self.ranked[:NAMED]]
        return (
            f"<Report by {short(self.qrels)}; {first} of "
            f"{count_of(len(self.runs), 'run')}: {', '.join(best)}{more}>"
        )


# Which run leads, by how much, and how sure that is, in sentences.


def headline(
    runs: Sequence[RunScores], comparisons: Sequence[Comparison], measure: str
) -> list[str]:
    """Which run has the best score by the measure, and which of the others it can be told from.

    `runs` stand in order, the best first.
    """
    best = runs[0]
    mean, spec = best.means()[measure], ".0f" if is_sum(measure) else ".4f"
    if mean.value is None or math.isnan(mean.value):
        return [f"{measure} is undefined for every query, so that nothing is said of the runs."]
    over, weighting = count_of(len(best.scores.queries), "query"), best.scores.weighting
    if weighting is not None and not is_sum(measure):  # in a sum they count alike
        alike = count_of(math.floor(weighting.effective), "query")
        over = f"{over} by weight (as precise as {alike} of equal weight)"
    if len(runs) == 1:
        return [f"{best.name}: {measure} is {interval_text(mean, spec, '.3f')} over {over}."]
    equals = [r.name for r in runs[1:] if math.isclose(r.scores.means()[measure], mean.value)]
    also = f", {'as has' if len(equals) == 1 else 'as have'} {listed(equals)}" if equals else ""
    score = interval_text(mean.value, spec)
    leads = f"{best.name} has the highest {measure}, {score} over {over}{also}."
    of = [c for c in comparisons if c.measure == measure]
    believed = told_apart([c for c in of if c.doubt is None], best.name)
    doubted = [c for c in of if c.doubt is not None]
    if doubted:  # the command that would change it is the first's
        first, names = doubted[0], listed([c.run for c in doubted])
        differ = "differs" if len(doubted) == 1 else "differ"
        believed.append(f"Whether {names} {differ} from {first.baseline} is {first.doubt}.")
    return [*may_be_best(of), leads, *believed]


# Scores and comparisons as tables.


def score_table(runs: Sequence[RunScores], measures: Sequence[str]) -> Table:
    """A row for each run: means with their intervals, then the shares judged."""
    judged = [name for name in runs[0].judged if name not in measures]
    alike = len({run.scores.queries for run in runs}) == 1
    # of all runs alike, the sentence above the table says how many queries there are
    columns = [Column("run", align="left"), Column("queries", only="programs" if alike else "")]
    columns += [*map(measure_column, measures), *map(Column, judged)]
    rows = [
        (run.name, len(run.scores.queries), *run.means().values(), *map(run.judged.get, judged))
        for run in runs
    ]
    return Table("scores", columns, rows)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """A row for each comparison with the baseline, which a header for people names."""
    programs = table_of("comparisons", Comparison, comparisons)
    if not comparisons:
        return programs
    of_several = len({c.measure for c in comparisons}) > 1
    people = {
        **{side.name: side for side in beside(comparisons)},
        **({"measure": Column("measure", align="left")} if of_several else {}),
        "verdict": Column("verdict", align="left", widest=None),
        "interval": Column("difference", format="+.4f", ends="+.3f"),
        "counts": Column("w/t/l"),
        "p": Column("p"),
    }
    columns = [replace(column, only="programs") for column in programs.columns]
    columns += [replace(column, only="people") for column in people.values()]
    rows = [
        (*row, *(getattr(c, field) for field in people))
        for row, c in zip(programs.rows, comparisons, strict=True)
    ]
    by = "" if of_several else f" by {comparisons[0].measure}"
    title = f"{against(comparisons)}{by}".strip()
    return Table("comparisons", columns, rows, title, allowance(comparisons))
