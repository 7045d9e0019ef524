"""Queries that would make an evaluation set current: those to which much traffic is near.

At each step that query of the log is taken that brings the recent searches nearest to the set: the
mean distance of a search to the nearest query falls most (facility location; taken greedily, it
falls at least 1 - 1/e as much as it could: Nemhauser, Wolsey and Fisher 1978, Mathematical
Programming 14). The weights proposed for all queries are those with which the set's energy distance
to the recent searches is smallest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.data import Query
from labeler.monitoring.searches import MIN_COUNT, SearchLog, Week, rows_of
from labeler.queries.traffic import STRATA, normalized
from labeler.report.table import Column, Table, shown, table_of
from labeler.stats.blocks import (
    Points,
    SetShift,
    block_sums,
    distances,
    fixed_shift,
    mean_distances,
)
from labeler.text.vectors import Encoder

MOST_CANDIDATES = 2000
"""Of more candidates those with the most searches."""
LEAST_WEIGHT = 0.01
"""The least weight is this part of the mean one: none may be 0."""
_STEPS_OF_WEIGHTS = 500


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """The evaluation's queries: their ids, texts folded, vectors, and weights that sum to 1."""

    ids: tuple[str, ...]
    folded: frozenset[str]
    vectors: Points
    weights: Floats

    @classmethod
    def of(cls, queries: Mapping[str, Query], encoder: Encoder) -> EvaluationSet:
        """The queries of a collection, by their weights where all of them have one."""
        texts = [query.text for query in queries.values()]
        weights = [query.metadata.get("weight") for query in queries.values()]
        raw = np.array([w if isinstance(w, int | float) and w > 0 else 0.0 for w in weights])
        raw = raw if (raw > 0).all() else np.ones(len(texts))
        folded = frozenset(normalized(text).casefold() for text in texts)
        return cls(tuple(queries), folded, encoder.queries(texts), raw / raw.sum())

    def extended(self, vectors: Points) -> EvaluationSet:
        """The set with queries added, each of which counts as the others do on average."""
        weights = np.concatenate([self.weights * len(self.weights), np.ones(len(vectors))])
        together = np.concatenate([self.vectors, vectors])
        return replace(self, vectors=together, weights=weights / len(weights))


