"""Which share of the pairs moved up and down, with intervals over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.arrays import Floats
from labeler.data import Pair
from labeler.judging.transitions import State
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample
from labeler.stats.shares import share_interval


class Share(NamedTuple):
    """A share of pairs with its interval of 95 % over queries; `None` where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class QueryMoves(NamedTuple):
    """How many pairs of a query both sets grade, and how many of them moved up and down."""

    query_id: str
    pairs: int
    up: int
    down: int

    @property
    def moved(self) -> int:
        """How many moved at all."""
        return self.up + self.down


def moves_by_query(before: Mapping[Pair, State], after: Mapping[Pair, State]) -> list[QueryMoves]:
    """The moves of each query that has pairs which both sets grade, in the order of their ids."""
    counts: dict[str, list[int]] = {}
    for pair in sorted(before.keys() & after.keys()):
        old, new = before[pair].grade, after[pair].grade
        if old is None or new is None:
            continue
        of_query = counts.setdefault(pair.query_id, [0, 0, 0])
        of_query[0] += 1
        of_query[1] += new > old
        of_query[2] += new < old
    return [QueryMoves(query_id, *of_query) for query_id, of_query in counts.items()]


def shares_moved(moves: Sequence[QueryMoves], options: StatisticOptions) -> tuple[Share, Share]:
    """The shares of pairs graded by both that moved up, and down."""
    if not moves:
        return Share(None, None, None), Share(None, None, None)
    pairs, up, down = (
        np.array(row, dtype=np.float64) for row in list(zip(*moves, strict=True))[1:]
    )
    return _share(up, pairs, options), _share(down, pairs, options)


def _share(moved: Floats, pairs: Floats, options: StatisticOptions) -> Share:
    """A ratio of sums over queries; where nothing or all moved, as far as so many queries tell."""
    value = float(moved.sum() / pairs.sum())
    if value in (0.0, 1.0):  # resampling shows nothing else than what was seen
        return Share(value, *share_interval((moved > 0).astype(np.float64)))
    sample = Sample(np.stack([moved, pairs], axis=1), options.draws, options.seed)
    low, high = between(options.method, sample, _ratio)
    if low is None or high is None:
        return Share(value, None, None)
    return Share(value, max(low, 0.0), min(high, 1.0))


def _ratio(sums: Floats) -> Floats:
    """`(..., 2)` sums of moved pairs and of pairs to `(...)` shares."""
    return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)
