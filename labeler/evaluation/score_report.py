"""What an evaluation says: scores of runs, comparisons with a baseline, findings, as a result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from labeler.evaluation.equivalence import Equivalence, equivalence_table
from labeler.evaluation.groups import ByGroup, group_rows, group_table
from labeler.evaluation.inputs import short_name
from labeler.evaluation.paired import (
    COLORS,
    Comparison,
    Correction,
    Discrimination,
    discrimination_table,
)
from labeler.evaluation.scores import (
    NAMED,
    RunScores,
    for_both,
    is_sum,
    listed,
    measure_column,
)
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.metrics.scores import whole_queries
from labeler.report.finding import Finding, merged
from labeler.report.result import Result, as_plain, notebook_html
from labeler.report.table import (
    Cell,
    Column,
    Ends,
    Row,
    Table,
    frame_of,
    interval_text,
    table_of,
)

if TYPE_CHECKING:
    from pandas import DataFrame


class Compared(Protocol):
    """A run beside a baseline, by scores as they are or corrected ones: what is said of both."""

    @property
    def run(self) -> str:
        """The run's name."""

    @property
    def baseline(self) -> str:
        """The name of the run that it is held against."""

    @property
    def correction(self) -> Correction:
        """What p allows for."""

    @property
    def p_corrected(self) -> float:
        """The p that the verdict goes by."""

    @property
    def verdict(self) -> str:
        """Which is better, in words, or that it cannot be told."""


@dataclass(frozen=True, repr=False)
class Report(Result):
    """All that an evaluation says: scores of each run, comparisons with the baseline, findings.

    `stale` counts the grades of texts that have changed since they were judged.
    """

    qrels: str
    measures: tuple[str, ...]
    runs: tuple[RunScores, ...]
    comparisons: tuple[Comparison, ...] = ()
    findings: tuple[Finding, ...] = ()
    discrimination: tuple[Discrimination, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    by: tuple[ByGroup, ...] = ()
    weights: str = ""
    stale: int = 0

    @property
    def ranked(self) -> list[RunScores]:
        """The runs by their score by the first measure, the best first."""
        return in_order(self.runs, self.measures[0])

    @property
    def sentences(self) -> list[str]:
        """Which run leads by the first measure, and how sure that is."""
        return headline(self.ranked, self.compared(), self.measures[0])

    def compared(self, measures: Sequence[str] | None = None) -> list[Comparison]:
        """The comparisons by some measures, else by the first that is a mean; best runs first."""
        names = self._first_compared if measures is None else measures
        order = {run.name: number for number, run in enumerate(self.ranked)}
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
            *([equivalence_table(self.equivalences)] if self.equivalences else []),
            scenario_table(self.ranked),
        ]
        return [table for table in tables if table.rows]

    def group_tables(self) -> list[Table]:
        """For each field that groups queries, a table of scores, for people."""
        runs = [run.name for run in self.ranked]
        return [group_table(grouped, runs, self.measures) for grouped in self.by]

    def group_rows(self, fields: Sequence[str] | None = None) -> Table:
        """The table `groups`, for programs: a row for each field, group, run and measure.

        `fields` are those that get rows, all by default.
        """
        return group_rows([by for by in self.by if fields is None or by.by in fields])

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
        groups = {"groups": as_plain(self.by)} if self.by else {}
        weights = {"weights": self.weights} if self.weights else {}
        figures = self.picked(
            *("qrels", "measures", "stale", "comparisons", "discrimination"),
            equivalence=self.equivalences,
            runs=[run.as_json(per_query=per_query) for run in self.ranked],
            warnings=self.findings,
        )
        return figures | groups | weights

    def __repr__(self) -> str:
        first, more = self.measures[0], ", …" if len(self.runs) > NAMED else ""
        best = [f"{run.name} {run.means()[first].value:.4f}" for run in self.ranked[:NAMED]]
        of = f"{first} of {count_of(len(self.runs), 'run', 'runs')}"
        return f"<Report by {short_name(self.qrels)}; {of}: {', '.join(best)}{more}>"

    def _repr_html_(self) -> str:
        tables = [*self.tables()[:2], *self.group_tables()]
        return notebook_html(tables, merged(self.findings), self.sentences)


def in_order(runs: Sequence[RunScores], measure: str) -> list[RunScores]:
    """The runs by their score, the best first; undefined ones last, equal ones as they stood."""
    sign = 1 if parse(measure).definition.lower_is_better else -1

    def by_mean(run: RunScores) -> tuple[bool, float]:
        mean = run.scores.means()[measure]
        return math.isnan(mean), 0.0 if math.isnan(mean) else sign * mean

    return sorted(runs, key=by_mean)


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
    over = _queries(best, measure)
    if len(runs) == 1:
        return [f"{best.name}: {measure} is {interval_text(mean, spec, '.3f')} over {over}."]
    level = "lowest" if parse(measure).definition.lower_is_better else "highest"
    alike = [r.name for r in runs[1:] if math.isclose(r.scores.means()[measure], mean.value)]
    also = f", {'as has' if len(alike) == 1 else 'as have'} {listed(alike)}" if alike else ""
    score = interval_text(mean.value, spec)
    leads = f"{best.name} has the {level} {measure}, {score} over {over}{also}."
    return [leads, *told_apart([c for c in comparisons if c.measure == measure], best.name)]


