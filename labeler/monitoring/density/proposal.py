"""Queries that would make an evaluation set current: those to which much traffic is near.

At each step that query of the log is taken that brings the recent searches nearest to the set: the
mean distance of a search to the nearest query falls most (facility location; taken greedily, it
falls at least 1 - 1/e as much as it could: Nemhauser, Wolsey and Fisher 1978, Mathematical
Programming 14). Each query of the set then stands for the searches that are nearest to it, and has
their share as its weight: the weights with which the set is as near to the traffic as it can be, in
the Wasserstein distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.data import Query
from labeler.monitoring.density.clusters import Typed
from labeler.monitoring.density.evaluation_set import EvaluationSet, Vectors
from labeler.monitoring.density.options import DensityOptions
from labeler.queries.traffic import STRATA
from labeler.stats.distances import Distance, cross, distance_of, mean_distances

MOST_CANDIDATES = 2000
"""Of more candidates those with the most searches."""
LEAST_WEIGHT = 0.01
"""A query that no search is nearest to has this part of the mean weight: none may be 0."""

_STEPS = (0, 5, 10, 20, 40, 80)


@dataclass(frozen=True, slots=True)
class Fall:
    """The set's distance to the traffic with so many of the proposed queries added to it.

    `worth` is nan where the distance cannot be told from 0. `weighted` says that its queries have
    the proposed weights; else they count as they do now.
    """

    added: int
    weighted: bool
    distance: float
    worth: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """Queries to add, in the order in which they help most, and weights of all by their ids.

    `falls` are distances to half of the recent days where queries and weights come from the other
    half, the mean of both ways; the first is of the set as it is. `candidates` counts the queries
    that could be taken, `too_rare` those that too few people searched for.
    """

    queries: tuple[Query, ...]
    weights: Mapping[str, float]
    falls: tuple[Fall, ...]
    candidates: int
    too_rare: int

    def rows(self) -> list[dict[str, Any]]:
        """The rows of a file of queries, as `queries from-log` writes it."""
        return [{"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in self.queries]

    def as_json(self) -> dict[str, Any]:
        """The figures by name, the queries and the weights."""
        return {
            "queries": self.rows(),
            "weights": dict(self.weights),
            "falls": [asdict(fall) for fall in self.falls],
            "candidates": self.candidates,
            "too_rare": self.too_rare,
        }


def propose(
    own: EvaluationSet, days: Sequence[Typed], options: DensityOptions, distance: Distance
) -> Proposal:
    """Queries to add to a set, from the searches of recent days, each a day's.

    Texts and vectors are the same for all days; the times differ. Nothing is proposed that the set
    holds, or that fewer than `min_count` people searched for.
    """
    every = _together(days)
    may, too_rare = _candidates(own, every, options.min_count)
    taken = greedy(own, every, may, options.add)
    queries = _as_queries(own, every, taken)
    weights = _weighted(own, every, taken).weights.tolist()
    by_id = dict(zip([*own.ids, *(query.id for query in queries)], weights, strict=True))
    rows = tuple(replace(q, metadata={**q.metadata, "weight": by_id[q.id]}) for q in queries)
    return Proposal(rows, by_id, _falls(own, days, options, distance), len(may), too_rare)


def _together(days: Sequence[Typed]) -> Typed:
    return replace(days[0], times=np.sum([day.times for day in days], axis=0))


def _candidates(own: EvaluationSet, typed: Typed, min_count: int) -> tuple[Integers, int]:
    """The places of what may be proposed, and how many other queries are too rare."""
    is_new = np.array([text.casefold() not in own.folded for text in typed.texts])
    is_new &= typed.times > 0
    may = np.flatnonzero(is_new & (typed.people >= min_count))
    order = np.argsort(-typed.times[may], kind="stable")[:MOST_CANDIDATES]
    return may[order], int((is_new & (typed.people < min_count)).sum())


def greedy(own: EvaluationSet, typed: Typed, candidates: Integers, add: int) -> list[int]:
    """The candidates to add, in order: each brings searches nearest to the set as it then is."""
    euclidean = distance_of("energy", typed.vectors)
    searched = np.flatnonzero(typed.times)
    points, times = typed.vectors[searched], typed.times[searched].astype(np.float32)
    nearest = _nearest(points, own.vectors, euclidean)[0]
    away = cross(typed.vectors[candidates], points, euclidean)
    taken: list[int] = []
    left = np.ones(len(candidates), dtype=bool)
    for _ in range(min(add, len(candidates))):
        gains = np.fromiter(_gains(away, nearest, times), dtype=np.float64)
        best = int(np.argmax(np.where(left, gains, -1.0)))
        if gains[best] <= 0:
            break  # every search that may be shown is a query of the set already
        left[best] = False
        taken.append(int(candidates[best]))
        nearest = np.minimum(nearest, away[best])
    return taken


def _gains(
    away: NDArray[np.float32], nearest: NDArray[np.float32], times: NDArray[np.float32]
) -> Iterator[float]:
    """By how much the summed distance of all searches falls with each candidate."""
    for row in away:
        yield float(np.maximum(nearest - row, 0.0) @ times)


def _nearest(
    points: Vectors, centers: Vectors, distance: Distance
) -> tuple[NDArray[np.float32], Integers]:
    """The distance of each point to the nearest center, and which one that is."""
    away, which = [np.zeros(0, dtype=np.float32)], [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(points), 1024):
        block = cross(points[first : first + 1024], centers, distance)
        which.append(np.argmin(block, axis=1))
        away.append(block.min(axis=1))
    return np.concatenate(away), np.concatenate(which)


def _weighted(own: EvaluationSet, typed: Typed, taken: Sequence[int]) -> EvaluationSet:
    """The set with queries added, weighted by the searches that are nearest to each."""
    vectors = np.concatenate([own.vectors, typed.vectors[list(taken)]])
    searched = np.flatnonzero(typed.times)
    _, which = _nearest(typed.vectors[searched], vectors, distance_of("energy", vectors))
    shares = np.bincount(which, weights=typed.times[searched], minlength=len(vectors))
    weights = np.maximum(shares / shares.sum(), LEAST_WEIGHT / len(vectors))
    return replace(own, vectors=vectors, weights=weights / weights.sum())


def _inside(typed: Typed, distance: Distance) -> float:
    """The mean distance of two different searches."""
    searched = np.flatnonzero(typed.times)
    shares, points = typed.times[searched] / typed.times.sum(), typed.vectors[searched]
    total = float(typed.times.sum())
    mean = float(shares @ mean_distances(points, points, shares, distance))
    return mean * total / max(total - 1, 1.0)


def _distance(own: EvaluationSet, typed: Typed, distance: Distance) -> float:
    """The energy distance of a set to searches."""
    searched = np.flatnonzero(typed.times)
    shares, points = typed.times[searched] / typed.times.sum(), typed.vectors[searched]
    away = float(own.weights @ mean_distances(own.vectors, points, shares, distance))
    inside = mean_distances(own.vectors, own.vectors, own.weights, distance)
    return 2 * away - float(own.weights @ inside) - _inside(typed, distance)


def _falls(
    own: EvaluationSet, days: Sequence[Typed], options: DensityOptions, distance: Distance
) -> tuple[Fall, ...]:
    """The distance to half of the days with what the other half proposes, the mean of both ways."""
    if len(days) < 2:
        return ()
    halves = [_together(days[start::2]) for start in (0, 1)]
    if min(float(half.times.sum()) for half in halves) < options.fewest:
        return ()
    ways = [(learnt, measured) for learnt, measured in (halves, halves[::-1])]
    orders = []
    for learnt, _ in ways:
        may, _ = _candidates(own, learnt, options.min_count)
        orders.append(greedy(own, learnt, may, options.add))
    most = min(map(len, orders))
    inside = float(np.mean([_inside(measured, distance) for _, measured in ways]))
    falls = []
    for size, weighted in [(0, False), *((n, True) for n in _STEPS if n < most), (most, True)]:
        away = 0.0
        for (learnt, measured), order in zip(ways, orders, strict=True):
            some = _weighted(own, learnt, order[:size]) if weighted else own
            away += _distance(some, measured, distance) / len(ways)
        falls.append(Fall(size, weighted, away, inside / away if away > 0 else math.nan))
    return tuple(falls)


def _as_queries(own: EvaluationSet, typed: Typed, taken: Sequence[int]) -> tuple[Query, ...]:
    """The proposed queries under ids that are free, with what a log says of them."""
    ids = set(own.ids)
    names = (name for number in count(1) if (name := f"w{number}") not in ids)
    stratum = _strata(typed.times)
    queries = []
    for index in taken:
        searches = int(typed.totals[index])
        about = {"origin": "real", "stratum": stratum[index], "searches": searches}
        queries.append(Query(next(names), typed.texts[index], about))
    return tuple(queries)


def _strata(times: Floats) -> list[str]:
    """The stratum of each query: the most frequent ones with a third of all searches, and so on."""
    order = np.argsort(-times, kind="stable")
    before = np.cumsum(times[order]) - times[order]
    names = [""] * len(times)
    for index, so_far in zip(order.tolist(), before.tolist(), strict=True):
        names[index] = STRATA[min(2, int(3 * so_far // times.sum()))]
    return names
