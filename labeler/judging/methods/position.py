"""What the position of a document in a list does to its grade.

Lists are shuffled, so that no position holds better documents than another. What differs between
positions is therefore the assessor's doing, but for chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.collection.judgements import read_judgements
from labeler.data import Judged, Judgement
from labeler.messages import count_of
from labeler.report.table import Column, Interval, Row, Table, is_undefined
from labeler.stats.intervals import Replicates, cluster_bootstrap
from labeler.stats.resampling import Sample
from labeler.stats.student import SIGNIFICANT

SHUFFLES = 2000
MOST_CELLS = 20_000_000
"""Of grades in all shuffles together, so that a million grades take seconds and not minutes."""

FEWEST_SHUFFLES = 200


@dataclass(frozen=True, slots=True)
class AtPosition:
    """What documents were graded at one position.

    `mean` is of their grades, `above` of how far these lie above the mean of their list.
    """

    position: int
    documents: int
    mean: float
    above: Interval


@dataclass(frozen=True, slots=True, repr=False)
class PositionEffect:
    """What position does to grades, over so many `lists` of so many `queries`.

    `p` is the share of shuffles of the grades within their lists in which positions differ at least
    as much. Intervals are over queries.
    """

    positions: tuple[AtPosition, ...]
    lists: int
    queries: int
    p: float

    @property
    def is_shown(self) -> bool:
        """Whether positions differ by more than chance, at the 5 % level."""
        return self.p < SIGNIFICANT

    def sentence(self) -> str:
        """Whether the position matters, and where most."""
        lists = f"over {count_of(self.lists, 'list', 'lists')}, p {self.p:.2g}"
        if not self.is_shown:
            return f"no effect of a document's position in its list is shown ({lists})"
        most = max(self.positions, key=lambda at: abs(at.above.value or 0.0))
        value = most.above.value or 0.0
        side = "above" if value > 0 else "below"
        low, high = most.above.low, most.above.high
        has_ends = not is_undefined(low) and low != high
        ends = f", {low:+.2f} to {high:+.2f}" if has_ends else ""
        where = f"at position {most.position} of {len(self.positions)} grades lie"
        how_far = f"{abs(value):.2f} {side} their list's mean{ends}"
        return f"a document's position in its list changes its grade: {where} {how_far} ({lists})"

    def table(self) -> Table:
        """A row for each position."""
        columns = [
            Column("position", format="d"),
            Column("documents", format=",d"),
            Column("mean grade", format=".2f"),
            Column("above its list", format="+.3f", ends="+.3f"),
        ]
        rows: list[Row] = [[at.position, at.documents, at.mean, at.above] for at in self.positions]
        return Table("position", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures by name; an end that is undefined is None."""
        return {
            "lists": self.lists,
            "queries": self.queries,
            "p": self.p,
            "positions": [
                {
                    "position": at.position,
                    "documents": at.documents,
                    "mean": at.mean,
                    "above": {
                        name: None if is_undefined(end) else end
                        for name, end in at.above._asdict().items()
                    },
                }
                for at in self.positions
            ],
        }

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"PositionEffect({self.lists} lists, p={self.p:.2g})"


def position_effect(judgements: Path, seed: int = 0) -> PositionEffect | None:
    """What position does to the grades of a file of judgements; None where no lists were shown."""
    return position_effect_of((row.judged for row in read_judgements(judgements)), seed)


def position_effect_of(judged: Iterable[Judged], seed: int = 0) -> PositionEffect | None:
    """The same of judged pairs. Documents that were asked about alone are left out."""
    lists = [graded for graded in _lists(judged) if len(graded.grades) > 1]
    if not lists:
        return None
    queries = {query_id: at for at, query_id in enumerate(dict.fromkeys(g.query_id for g in lists))}
    of_query = np.concatenate([np.full(len(g.grades), queries[g.query_id]) for g in lists])
    positions = np.concatenate([np.array(g.positions) for g in lists]) - 1
    grades = np.concatenate([np.array(g.grades, dtype=np.float64) for g in lists])
    above = np.concatenate([_centered(g.grades) for g in lists])
    counts = np.bincount(positions)
    means = np.bincount(positions, grades) / np.maximum(counts, 1)
    rows = tuple(
        AtPosition(
            at + 1, int(count), float(means[at]), _above(positions == at, of_query, above, seed)
        )
        for at, count in enumerate(counts)
        if count
    )
    sizes = np.array([len(g.grades) for g in lists])
    return PositionEffect(rows, len(lists), len(queries), _p(positions, above, sizes, seed))


@dataclass(frozen=True, slots=True)
class _GradedList:
    """The grades that one reply gave, and the positions of their documents."""

    query_id: str
    positions: list[int]
    grades: list[int]


def _lists(judged: Iterable[Judged]) -> Iterator[_GradedList]:
    lists: dict[tuple[str, tuple[str, ...]], _GradedList] = {}
    for each in judged:
        outcome, listed = each.outcome, each.listed
        if isinstance(outcome, Judgement) and listed and not listed.alone:
            query_id = outcome.pair.query_id
            key = query_id, listed.documents
            graded = lists.setdefault(key, _GradedList(query_id, [], []))
            graded.positions.append(listed.position)
            graded.grades.append(outcome.grade)
    yield from lists.values()


def _centered(grades: Sequence[int]) -> Floats:
    values = np.array(grades, dtype=np.float64)
    return np.asarray(values - values.mean(), dtype=np.float64)


def _above(is_there: Any, of_query: Any, above: Floats, seed: int) -> Interval:
    """The mean of how far grades at one position lie above their lists', over queries."""
    size = int(of_query.max()) + 1
    sums = np.bincount(of_query[is_there], above[is_there], size)
    counts = np.bincount(of_query[is_there], minlength=size).astype(np.float64)
    features = np.stack([sums, counts], axis=1)[counts > 0]
    value = float(features[:, 0].sum() / features[:, 1].sum())
    if len(features) < 2:
        return Interval(value, None, None)
    of_mean = Replicates(Sample(features, seed=seed), _ratio, freedom=len(features) - 1.0)
    ends = cluster_bootstrap(of_mean)
    return Interval(value, *(ends or (None, None)))


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)


def _p(positions: Any, above: Floats, sizes: Any, seed: int) -> float:
    """How often grades that are shuffled within their lists differ as much between positions.

    Fisher's randomization test, exact as positions were drawn by chance: the statistic is the sum
    of squares between positions.
    """
    random = np.random.default_rng(seed)
    counts = np.maximum(np.bincount(positions), 1)
    which = np.repeat(np.arange(len(sizes)), sizes)

    def between(values: Floats) -> float:
        return float((np.bincount(positions, values) ** 2 / counts).sum())

    seen = between(above) - 1e-9
    shuffles = int(np.clip(MOST_CELLS // len(above), FEWEST_SHUFFLES, SHUFFLES))
    extreme = sum(
        between(above[np.lexsort((random.random(len(above)), which))]) >= seen
        for _ in range(shuffles)
    )
    return (1 + extreme) / (1 + shuffles)
