"""What unjudged documents leave open of several runs, where those of each are candidates of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import (
    DOCUMENTS,
    EndsByMeasure,
    holes_outside,
    level_of,
    scenarios,
)
from labeler.metrics import Rankings
from labeler.metrics.measures import dcg_sums, gains, relevant
from labeler.metrics.registry import Measure
from labeler.report.table import Cell, Column, Ends, Table
from labeler.trec.columns import Words, mixed
from labeler.trec.rankings import Holes

# The unjudged documents of several runs together: what any of them retrieved may be relevant.
#
# A document that another run retrieved exists, so that it is one more candidate: relevant, it
# raises what could be found, and what is ideal, for the runs that lack it, too.


class UnjudgedOfAllRuns:
    """Counts, for each query of the qrels, the unjudged documents of all runs added so far."""

    def __init__(self, queries: Sequence[str]) -> None:
        self._number = {query: index for index, query in enumerate(queries)}
        self._marks: Words = np.zeros(0, dtype=np.uint64)
        self.total = np.zeros(len(queries), dtype=np.int64)

    def add(self, outside: Holes) -> None:
        """The documents of one more run that stand outside the qrels."""
        marks = outside.mark + mixed(outside.query)
        at = np.searchsorted(self._marks, marks)
        is_new = np.append(self._marks, np.uint64(0))[at] != marks  # 0 stands after the last
        # of two sorted stretches a stable sort makes one in one go
        more = [self._marks, np.sort(marks[is_new])]
        self._marks = np.sort(np.concatenate(more), kind="stable")
        self.total += np.bincount(outside.query[is_new], minlength=len(self.total))

    def others(self, queries: Sequence[str], own: Integers) -> Integers:
        """How many documents of other runs each of some queries has that this run lacks.

        `own` are how many documents of its own stand outside the qrels, by query of the qrels.
        """
        index = np.array([self._number[query] for query in queries], dtype=np.int64)
        others: Integers = (self.total - own)[index]
        return others


def joined(ranked: Rankings, others: Integers) -> Rankings:
    """The rankings with so many more documents a query in their pool, not judged."""
    if not others.any():
        return ranked
    query = np.concatenate([ranked.pool_query, np.repeat(np.arange(ranked.n), others)])
    grade = np.concatenate([ranked.pool_grade, np.full(int(others.sum()), -1)])
    order = np.lexsort((-grade, query))
    return replace(ranked, pool_query=query[order], pool_grade=grade[order])


# The least and the most that the difference of two runs can be, whatever unjudged documents are.
#
# A document that both runs retrieved has one grade, and counts for both: the ends of a difference
# lie nearer than the ends of the two scores would have it. For measures that add up gains, for
# recall and for first ranks they are exact; else they are outer bounds, between which all
# differences lie.

EXACT = frozenset({"P", "Success", "RR", "DCG", "CG", "R"})
"""The measures whose differences have exact ends here."""


@dataclass(frozen=True)
class TwoRuns:
    """Two runs over the same queries, with the unjudged documents that either retrieved.

    `query` and the two ranks are parallel, one entry for a document; a rank is infinite where the
    run lacks it. `candidates` are all unjudged documents of each query, of whatever run.
    """

    runs: tuple[Rankings, Rankings]
    query: Integers
    first: Floats
    second: Floats
    candidates: Integers

    def total(self, values: NDArray[Any]) -> Floats:
        """The sum of the documents' values, by query."""
        sums: Floats = np.bincount(self.query, values, minlength=self.runs[0].n).astype(np.float64)
        return sums

    @property
    def reversed(self) -> TwoRuns:
        """The same, the other way round."""
        return TwoRuns(self.runs[::-1], self.query, self.second, self.first, self.candidates)


