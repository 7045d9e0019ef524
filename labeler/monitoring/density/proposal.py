"""Queries that would make an evaluation set current: those to which much traffic is near.

At each step that query of the log is taken that brings the recent searches nearest to the set: the
mean distance of a search to the nearest query falls most (facility location; taken greedily, it
falls at least 1 - 1/e as much as it could: Nemhauser, Wolsey and Fisher 1978, Mathematical
Programming 14). The weights proposed for all queries are those with which the set's energy distance
to the recent searches is smallest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.data import Query
from labeler.monitoring.density.searches import DensityOptions, EvaluationSet, Vectors
from labeler.queries.traffic import STRATA
from labeler.stats.distances import Distance, cross, distance_of, mean_distances
from labeler.text.terms import term_of, words_to_stem

# Clusters of queries that the corpus does not cover: average linkage, which needs no seed.

MOST_LINKED = 1500
"""Of more queries the most frequent ones are linked; the others go to the nearest cluster."""
ALIKE = 0.05
"""Clusters are joined while they are nearer to each other than all but this share of pairs of
different queries of the traffic."""
EXAMPLES, LABELS = 5, 3


@dataclass(frozen=True, slots=True)
class Cluster:
    """Queries that are alike: their words, how many there are, and the share of all searches.

    `examples` are the most frequent ones that may be shown, each with its searches.
    """

    label: str
    queries: int
    searches: int
    share: float
    examples: tuple[tuple[str, int], ...]

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "label": self.label,
            "queries": self.queries,
            "searches": self.searches,
            "share": self.share,
            "examples": [{"query": text, "searches": times} for text, times in self.examples],
        }


@dataclass(frozen=True, eq=False)
class Typed:
    """Texts with their vectors, and how often each was searched for at some time.

    `people` is in how many sessions each was searched for in the whole log, or how often where it
    has no sessions, `totals` how often. `index` is where each stands in the log's texts.
    """

    texts: Sequence[str]
    vectors: Vectors
    times: Floats
    people: Integers
    totals: Integers
    index: Integers

    def of(self, places: Integers) -> Typed:
        """The same of some of them."""
        some = [self.texts[index] for index in places]
        times, people, totals = self.times[places], self.people[places], self.totals[places]
        return Typed(some, self.vectors[places], times, people, totals, self.index[places])


def clusters(
    typed: Typed, uncovered: Integers, min_count: int, people_of: Callable[[Integers], int]
) -> list[Cluster]:
    """The clusters of the uncovered among typed queries, the most searched for first.

    A cluster with fewer than `min_count` searches is left out. An example or a word of a label is
    one that `min_count` people searched for.
    """
    if not len(uncovered):
        return []
    groups = grouped(typed.of(uncovered), alike_distance(typed))
    total = float(typed.times.sum())
    words = _words_of(typed)
    made = []
    for group in groups:
        inside = typed.of(uncovered[group])
        searches = int(inside.times.sum())
        if searches < min_count:
            continue
        examples = _examples(inside, min_count)
        terms = _shared_terms(inside, min_count, people_of)
        label = _label(inside, terms, words, total)
        made.append(Cluster(label, len(group), searches, searches / total, examples))
    return sorted(made, key=lambda cluster: (-cluster.searches, cluster.label))


def _examples(inside: Typed, min_count: int) -> tuple[tuple[str, int], ...]:
    """The most frequent queries that enough people searched for."""
    rows = zip(inside.times, inside.texts, inside.people, strict=True)
    shown = sorted((-times, text) for times, text, people in rows if people >= min_count)
    return tuple((text, int(-times)) for times, text in shown[:EXAMPLES])


def alike_distance(typed: Typed) -> float:
    """The cosine distance below which lie 5 % of the pairs of different queries."""
    count = len(typed.texts)
    if count < 3:
        return 0.0
    step = max(1, count // 600)
    some = typed.vectors[::step]
    distances = (1 - some @ some.T)[np.triu_indices(len(some), 1)]
    return float(np.quantile(distances, ALIKE))


def grouped(typed: Typed, farthest: float) -> list[Integers]:
    """Groups of places, joined by average linkage of the cosine while nearer than `farthest`.

    The distance of two groups is the mean of that of their queries. The nearest two are joined
    first; of equals those of the more frequent queries.
    """
    order = np.lexsort((np.array(typed.texts), -typed.times))
    linked, rest = order[:MOST_LINKED], order[MOST_LINKED:]
    groups = [linked[group] for group in _linked(typed.vectors[linked], farthest)]
    if len(rest):
        centers = np.stack([typed.vectors[group].mean(axis=0) for group in groups])
        nearest = np.argmax(typed.vectors[rest] @ centers.T, axis=1)
        groups = [np.append(g, rest[nearest == number]) for number, g in enumerate(groups)]
    return groups


def _linked(vectors: Vectors, farthest: float) -> list[Integers]:
    count = len(vectors)
    apart = 1.0 - (vectors @ vectors.T).astype(np.float64)
    apart = np.round(apart, 6)  # so that equal distances do not hang on rounding
    np.fill_diagonal(apart, np.inf)
    sizes = np.ones(count)
    members = [[index] for index in range(count)]
    nearest = apart.min(axis=1)
    while count > 1:
        first = int(np.argmin(nearest))
        if not nearest[first] <= farthest:
            break
        second = int(np.argmin(apart[first]))
        a, b = min(first, second), max(first, second)
        joined = (sizes[a] * apart[a] + sizes[b] * apart[b]) / (sizes[a] + sizes[b])
        apart[a], apart[:, a] = joined, joined
        apart[b], apart[:, b] = np.inf, np.inf
        apart[a, a] = np.inf
        sizes[a] += sizes[b]
        members[a] += members[b]
        members[b] = []
        nearest = apart.min(axis=1)
    return [np.array(group) for group in members if group]


def _words_of(typed: Typed) -> Counter[str]:
    """How many searches hold each term."""
    counts: Counter[str] = Counter()
    for text, times in zip(typed.texts, typed.times, strict=True):
        for term in {term_of(word) for word in words_to_stem(text)}:
            counts[term] += int(times)
    return counts


def _shared_terms(inside: Typed, min_count: int, people_of: Callable[[Integers], int]) -> list[str]:
    """The terms of queries that enough different people searched for."""
    holding: dict[str, list[int]] = {}
    for index, text in zip(inside.index.tolist(), inside.texts, strict=True):
        for term in {term_of(word) for word in words_to_stem(text)}:
            holding.setdefault(term, []).append(index)
    return [term for term, texts in holding.items() if people_of(np.array(texts)) >= min_count]


def _label(inside: Typed, terms: Sequence[str], every: Counter[str], total: float) -> str:
    """The terms that the cluster has far more often than other searches have, in usual forms."""
    own = _words_of(inside)
    forms: dict[str, Counter[str]] = {}
    for text, times in zip(inside.texts, inside.times, strict=True):
        for word in words_to_stem(text):
            forms.setdefault(term_of(word), Counter())[word] += int(times)
    searches = float(inside.times.sum())

    def weight(term: str) -> float:
        """What the term adds to the divergence of the cluster's searches from all of them."""
        share = own[term] / searches
        return share * math.log(share / ((every[term] + 1) / (total + 1)))

    best = sorted(terms, key=lambda term: (-weight(term), term))[:LABELS]
    return ", ".join(forms[term].most_common(1)[0][0] for term in best)


