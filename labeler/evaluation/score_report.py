"""What an evaluation says: scores of runs, comparisons with a baseline, findings, as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labeler.evaluation.comparison.equivalence import (
    Equivalence,
    equivalence_as_json,
    equivalence_table,
)
from labeler.evaluation.comparison.paired import (
    Comparison,
    Discrimination,
    discrimination_as_json,
    discrimination_table,
)
from labeler.evaluation.groups import ByGroup
from labeler.evaluation.holes.several import (
    DifferenceBounds,
    SeveralRuns,
    difference_bounds_table,
)
from labeler.evaluation.inputs import short_name
from labeler.evaluation.scores import RunScores
from labeler.evaluation.summary import (
    comparison_as_json,
    comparison_table,
    headline,
    in_order,
    query_table,
    run_as_json,
    scenario_table,
    score_table,
    scores_frame,
)
from labeler.messages import count_of
from labeler.report.finding import Finding, merged
from labeler.report.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.evaluation.scores import Mover


RUNS_NAMED = 3
"""So many of the highest scores stand in what a notebook prints of a report."""


@dataclass(frozen=True, repr=False)
class Report:
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
    together: SeveralRuns | None = None
    by: tuple[ByGroup, ...] = ()
    weights: str = ""
    stale: int = 0

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
            equivalence_table(self.equivalences),
            scenario_table(self.ranked),
        ]
        return [table for table in tables if table.rows]

    def group_tables(self, compare: Sequence[str] | None = None) -> list[Table]:
        """For each field that groups queries, tables of scores and of differences, for people."""
        from labeler.evaluation.summary import group_tables

        runs, names = [run.name for run in self.ranked], compare or self._first_compared
        each = (group_tables(grouped, runs, self.measures, names) for grouped in self.by)
        return [table for tables in each for table in tables]

    def group_rows(self, fields: Sequence[str] | None = None) -> Table:
        """The table `groups`, for programs: a row for each field, group, run and measure.

        `fields` are those that get rows, all by default.
        """
        from labeler.evaluation.summary import group_rows

        return group_rows([by for by in self.by if fields is None or by.by in fields])

    def difference_bounds_table(self) -> Table:
        """The table `difference-bounds`: a row for each run and measure, against the baseline."""
        return difference_bounds_table(self.difference_bounds)

    def query_table(self) -> Table:
        """The table `queries`: a row for each run and query, a column for each measure."""
        return query_table(self.runs, self.measures)

    def movers(self, count: int, texts: Mapping[str, str] | None = None) -> list[Mover]:
        """So many queries that gained most, and that lost most, against the baseline, by run."""
        from labeler.evaluation.scores import movers

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
            "stale": self.stale,
            "runs": [run_as_json(run, per_query=per_query) for run in self.ranked],
            "comparisons": [comparison_as_json(comparison) for comparison in self.comparisons],
            "discrimination": list(map(discrimination_as_json, self.discrimination)),
            "equivalence": list(map(equivalence_as_json, self.equivalences)),
            "difference_bounds": list(map(asdict, self.difference_bounds)),
            **self._groups_as_json(),
            "warnings": [str(finding) for finding in self.findings],
        }

    def _groups_as_json(self) -> dict[str, Any]:
        if not self.by and not self.weights:
            return {}
        from labeler.evaluation.summary import groups_as_json

        return groups_as_json(self.by, self.weights)

    def __repr__(self) -> str:
        first = self.measures[0]
        means = [(run.name, run.scores.means()[first]) for run in self.ranked[:RUNS_NAMED]]
        scores = [f"{name} {mean:.4f}" for name, mean in means]
        scores += ["…"] if len(self.runs) > RUNS_NAMED else []
        of = f"{first} of {count_of(len(self.runs), 'run', 'runs')}"
        return f"<Report by {short_name(self.qrels)}; {of}: {', '.join(scores)}>"

    def _repr_html_(self) -> str:
        from labeler.report.result import notebook_html

        tables = [*self.tables()[:2], *self.group_tables()]
        return notebook_html(tables, merged(self.findings), self.headline)