def pair_of(
    runs: tuple[Rankings, Rankings], holes: tuple[Holes, Holes], candidates: Integers
) -> TwoRuns:
    """The two runs with the documents that are unjudged in either."""
    marks = [side.mark + mixed(side.query) for side in holes]
    joint = np.concatenate(marks)
    order = np.argsort(joint, kind="stable")
    fresh = np.append(True, joint[order][1:] != joint[order][:-1])[: len(order)]
    number = np.empty(len(joint), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    count = int(fresh.sum())
    query = np.zeros(count, dtype=np.int64)
    query[number] = np.concatenate([side.query for side in holes])
    ranks = np.full((2, count), math.inf)
    split = len(marks[0])
    ranks[0][number[:split]] = holes[0].rank.astype(np.float64)
    ranks[1][number[split:]] = holes[1].rank.astype(np.float64)
    return TwoRuns(runs, query, ranks[0], ranks[1], candidates)


def most_difference(measure: Measure, pair: TwoRuns, ends: tuple[Floats, Floats]) -> Floats:
    """For each query the most by which the first run can exceed the second.

    `ends` are the most of the first and the least of the second, each by itself.
    """
    outer: Floats = ends[0] - ends[1]
    work = WORK.get(measure.name)
    level = level_of(measure)
    if work is None or measure.judged_only or not 0 < level <= pair.runs[0].max_grade:
        return outer
    return np.minimum(work(measure, pair), outer)


def _weighed(measure: Measure, pair: TwoRuns) -> tuple[NDArray[Any], NDArray[Any]]:
    """What each document adds to either run's sum, at its best."""
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    kind = str(dict(measure.parameters).get("dcg", "log2"))
    top = float(gains(np.array([pair.runs[0].max_grade]), kind)[0])

    def worth(rank: Floats) -> NDArray[Any]:
        inside = rank < depth
        if measure.name == "P":
            return inside / depth
        if measure.name == "CG":
            return inside * top
        return np.where(inside, top / np.log2(np.where(inside, rank, 0.0) + 2), 0.0)

    return worth(pair.first), worth(pair.second)


def _of_sums(measure: Measure, pair: TwoRuns) -> Floats:
    """Each document counts where it stands higher in the first run: a sum of separate choices."""
    first, second = _weighed(measure, pair)
    values = [measure.per_query(run) for run in pair.runs]
    most: Floats = values[0] - values[1] + pair.total(np.maximum(first - second, 0.0))
    return most


def _of_recall(measure: Measure, pair: TwoRuns) -> Floats:
    """Those that the first run alone has within the cutoff are relevant.

    Each raises a difference of at most 1. Where the first run has fewer hits all the same, the
    others that count for both or neither are relevant, too, and make the difference small.
    """
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    level = level_of(measure)
    first, second = pair.first < depth, pair.second < depth
    hits = [run.count(relevant(run, level, depth)) for run in pair.runs]
    in_pool = pair.runs[0].in_pool(level)
    above = hits[0] - hits[1] + pair.total((first & ~second) * 1.0)
    here = in_pool + pair.total((first & ~second) * 1.0)
    rest = pair.candidates - pair.total((first ^ second) * 1.0)
    below = np.where(above > 0, here, here + rest)
    most: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    return most


def _of_first_ranks(measure: Measure, pair: TwoRuns) -> Floats:
    """One relevant document is enough: any that the first run has, and where the second has it."""
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    is_success = measure.name == "Success"

    def worth(rank: Floats) -> NDArray[Any]:
        inside = rank < depth
        return inside * (1.0 if is_success else 1.0 / (np.where(inside, rank, 0.0) + 1))

    values = [measure.per_query(run) for run in pair.runs]
    most: Floats = values[0] - values[1]
    first = np.maximum(worth(pair.first), values[0][pair.query])
    second = np.maximum(worth(pair.second), values[1][pair.query])
    np.maximum.at(most, pair.query, first - second)
    return most


def _of_ndcg(measure: Measure, pair: TwoRuns) -> Floats:
    """The most of the difference of sums, over the least ideal, or the largest where it is below 0.

    An outer bound: what makes the one extreme may not make the other.
    """
    kind = str(dict(measure.parameters).get("dcg", "log2"))
    cutoff = None if measure.cutoff is None else int(measure.cutoff)
    sums = [dcg_sums(run, cutoff, kind) for run in pair.runs]
    ideal = sums[0][1]
    first, second = _weighed(measure, pair)
    above = sums[0][0] - sums[1][0] + pair.total(np.maximum(first - second, 0.0))
    share = np.divide(above, ideal, out=np.ones(len(ideal)), where=ideal > 0)
    most: Floats = np.where(above > 0, share, 0.0)
    return most


WORK: dict[str, Callable[[Measure, TwoRuns], Floats]] = {
    **dict.fromkeys(("P", "DCG", "CG"), _of_sums),
    "R": _of_recall,
    **dict.fromkeys(("RR", "Success"), _of_first_ranks),
    "nDCG": _of_ndcg,
}


MEANS = ("mean", "share")

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

    The holes are those of the ranks that differences of two runs look at.
    """

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
        looked_at = (m.cutoff or math.inf for m in measures if m.name in WORK)
        self._depth = max(map(float, looked_at), default=0.0)
        self.runs: dict[str, RankedRun] = {}

    def add(self, name: str, ranked: Rankings, holes: Holes) -> None:
        """One more run, and all of its holes."""
        outside = holes.where(holes.outside)
        self._candidates.add(outside)
        self._own[name] = np.bincount(outside.query, minlength=len(self._queries))
        self.runs[name] = RankedRun(ranked, holes.where(holes.rank < self._depth))

    def left_open(self, name: str, size: int = DOCUMENTS) -> LeftOpen:
        """What a run's unjudged documents leave open, and those that the other runs retrieved."""
        ranked = self.runs[name].ranked
        whole = joined(ranked, self._candidates.others(ranked.queries, self._own[name]))
        ends: EndsByMeasure = {}
        cases = scenarios(whole, self._measures, ends, size)
        return LeftOpen(cases, holes_outside(whole, 0), ends)

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
        other = self.runs[baseline].ranked
        for name in (name for name in self.runs if name != baseline):
            ranked = self.runs[name].ranked
            holes = self._near(name, ranked), self._near(baseline, other)
            pair = pair_of((ranked, other), holes, self._unjudged[name])
            for measure in measures:
                if all(str(measure) in self._ends[each] for each in (name, baseline)):
                    values = self._values(measure, (name, baseline), pair)
                    mean, least, most = (float(x.mean()) if len(x) else math.nan for x in values)
                    exact = measure.name in EXACT
                    yield DifferenceBounds(name, baseline, str(measure), mean, least, most, exact)

    def _values(self, measure: Measure, names: tuple[str, str], pair: TwoRuns) -> _Values:
        """The difference of each query by one measure, the least and the most that it can be."""
        (low, high), (base_low, base_high) = (self._ends[name][str(measure)] for name in names)
        values = [measure.per_query(run) for run in pair.runs]
        most = most_difference(measure, pair, (high, base_low))
        least = -most_difference(measure, pair.reversed, (base_high, low))
        return values[0] - values[1], least, most

    def _near(self, name: str, ranked: Rankings) -> Holes:
        """A run's holes by query of its rankings, of which some of the qrels may be left out."""
        number = np.full(len(self._queries), -1, dtype=np.int32)
        number[[self._queries[query] for query in ranked.queries]] = np.arange(ranked.n)
        holes = self.runs[name].holes
        near = holes.where(number[holes.query] >= 0)
        near = near._replace(query=number[near.query])
        return near.where(np.argsort(near.query, kind="stable"))


def difference_bounds_table(bounds: Sequence[DifferenceBounds]) -> Table:
    """A row for each run and measure: its difference, and what it could be."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        Column("difference", format="+.4f"),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends="+.4f", only="people"),
        Column("exact", align="left"),
    ]
    rows: list[list[Cell]] = []
    for b in bounds:
        ends, exact = Ends(b.least, b.most), "yes" if b.exact else "outer"
        rows.append([b.run, b.measure, b.difference, *ends, ends, exact])
    title = f"against {bounds[0].baseline}, were the unjudged documents judged" if bounds else ""
    return Table("difference-bounds", columns, rows, title)
