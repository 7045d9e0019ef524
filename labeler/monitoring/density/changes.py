"""What changed in queries: a classifier that tells two samples apart, and the names of features.

A classifier learns on half of the blocks to tell the samples apart, and is asked about the other
half (a classifier two-sample test; Lopez-Paz and Oquab 2017, ICLR). What it tells apart beyond
chance has changed. Which features have is tested for each, allowing for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.monitoring.density.comparison import DriftTest
from labeler.monitoring.density.features import Features
from labeler.monitoring.density.searches import SearchLog
from labeler.stats.blocked import (
    BlockShare,
    Separation,
    SharesMoved,
    block_share,
    separation,
    shares_moved,
)
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.logistic import linear_scores, logistic
from labeler.stats.shares import difference_interval
from labeler.stats.sides import BlockSides

MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """The share of searches with a feature, before and now, and how sure it is that it moved.

    `kind` is `word`, `length`, `form` or `language`. `low` and `high` are the ends of the interval
    of the difference; `p` allows for all features that were looked at.
    """

    kind: str
    name: str
    before: BlockShare
    now: BlockShare
    low: float
    high: float
    p: float

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        shares = {"before": list(self.before), "now": list(self.now)}
        return {
            "kind": self.kind,
            "name": self.name,
            **shares,
            "difference": [self.now.value - self.before.value, self.low, self.high],
            "p": self.p,
        }


@dataclass(frozen=True, slots=True)
class Changes:
    """What tells a week from the reference weeks.

    `area` is that under the ROC curve of the classifier, over queries that it has not learnt from:
    .5 where it cannot tell. At least `changed` of the searches are other ones than before: the
    share that it takes for new among new ones, less that among old ones. `named` are the features
    that moved, the surest first; `features` counts all that were looked at.
    """

    area: Separation
    changed: tuple[float, float, float]
    named: tuple[FeatureChange, ...]
    features: int

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "area": self.area._asdict(),
            "changed": list(self.changed),
            "features": self.features,
            "named": [change.as_json() for change in self.named],
        }


@dataclass(frozen=True, eq=False)
class MovedFeatures:
    """Features of the searches of a test, and which of them moved, `(features,)`."""

    test: DriftTest
    features: Features
    query: Integers
    counts: Floats
    moved: SharesMoved

    @classmethod
    def of(cls, test: DriftTest, log: SearchLog, min_count: int) -> MovedFeatures:
        """The features of the searches of a log that are in the test."""
        rows, blocks = test.rows, len(test.sides.first)
        shown, query = np.unique(rows.query, return_inverse=True)
        times = np.bincount(query).astype(np.float64)
        texts = [log.texts[number] for number in shown]
        features = Features.of(texts, times, min_count, lambda some: log.people_of(shown[some]))
        counts = _counts(features, rows.block, query, len(rows.day))
        member = np.zeros((blocks, len(rows.day)))
        member[test.moved, np.arange(len(rows.day))] = 1.0
        moved = shares_moved(member @ counts, member @ rows.mass, test.sides)
        return cls(test, features, query, counts, moved)

    @property
    def p(self) -> float:
        """The smallest p of all features."""
        return float(self.moved.p.min(initial=1.0))

    def changes(self) -> Changes:
        """What tells the week of the test from its reference weeks."""
        test, shown = self.test, len(self.features.values)
        cell, count = np.unique(test.block * shown + self.query, return_counts=True)
        searches = _Searches(cell // shown, cell % shown, count.astype(np.float64))
        area, changed = _told_apart(searches, self.features.values, test)
        return Changes(area, changed, self._named(), len(self.features.names))

    def _named(self) -> tuple[FeatureChange, ...]:
        """The features that moved, with intervals over sessions."""
        moved, rows = self.moved, self.test.rows
        sure = [index for index in range(len(moved.p)) if moved.p[index] <= SIGNIFICANT]
        apart = np.abs(moved.first - moved.second)
        sure.sort(key=lambda index: (moved.p[index], -apart[index]))
        sides = [(side, float(rows.people[side].sum())) for side in (rows.first, ~rows.first)]
        named = []
        for index in sure[:MOST_NAMED]:
            now, before = (
                block_share(self.counts[side, index], rows.mass[side], people)
                for side, people in sides
            )
            low, high = difference_interval(now, before)
            kind, name = self.features.names[index]
            named.append(FeatureChange(kind, name, before, now, low, high, float(moved.p[index])))
        return tuple(named)


@dataclass(frozen=True, eq=False)
class _Searches:
    """Searches of one query in one block, so many of each."""

    block: Integers
    query: Integers
    count: Floats


def _counts(features: Features, block: Integers, query: Integers, blocks: int) -> Floats:
    """How many searches of each block have each feature, `(blocks, features)`."""
    texts = len(features.values)
    cell, count = np.unique(block * texts + query, return_counts=True)
    counts = np.zeros((blocks, len(features.names)))
    np.add.at(counts, cell // texts, features.values[cell % texts] * count[:, None])
    return counts


def _told_apart(
    searches: _Searches, features: Floats, test: DriftTest
) -> tuple[Separation, tuple[float, float, float]]:
    """How well each half of the blocks is told apart by what is learnt from the other half."""
    sides = test.sides
    mass = np.bincount(test.block, minlength=len(sides.first)).astype(np.float64)
    halves = _halves(sides)
    areas, taken = [], np.zeros(len(mass))
    for learnt in (halves, ~halves):
        scores = _scored(searches, features, sides, learnt)
        inside = ~learnt[searches.block]
        at, blocks = np.flatnonzero(~learnt), searches.block[inside]
        numbered = np.searchsorted(at, blocks)
        strata = None if sides.strata is None else sides.strata[at]
        held_out = BlockSides(sides.first[at], strata, sides.seed)
        query, count = searches.query[inside], searches.count[inside]
        areas.append(separation(scores[query], count, numbered, held_out))
        np.add.at(taken, blocks, count * (scores[query] > 0))
    now, before = (block_share(taken[side], mass[side]) for side in (sides.first, ~sides.first))
    low, high = difference_interval(now, before)
    return _joined(areas), (now.value - before.value, low, high)


def _joined(areas: Sequence[Separation]) -> Separation:
    """The mean of two halves' areas; p is twice the smaller one (Bonferroni)."""
    area = sum(each.area for each in areas) / len(areas)
    p = min(1.0, len(areas) * min(each.p for each in areas))
    variance = 0.0
    for each in areas:
        if each.low is None or each.high is None:
            return Separation(area, None, None, p)
        variance += ((each.high - each.low) / 2 / len(areas)) ** 2
    half = float(np.sqrt(variance))
    return Separation(area, max(0.0, area - half), min(1.0, area + half), p)


def _halves(sides: BlockSides) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Every other block of either sample, by strata, so that both halves have all of them."""
    strata = np.zeros(len(sides.first)) if sides.strata is None else sides.strata
    order = np.lexsort((strata, sides.first))
    half = np.zeros(len(order), dtype=bool)
    half[order] = np.arange(len(order)) % 2 == 0
    return half


def _scored(
    searches: _Searches,
    features: Floats,
    sides: BlockSides,
    learnt: np.ndarray[Any, np.dtype[np.bool_]],
) -> Floats:
    """The score of each query, by what is learnt from some blocks; both samples weigh alike."""
    inside = learnt[searches.block]
    is_new = sides.first[searches.block[inside]]
    key, row = np.unique(searches.query[inside] * 2 + is_new, return_inverse=True)
    weights = np.bincount(row, weights=searches.count[inside]).astype(np.float64)
    outcome = (key % 2).astype(np.float64)
    total = weights.sum()
    for side in (0.0, 1.0):
        weights[outcome == side] *= total / 2 / max(float(weights[outcome == side].sum()), 1.0)
    return linear_scores(features, logistic(features[key // 2], outcome, weights, ridge=3.0))