MOST_CANDIDATES = 2000
"""Of more candidates those with the most searches."""
LEAST_WEIGHT = 0.01
"""The least weight is this part of the mean one: none may be 0."""

_SIZES = (0, 5, 10, 20, 40, 80)
_STEPS_OF_WEIGHTS = 500


@dataclass(frozen=True, slots=True)
class Fall:
    """The set's distance to the traffic with so many of the proposed queries added to it.

    `as_it_is` is that of queries that count as they do now, where an added one counts as the others
    on average; `weighted` that with the proposed weights. `inside` is the mean distance of two
    searches.
    """

    added: int
    as_it_is: float
    weighted: float
    inside: float

    @property
    def worth(self) -> float:
        """As many searches drawn at random would be as near to the traffic."""
        return self.inside / self.as_it_is if self.as_it_is > 0 else math.nan

    @property
    def weighted_worth(self) -> float:
        """The same with the proposed weights; nan where the distance cannot be told from 0."""
        return self.inside / self.weighted if self.weighted > 0 else math.nan


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
    weights = weighted(_with(own, every, taken), every, distance).weights.tolist()
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
    nearest = cross(points, own.vectors, euclidean).min(axis=1)
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


def _with(own: EvaluationSet, typed: Typed, taken: Sequence[int]) -> EvaluationSet:
    """The set with queries added, each of which counts as the others do on average."""
    n, more = len(own.weights), len(taken)
    vectors = np.concatenate([own.vectors, typed.vectors[list(taken)]])
    weights = np.concatenate([own.weights * n, np.ones(more)]) / (n + more)
    return replace(own, vectors=vectors, weights=weights)


def weighted(own: EvaluationSet, typed: Typed, distance: Distance) -> EvaluationSet:
    """The set with the weights that bring it nearest to the traffic, all of them above 0.

    By accelerated projected gradients (Beck and Teboulle 2009, SIAM J. on Imaging Sciences 2(1)).
    """
    searched = np.flatnonzero(typed.times)
    shares, points = typed.times[searched] / typed.times.sum(), typed.vectors[searched]
    away = mean_distances(own.vectors, points, shares, distance)
    inside = cross(own.vectors, own.vectors, distance).astype(np.float64)
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
    least = LEAST_WEIGHT / len(weights)
    weights = np.maximum(weights, least)
    return replace(own, weights=weights / weights.sum())


def _on_simplex(values: Floats) -> Floats:
    """The nearest weights that sum to 1 and are not below 0."""
    ordered = np.sort(values)[::-1]
    over = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    largest = int(np.flatnonzero(ordered > over)[-1])
    return np.asarray(np.maximum(values - over[largest], 0.0), dtype=np.float64)


def _inside(typed: Typed, distance: Distance) -> float:
    """The mean distance of two different searches."""
    searched = np.flatnonzero(typed.times)
    shares, points = typed.times[searched] / typed.times.sum(), typed.vectors[searched]
    total = float(typed.times.sum())
    mean = float(shares @ mean_distances(points, points, shares, distance))
    return mean * total / max(total - 1, 1.0)


def distance_of_set(own: EvaluationSet, typed: Typed, distance: Distance) -> float:
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
    for size in [*(n for n in _SIZES if n < most), most]:
        away = np.zeros(2)
        for (learnt, measured), order in zip(ways, orders, strict=True):
            some = _with(own, learnt, order[:size])
            for number, each in enumerate((some, weighted(some, learnt, distance))):
                away[number] += distance_of_set(each, measured, distance) / len(ways)
        falls.append(Fall(size, float(away[0]), float(away[1]), inside))
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
