"""What unjudged documents leave open of several runs, where those of each are candidates of all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import holes_outside
from labeler.evaluation.holes.candidates import UnjudgedOfAllRuns
from labeler.evaluation.holes.differences import EXACT, WORK, TwoRuns, most_difference, pair_of
from labeler.evaluation.holes.scenarios import ends_of
from labeler.metrics import Measure, Rankings
from labeler.report.table import Cell, Column, Ends, Table
from labeler.trec.rankings import Holes

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


class SeveralRuns:
    """The runs of one evaluation, whose unjudged documents are candidates of all of them."""

    def __init__(self, queries: Sequence[str], measures: Sequence[Measure]) -> None:
        self._queries = {query: index for index, query in enumerate(queries)}
        self._candidates = UnjudgedOfAllRuns(queries)
        self._own: dict[str, Integers] = {}
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

    def joined(self, name: str) -> Rankings:
        """A run's rankings with the other runs' candidates in its pool."""
        return self._candidates.joined(self.runs[name].ranked, self._own[name])

    def difference_bounds(self, baseline: str) -> Iterator[DifferenceBounds]:
        """Every other run against the baseline, by each measure that has bounds of its own."""
        joined = {name: self.joined(name) for name in self.runs}
        if len({ranked.queries for ranked in joined.values()}) > 1:
            return
        base = joined[baseline]
        for name, ranked in joined.items():
            if name == baseline:
                continue
            pair = pair_of(
                (ranked, base),
                (self._near(name, ranked), self._near(baseline, base)),
                holes_outside(ranked, 0),
            )
            for measure in self._measures:
                if measure.definition.summary in MEANS:
                    yield from _bounds(name, baseline, measure, pair)

    def _near(self, name: str, ranked: Rankings) -> Holes:
        """A run's holes by query of its rankings, of which some of the qrels may be left out."""
        number = np.full(len(self._queries), -1, dtype=np.int64)
        number[[self._queries[query] for query in ranked.queries]] = np.arange(ranked.n)
        holes = self.runs[name].holes
        near = holes.where(number[holes.query] >= 0)
        return near._replace(query=number[near.query])


def _bounds(
    name: str, baseline: str, measure: Measure, pair: TwoRuns
) -> Iterator[DifferenceBounds]:
    ends = [ends_of(measure, run) for run in pair.runs]
    if ends[0] is None or ends[1] is None:
        return
    values = [measure.per_query(run) for run in pair.runs]
    first, second = ends[0], ends[1]
    most = most_difference(measure, pair, (first[1], second[0]))
    least = -most_difference(measure, pair.reversed, (second[1], first[0]))
    means = (_mean(values[0] - values[1]), _mean(least), _mean(most))
    yield DifferenceBounds(name, baseline, str(measure), *means, measure.name in EXACT)


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
