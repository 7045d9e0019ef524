"""Clusters of queries that the corpus does not cover: average linkage, which needs no seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.monitoring.density.evaluation_set import Vectors
from labeler.text.terms import term_of, words_to_stem

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