def _queries(run: RunScores, measure: str) -> str:
    """How many queries the run is scored over, and how they count; in a sum they count alike."""
    queries = count_of(len(run.scores.queries), "query", "queries")
    if run.scores.weighting is None or is_sum(measure):
        return queries
    alike = count_of(whole_queries(run.scores.weighting.effective), "query", "queries")
    return f"{queries} by weight (as precise as {alike} of equal weight)"


def told_apart(compared: Sequence[Compared], best: str) -> list[str]:
    """Which runs are better or worse than the baseline, and which cannot be told from it."""
    parts = []
    for verdict in ("better", "worse", "cannot tell apart", "unresolvable", "undefined"):
        of = [c for c in compared if c.verdict == verdict]
        if not of:
            continue
        names, p, is_one = listed([c.run for c in of]), [c.p_corrected for c in of], len(of) == 1
        if verdict in ("better", "worse"):
            most = "p" if is_one else "p at most"
            parts.append(f"{names} {'is' if is_one else 'are'} {verdict} ({most} {max(p):.2g})")
        elif verdict == "cannot tell apart":
            least = "p" if is_one else "p at least"
            parts.append(f"{names} cannot be told apart ({least} {min(p):.2g})")
        else:
            parts.append(f"too few queries differ to tell {names} apart by any outcome")
    if not parts:
        return []
    baseline = "it" if compared[0].baseline == best else compared[0].baseline
    return [f"Against {baseline}, {'; '.join(parts)}."]


# Scores and comparisons as tables.


def score_table(runs: Sequence[RunScores], measures: Sequence[str]) -> Table:
    """A row for each run: means with their intervals, then the shares judged."""
    judged = [name for name in runs[0].judged if name not in measures]
    alike = len({run.scores.queries for run in runs}) == 1
    # of all runs alike, the sentence above the table says how many queries there are
    columns = [Column("run", align="left"), Column("queries", only="programs" if alike else "")]
    columns += [*map(measure_column, measures), *map(Column, judged)]
    rows: list[list[Cell]] = []
    for run in runs:
        shares = [run.judged[name] for name in judged]
        rows.append([run.name, len(run.scores.queries), *run.means().values(), *shares])
    return Table("scores", columns, rows)


def scenario_table(runs: Sequence[RunScores]) -> Table:
    """What unjudged documents leave open, a row for each run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        *map(Column, ("score", "unjudged irrelevant", "unjudged of top grade")),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends=".4f", only="people"),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        for name, case in run.scenarios.items():
            mean, ends = run.means()[name].value, Ends(case.get("low"), case.get("high"))
            cases = case["unjudged_irrelevant"], case["unjudged_top"]
            rows.append([run.name, name, mean, *cases, *ends, ends])
    return Table("scenarios", columns, rows)


P_TITLES = {"holm": "p Holm", "hsd": "p HSD"}


def comparison_table(
    comparisons: Sequence[Comparison], discriminations: Iterable[Discrimination] = ()
) -> Table:
    """A row for each comparison with the baseline, which a header for people names."""
    programs = table_of("comparisons", Comparison, comparisons)
    if not comparisons:
        return programs
    measures = list(dict.fromkeys(c.measure for c in comparisons))
    by_measure = [Column("measure", align="left")] if len(measures) > 1 else []
    columns = [
        Column("run", align="left"),
        *by_measure,
        Column("difference", format="+.4f", ends="+.3f"),
        Column("w/t/l"),
        Column("p_corrected", title=P_TITLES[comparisons[0].correction]),
        Column("verdict", colors=COLORS),
    ]
    rows: list[list[Cell]] = [
        [c.run, *([c.measure] if by_measure else []), c.interval, c.counts, c.p_corrected, c.words]
        for c in comparisons
    ]
    title = f"against {comparisons[0].baseline}" + ("" if by_measure else f" by {measures[0]}")
    told = [d for d in discriminations if measures == [d.measure]]
    apart = "".join(f", of which {d.measure} tells {d.told_apart} apart" for d in told)
    note = allowance(comparisons, apart)
    return for_both(programs, Table("comparisons", columns, rows, title, note))


def allowance(compared: Sequence[Compared], apart: str = "") -> str:
    """What p allows for: the runs compared with a baseline, or all pairs; empty of one pair."""
    runs = len({c.run for c in compared})
    if runs == 1:
        return ""
    if compared[0].correction == "holm":
        return f"p allows for the {runs} runs compared with {compared[0].baseline} (Holm)"
    return f"p allows for all {(runs + 1) * runs // 2} pairs of runs (HSD){apart}"