def from_set(week: Week, vectors: Points, own: EvaluationSet, seed: int = 0) -> SetShift:
    """How far a week's queries are from the evaluation's, which count by their weights."""
    rows, n = rows_of(week, seed=seed), len(own.weights)
    key, mass = np.unique(rows.block * len(vectors) + rows.query, return_counts=True)
    points = np.concatenate([own.vectors, vectors[key % len(vectors)]])
    block = np.concatenate([np.arange(n), n + key // len(vectors)])
    sums = block_sums(points, np.concatenate([own.weights, mass]), block)
    return fixed_shift(sums, np.arange(n + len(rows.day)) < n, seed, rounds=2000)


@dataclass(frozen=True, slots=True)
class Fall:
    """The set's distance to the traffic with so many of the proposed queries added to it.

    `as_it_is` is that of queries that count as they do now, where an added one counts as the others
    on average; `weighted` that with the proposed weights. `inside` is the mean distance of two
    searches.
    """

    added: int
    as_it_is: Annotated[float, Column("distance", format=".4f")]
    weighted: Annotated[float, Column("weighted distance", "distance, weighted", ".4f")]
    inside: Annotated[float, None]

    @shown
    def worth(self) -> Annotated[float, Column(format=".0f")]:
        """As many searches drawn at random would be as near to the traffic."""
        return self.inside / self.as_it_is if self.as_it_is > 0 else math.nan

    @shown
    def weighted_worth(
        self,
    ) -> Annotated[float, Column("weighted worth", "worth, weighted", ".0f")]:
        """The same with the proposed weights; nan where the distance cannot be told from 0."""
        return self.inside / self.weighted if self.weighted > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Proposal:
    """Queries to add, in the order in which they help most, and weights of all by their ids.

    `falls` are distances to half of the recent days where queries and weights come from the other
    half, the mean of both ways: of the set as it is, and with all queries added. `candidates`
    counts the queries that could be taken, `too_rare` those that too few people searched for.
    """

    queries: tuple[Query, ...]
    weights: Mapping[str, float]
    falls: tuple[Fall, ...]
    candidates: int
    too_rare: int

    def rows(self) -> list[dict[str, Any]]:
        """The rows of a file of queries, as `queries from-log` writes it."""
        return [{"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in self.queries]

    def tables(self) -> list[Table]:
        """How near the queries bring the set, and the queries themselves."""
        note = (
            "distance of the set to recent searches, and as how many random ones it is worth; "
            "weighted: with the proposed weights; on days that chose neither queries nor weights"
        )
        columns = [Column("query", align="left"), Column("stratum", align="left")]
        columns += [Column("searches"), Column("weight")]
        rows = [
            [query.text, *(query.metadata[column.name] for column in columns[1:])]
            for query in self.queries
        ]
        falls = table_of("with queries added", Fall, self.falls, note=note)
        return [falls, Table("queries to add", columns, rows)]


def propose(
    own: EvaluationSet, log: SearchLog, vectors: Points, days: Sequence[Floats], add: int
) -> Proposal:
    """Queries to add to a set, from how often each text was searched for on each of recent days.

    Nothing is proposed that the set holds, or that fewer than `MIN_COUNT` people searched for.
    """
    times = np.sum(days, axis=0)
    may, too_rare = _candidates(own, log, times)
    taken = greedy(own, vectors, times, may, add)
    queries = _as_queries(own, log, times, taken)
    weights = weighted(own.extended(vectors[taken]), vectors, times).weights.tolist()
    by_id = dict(zip([*own.ids, *(query.id for query in queries)], weights, strict=True))
    rows = tuple(replace(q, metadata={**q.metadata, "weight": by_id[q.id]}) for q in queries)
    return Proposal(rows, by_id, _falls(own, log, vectors, days, add), len(may), too_rare)


def _candidates(own: EvaluationSet, log: SearchLog, times: Floats) -> tuple[Integers, int]:
    """The places of what may be proposed, and how many other queries are too rare."""
    is_new = np.array([text.casefold() not in own.folded for text in log.texts]) & (times > 0)
    may = np.flatnonzero(is_new & (log.people >= MIN_COUNT))
    order = np.argsort(-times[may], kind="stable")[:MOST_CANDIDATES]
    return may[order], int((is_new & (log.people < MIN_COUNT)).sum())


def greedy(
    own: EvaluationSet, vectors: Points, times: Floats, candidates: Integers, add: int
) -> list[int]:
    """The candidates to add, in order: each brings searches nearest to the set as it then is."""
    searched = np.flatnonzero(times)
    counts = times[searched].astype(np.float32)
    nearest = distances(vectors[searched], own.vectors).min(axis=1)
    away = distances(vectors[candidates], vectors[searched])
    taken: list[int] = []
    for _ in range(min(add, len(candidates))):
        # a row at a time, as all at once would double the memory
        gains = np.array([np.maximum(nearest - row, 0.0) @ counts for row in away])
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break  # every search that may be shown is a query of the set already
        taken.append(int(candidates[best]))
        nearest = np.minimum(nearest, away[best])
    return taken


def weighted(own: EvaluationSet, vectors: Points, times: Floats) -> EvaluationSet:
    """The set with the weights that bring it nearest to the traffic, all of them above 0.

    By accelerated projected gradients (Beck and Teboulle 2009, SIAM J. on Imaging Sciences 2(1)).
    """
    searched = np.flatnonzero(times)
    away = mean_distances(own.vectors, vectors[searched], times[searched] / times.sum())
    inside = distances(own.vectors, own.vectors).astype(np.float64)
    # the distance is 2 w'a - w'Dw and more; among weights of one sum its slope 2 (a - Dw) changes
    # by twice the largest value of D without the means of its rows and columns
    means = inside.mean(axis=0)
    centered = inside - means - means[:, None] + means.mean()
    step = 0.5 / float(np.abs(np.linalg.eigvalsh(centered)).max() + 1e-9)
    weights = ahead = own.weights
    pace = 1.0
    for _ in range(_STEPS_OF_WEIGHTS):
        new = _on_simplex(ahead - step * 2 * (away - inside @ ahead))
        faster = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead = new + (pace - 1) / faster * (new - weights)
        weights, pace = new, faster
    weights = np.maximum(weights, LEAST_WEIGHT / len(weights))
    return replace(own, weights=weights / weights.sum())


def _on_simplex(values: Floats) -> Floats:
    """The nearest weights that sum to 1 and are not below 0."""
    ordered = np.sort(values)[::-1]
    over = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    largest = int(np.flatnonzero(ordered > over)[-1])
    return np.asarray(np.maximum(values - over[largest], 0.0), dtype=np.float64)


def distance_of_set(own: EvaluationSet, vectors: Points, times: Floats) -> float:
    """The energy distance of a set to searches."""
    searched = np.flatnonzero(times)
    away = mean_distances(own.vectors, vectors[searched], times[searched] / times.sum())
    within = mean_distances(own.vectors, own.vectors, own.weights)
    return 2 * float(own.weights @ away) - float(own.weights @ within) - _inside(vectors, times)


def _inside(vectors: Points, times: Floats) -> float:
    """The mean distance of two different searches."""
    searched, total = np.flatnonzero(times), float(times.sum())
    shares, points = times[searched] / total, vectors[searched]
    mean = float(shares @ mean_distances(points, points, shares))
    return mean * total / max(total - 1, 1.0)


def _falls(
    own: EvaluationSet, log: SearchLog, vectors: Points, days: Sequence[Floats], add: int
) -> tuple[Fall, ...]:
    """The distance to half of the days with what the other half proposes, the mean of both ways."""
    halves = [np.sum(days[start::2], axis=0) for start in (0, 1)]
    if len(days) < 2 or not all(half.sum() >= 20 for half in halves):
        return ()
    orders = [greedy(own, vectors, half, _candidates(own, log, half)[0], add) for half in halves]
    inside = float(np.mean([_inside(vectors, half) for half in halves]))
    falls = []
    for size in dict.fromkeys([0, min(map(len, orders))]):
        away = []
        for learnt, measured, order in zip(halves, halves[::-1], orders, strict=True):
            some = own.extended(vectors[order[:size]])
            both = some, weighted(some, vectors, learnt)
            away.append([distance_of_set(each, vectors, measured) for each in both])
        as_it_is, with_weights = np.mean(away, axis=0).tolist()
        falls.append(Fall(size, as_it_is, with_weights, inside))
    return tuple(falls)


def _as_queries(
    own: EvaluationSet, log: SearchLog, times: Floats, taken: Sequence[int]
) -> list[Query]:
    """The proposed queries under ids that are free, with what a log says of them.

    Their strata: the most frequent ones of the log with a third of all searches, and so on.
    """
    ids = set(own.ids)
    names = (name for number in count(1) if (name := f"w{number}") not in ids)
    order = np.argsort(-times, kind="stable")
    before = np.empty(len(times))
    before[order] = np.cumsum(times[order]) - times[order]
    strata = np.minimum(2, 3 * before // times.sum()).astype(int)
    queries = []
    for index in taken:
        stratum, searches = STRATA[strata[index]], int(log.totals[index])
        about = {"origin": "real", "stratum": stratum, "searches": searches}
        queries.append(Query(next(names), log.texts[index], about))
    return queries
