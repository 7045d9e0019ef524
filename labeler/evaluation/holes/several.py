"""What unjudged documents leave open of several runs, where those of each are candidates of all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import Ends as TwoEnds
from labeler.evaluation.holes.bounds import holes_outside
from labeler.evaluation.holes.candidates import UnjudgedOfAllRuns
from labeler.evaluation.holes.differences import EXACT, WORK, TwoRuns, most_difference, pair_of
from labeler.evaluation.holes.scenarios import EndsByMeasure, scenarios
from labeler.metrics import Measure, Rankings
from labeler.report.table import Cell, Column, Ends, Table
from labeler.trec.holes import Holes

MEANS = ("mean", "share")


@dataclass(frozen=True)
class DifferenceBounds:
    """The least and the most that a run's difference from the baseline can be, over all grades.

    `exact` says that some grades reach them; else all differences lie between them.
    """

    run: str
    baseline: str
    measure: str
    difference: float
    least: float
    most: float
    exact: bool


class RankedRun(NamedTuple):
    """A run's rankings of the queries that count, and its holes by query of the qrels."""

    ranked: Rankings
    holes: Holes


class LeftOpen(NamedTuple):
    """What unjudged documents leave open of a run: its scenarios, and what differences need.

    `unjudged` counts them by query, retrieved by any run; `ends` bound each query's scores.
    """

    scenarios: dict[str, dict[str, float]]
    unjudged: Integers
    ends: EndsByMeasure


class SeveralRuns:
    """The runs of one evaluation, whose unjudged documents are candidates of all of them."""

    def __init__(self, queries: Sequence[str], measures: Sequence[Measure]) -> None:
        self._queries = {query: index for index, query in enumerate(queries)}
        self._candidates = UnjudgedOfAllRuns(queries)
        self._own: dict[str, Integers] = {}
        self._unjudged: dict[str, Integers] = {}
        self._ends: dict[str, EndsByMeasure] = {}
        self._measures = measures
        self.runs: dict[str, RankedRun] = {}

    def add(self, name: str, ranked: Rankings, holes: Holes) -> None:
        """One more run; of its holes those are kept that differences of these measures need."""
        self._candidates.add(holes)
        own = np.bincount(holes.query[holes.outside], minlength=len(self._queries))
        self._own[name] = own
        cutoffs = [m.cutoff for m in self._measures if m.name in WORK]
        depth = max((math.inf if c is None else float(c) for c in cutoffs), default=0.0)
        near = holes.rank < depth
        self.runs[name] = RankedRun(ranked, holes.where(near))

    def left_open(self, name: str) -> LeftOpen:
        """What a run's unjudged documents leave open, and those that the other runs retrieved."""
        joined = self._candidates.joined(self.runs[name].ranked, self._own[name])
        ends: EndsByMeasure = {}
        return LeftOpen(scenarios(joined, self._measures, ends), holes_outside(joined, 0), ends)

    def hold(self, name: str, left_open: LeftOpen) -> None:
        """Keep what `difference_bounds` needs of what a run leaves open."""
        self._unjudged[name], self._ends[name] = left_open.unjudged, left_open.ends

    def difference_bounds(self, baseline: str) -> Iterator[DifferenceBounds]:
        """Every other run against the baseline, by each measure whose scores have ends.

        Those are in what is held of each run.
        """
        if len({run.ranked.queries for run in self.runs.values()}) > 1:
            return
        measures = [m for m in self._measures if m.definition.summary in MEANS]
        base = self.runs[baseline].ranked
        for name in (name for name in self.runs if name != baseline):
            ranked = self.runs[name].ranked
            holes = (self._near(name, ranked), self._near(baseline, base))
            pair = pair_of((ranked, base), holes, self._unjudged[name])
            for measure in measures:
                first, second = (self._ends[run].get(str(measure)) for run in (name, baseline))
                if first is not None and second is not None:
                    yield _bounds((name, baseline), measure, pair, (first, second))

    def _near(self, name: str, ranked: Rankings) -> Holes:
        """A run's holes by query of its rankings, of which some of the qrels may be left out."""
        number = np.full(len(self._queries), -1, dtype=np.int64)
        number[[self._queries[query] for query in ranked.queries]] = np.arange(ranked.n)
        holes = self.runs[name].holes
        near = holes.where(number[holes.query] >= 0)
        return near._replace(query=number[near.query])


def _bounds(
    names: tuple[str, str], measure: Measure, pair: TwoRuns, ends: tuple[TwoEnds, TwoEnds]
) -> DifferenceBounds:
    """By one measure, from the ends of both scores for each query."""
    first, second = ends
    values = [measure.per_query(run) for run in pair.runs]
    most = most_difference(measure, pair, (first[1], second[0]))
    least = -most_difference(measure, pair.reversed, (second[1], first[0]))
    means = (_mean(values[0] - values[1]), _mean(least), _mean(most))
    return DifferenceBounds(*names, str(measure), *means, measure.name in EXACT)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def difference_bounds_table(bounds: Sequence[DifferenceBounds]) -> Table:
    """A row for each run and measure: its difference, and what it could be."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        Column("difference", format="+.4f"),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends="+.4f", only="people"),
        Column("exact", align="left"),
    ]
    rows: list[list[Cell]] = [
        [
            *(b.run, b.measure, b.difference, b.least, b.most, Ends(b.least, b.most)),
            "yes" if b.exact else "outer",
        ]
        for b in bounds
    ]
    title = f"against {bounds[0].baseline}, were the unjudged documents judged" if bounds else ""
    return Table("difference-bounds", columns, rows, title)
