"""What unjudged documents leave open of several runs, where those of each are candidates of all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import holes_outside
from labeler.evaluation.holes.candidates import UnjudgedOfAllRuns, joined
from labeler.evaluation.holes.differences import EXACT, WORK, TwoRuns, most_difference, pair_of
from labeler.evaluation.holes.scenarios import (
    DOCUMENTS,
    EndsByMeasure,
    scenarios_by_block,
)
from labeler.metrics import Measure, Rankings
from labeler.report.table import Cell, Column, Ends, Table
from labeler.trec.holes import MOST_NEAR, Holes, RunHoles, above

MEANS = ("mean", "share")

_TIMES = 4
"""Of all runs so many times as many holes are kept as of one."""


_Values = tuple[Floats, Floats, Floats]
"""Of each query: the difference, the least and the most that it can be."""


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
    """A run's rankings of the queries that count, and its holes by query of the qrels.

    The holes are all of ranks below `depth`.
    """

    ranked: Rankings
    holes: Holes
    depth: float


def depths_of(measures: Sequence[Measure]) -> tuple[float, ...]:
    """The ranks down to which differences by these measures look at unjudged documents."""
    return tuple({_depth(measure) for measure in measures if measure.name in WORK})


def _depth(measure: Measure) -> float:
    return math.inf if measure.cutoff is None else float(measure.cutoff)


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

    def add(self, name: str, ranked: Rankings, holes: RunHoles) -> None:
        """One more run; of its holes those are kept that differences of these measures need."""
        self._candidates.add(holes)
        self._own[name] = holes.outside
        self.runs[name] = RankedRun(ranked, holes.near, holes.depth)
        while sum(len(run.holes.query) for run in self.runs.values()) > _TIMES * MOST_NEAR:
            self._keep_fewer()

    def _keep_fewer(self) -> None:
        """Keep the holes of all runs down to a smaller depth."""
        deepest = max(run.depth for run in self.runs.values())
        smaller = [depth for depth in (0.0, *depths_of(self._measures)) if depth < deepest]
        for name, run in self.runs.items():
            depth = min(run.depth, max(smaller))
            self.runs[name] = RankedRun(run.ranked, above(run.holes, depth), depth)

    def left_open(self, name: str, size: int = DOCUMENTS) -> LeftOpen:
        """What a run's unjudged documents leave open, and those that the other runs retrieved."""
        ranked = self.runs[name].ranked
        others = self._candidates.others(ranked.queries, self._own[name])
        unjudged: list[Integers] = []

        def blocks() -> Iterator[Rankings]:
            first = 0
            for block in ranked.blocks(ranked.documents + others, size):
                whole = joined(block, others[first : first + block.n])
                unjudged.append(holes_outside(whole, 0))
                first += block.n
                yield whole

        ends: EndsByMeasure = {}
        cases = scenarios_by_block(blocks(), self._measures, ends)
        return LeftOpen(cases, np.concatenate(unjudged), ends)

    def hold(self, name: str, left_open: LeftOpen) -> None:
        """Keep what `difference_bounds` needs of what a run leaves open."""
        self._unjudged[name], self._ends[name] = left_open.unjudged, left_open.ends

    def difference_bounds(self, baseline: str, size: int = DOCUMENTS) -> Iterator[DifferenceBounds]:
        """Every other run against the baseline, by each measure whose scores have ends.

        Those are in what is held of each run. About `size` documents are worked on at a time.
        """
        if len({run.ranked.queries for run in self.runs.values()}) > 1:
            return
        measures = [m for m in self._measures if m.definition.summary in MEANS]
        for name in (name for name in self.runs if name != baseline):
            both = [m for m in measures if all(str(m) in self._ends[n] for n in (name, baseline))]
            parts: dict[Measure, list[_Values]] = {measure: [] for measure in both}
            for pair, queries in self._pairs(name, baseline, size):
                for measure, values in parts.items():
                    values.append(self._values(measure, (name, baseline), pair, queries))
            for measure, values in parts.items():
                columns = zip(*values, strict=True)
                mean, least, most = (_mean(np.concatenate(column)) for column in columns)
                is_exact = measure.name in EXACT and self._knows(measure, (name, baseline))
                yield DifferenceBounds(name, baseline, str(measure), mean, least, most, is_exact)

    def _pairs(self, name: str, baseline: str, size: int) -> Iterator[tuple[TwoRuns, slice]]:
        """A run and the baseline over some queries after another, and which queries these are."""
        ranked = self.runs[name].ranked, self.runs[baseline].ranked
        near = self._near(name, ranked[0]), self._near(baseline, ranked[1])
        documents = ranked[0].documents + ranked[1].documents
        documents += sum(np.bincount(side.query, minlength=ranked[0].n) for side in near)
        first = 0
        for runs in zip(*(run.blocks(documents, size) for run in ranked), strict=True):
            queries = slice(first, first + runs[0].n)
            holes = tuple(_of_queries(side, queries) for side in near)
            yield (
                pair_of((runs[0], runs[1]), (holes[0], holes[1]), self._unjudged[name][queries]),
                queries,
            )
            first = queries.stop

    def _values(
        self, measure: Measure, names: tuple[str, str], pair: TwoRuns, queries: slice
    ) -> _Values:
        """The difference of each query by one measure, the least and the most that it can be."""
        (low, high), (base_low, base_high) = (
            [end[queries] for end in self._ends[name][str(measure)]] for name in names
        )
        values = [measure.per_query(run) for run in pair.runs]
        least, most = low - base_high, high - base_low
        if self._knows(measure, names):
            most = most_difference(measure, pair, (high, base_low))
            least = -most_difference(measure, pair.reversed, (base_high, low))
        return values[0] - values[1], least, most

    def _knows(self, measure: Measure, names: tuple[str, str]) -> bool:
        """Whether the unjudged documents that a measure looks at are kept one by one."""
        depth = min(self.runs[name].depth for name in names)
        return measure.name not in WORK or _depth(measure) <= depth

    def _near(self, name: str, ranked: Rankings) -> Holes:
        """A run's holes by query of its rankings, of which some of the qrels may be left out."""
        number = np.full(len(self._queries), -1, dtype=np.int32)
        number[[self._queries[query] for query in ranked.queries]] = np.arange(ranked.n)
        holes = self.runs[name].holes
        near = holes.where(number[holes.query] >= 0)
        near = near._replace(query=number[near.query])
        return near.where(np.argsort(near.query, kind="stable"))


def _of_queries(holes: Holes, queries: slice) -> Holes:
    """Those of consecutive queries, which are then counted from 0, of holes sorted by query."""
    first, last = np.searchsorted(holes.query, [queries.start, queries.stop]).tolist()
    part = holes.where(slice(first, last))
    return part._replace(query=part.query - np.int32(queries.start))


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
