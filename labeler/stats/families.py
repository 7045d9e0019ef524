"""Verdicts on families of comparisons of systems: bootstrap-t, which allows for the whole family.

A family is what is looked at together, and at most one of twenty families has a wrong verdict:

- `pair`: two systems. Nothing else that was scored has any part in it.
- `baseline`: systems against one that was named beforehand.
- `best`: systems against the best of the sample, which every draw chooses anew.
- `may be best`: the same of few queries. It says of each system alone whether it may be the best.
- `all pairs`: every two systems.

Queries are drawn with replacement, and systems are centred, so that none is better. A difference is
divided by its error, which each draw computes anew: one that varies much then reaches no farther
than the others. The observed one is held against the largest of the family in each draw. What is
told apart is set aside, and the rest is held against the largest of the rest (step-down).

Romano and Wolf (2005), Econometrica 73(4); Hsu (1984), Annals of Statistics 12(3). How often
verdicts err, and what they find: scripts/simulate_comparisons.py.

    compared(Systems(scores), baseline=0)     each other system less the first
    compared(Systems(scores))                 each other system less the best
    compared(Systems(scores), family="all pairs")
    pair(scores_of_one - scores_of_other)     one verdict, the same wherever it is asked for
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.metrics.scores import Weighting
from labeler.stats.intervals import drawn_counts
from labeler.stats.means import unseen
from labeler.stats.significance import TIED, smallest_p
from labeler.stats.student import NORMAL_QUANTILE, SIGNIFICANT

Family = Literal["pair", "baseline", "best", "may be best", "all pairs"]
"""What is looked at together."""
DRAWS = 9_999
"""How many times queries are drawn; for very many pairs fewer."""
FEWEST_DRAWS = 1_999
FEW = 25
"""Of fewer queries it is said which systems may be the best, and of none that it is worse."""
FLOOR = 0.02
"""A draw's variance is at least this share of the sample's, as ties leave some draws with none."""
_CELLS = 20_000_000
"""The most statistics of draws that are held at once, in single precision."""


@dataclass(frozen=True)
class Verdict:
    """The difference of two systems, `first` less `second`, which are places among the systems.

    `low` and `high` leave 0 out exactly where the verdict tells the two apart: the intervals of a
    family hold together in 95 of 100 cases. `p` allows for the family. `differing` counts the
    queries at which the two differ; of 5 and fewer none could be told from chance.
    """

    first: int
    second: int
    family: Family
    queries: int
    differing: int
    estimate: float
    low: float
    high: float
    p: float
    is_told: bool

    @property
    def word(self) -> str:
        """The verdict in words."""
        if not self.queries:
            return "undefined"
        if self.differing and not resolvable(self.differing):
            return "unresolvable"
        if self.family == "may be best":
            return "not the best" if self.is_told else "may be the best"
        if not self.is_told:
            return "cannot tell apart"
        return "better" if self.estimate > 0 else "worse"


def resolvable(differing: int) -> bool:
    """Whether any outcome of so many differing queries could be told from chance."""
    return smallest_p(differing) < SIGNIFICANT


@dataclass(frozen=True, eq=False)
class Systems:
    """Values of systems over the same queries, `(systems, queries)`, none of them `nan`.

    `weighting` says how much each query counts. Two values differ by `most` at the most, where that
    is known. `means`, where given, are better estimates than the values' means.
    """

    values: Floats
    weighting: Weighting | None = None
    most: float = math.inf
    means: Floats | None = None

    @property
    def queries(self) -> int:
        """How many queries."""
        return int(self.values.shape[1])

    @cached_property
    def estimates(self) -> Floats:
        """Each system's mean."""
        if self.means is not None:
            return self.means
        return self._own_means

    @cached_property
    def _own_means(self) -> Floats:
        weights = None if self.weighting is None else self.weighting.weights
        return np.asarray(np.average(self.values, axis=1, weights=weights), dtype=np.float64)

    @cached_property
    def centred(self) -> Floats:
        """What each query moves a system's mean by, times the queries; 0 in the mean."""
        apart = self.values - self._own_means[:, None]
        if self.weighting is None:
            return apart
        weights = self.weighting.weights
        return np.asarray(apart * (weights / weights.mean()), dtype=np.float64)

    def less(self, first: Integers, second: Integers) -> Floats:
        """The centred differences of pairs of systems, `(pairs, queries)`."""
        return np.asarray(self.centred[first] - self.centred[second], dtype=np.float64)

    def errors(self, first: Integers, second: Integers) -> Floats:
        """The standard errors of pairs' differences, no less than unseen queries leave open.

        Without end where nothing is known, as of one query.
        """
        if self.queries < 2:
            return np.full(len(first), math.inf)
        spread = np.sqrt((self.less(first, second) ** 2).mean(axis=1) / (self.queries - 1))
        if math.isinf(self.most):
            return np.asarray(np.where(spread > TIED, spread, math.inf), dtype=np.float64)
        away = unseen(self.values[first] - self.values[second], self.most, self.weighting)
        return np.asarray(np.maximum(spread, away / NORMAL_QUANTILE), dtype=np.float64)

    def differing(self, first: Integers, second: Integers) -> Integers:
        """At how many queries the two systems of each pair differ."""
        apart: Flags = np.abs(self.values[first] - self.values[second]) > TIED
        return np.asarray(apart.sum(axis=1), dtype=np.int64)


def pair(
    differences: Floats, weighting: Weighting | None = None, most: float = math.inf
) -> Verdict:
    """The verdict on one pair of systems, from its differences at each query, `nan` left out."""
    defined = ~np.isnan(differences)
    row = differences[defined]
    some = None if weighting is None else weighting.choose(defined)
    return compared(Systems(np.stack([row, np.zeros_like(row)]), some, most), 1)[0]


def compared(
    systems: Systems, baseline: int | None = None, family: Family | None = None, seed: int = 0
) -> list[Verdict]:
    """The verdicts on a family, in the order of the systems, or of the pairs.

    Without a `family` it is every other system against the `baseline`, or against the best.
    """
    count = len(systems.values)
    if family == "all pairs" and count > 2:
        return _verdicts(systems, _Pairs(systems, *np.triu_indices(count, 1), seed), family)
    base = int(systems.estimates.argmax()) if baseline is None else baseline
    others = np.delete(np.arange(count), base)
    bases = np.full(len(others), base)
    if count == 2 or baseline is not None:
        named: Family = "pair" if count == 2 else "baseline"
        return _verdicts(systems, _Pairs(systems, others, bases, seed), named)
    of_best: Family = "may be best" if systems.queries < FEW else "best"
    return _verdicts(systems, _AgainstBest(systems, others, bases, seed), of_best)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of systems whose differences are held against the largest of any of them, up or down.

    The pair `i` are the systems `first[i]` and `second[i]`.
    """

    systems: Systems
    first: Integers
    second: Integers
    seed: int

    @cached_property
    def _statistics(self) -> list[Floats]:
        """The statistics of each draw, `(draws, pairs)` in blocks."""
        rows = self.systems.less(self.first, self.second)
        few = max(FEWEST_DRAWS, _CELLS // max(len(rows), 1))
        blocks = _counts(self.systems.queries, min(DRAWS, few), len(rows), self.seed)
        return [np.abs(_studentized(counts, rows)).astype(np.float32) for counts in blocks]

    def largest(self, active: Flags) -> Floats:
        """The largest statistic of the active pairs in each draw."""
        return np.concatenate([block[:, active].max(axis=1) for block in self._statistics])


@dataclass(frozen=True, eq=False)
class _AgainstBest(_Pairs):
    """The same of systems against the best: each draw takes its own best of the active ones."""

    def largest(self, active: Flags) -> Floats:
        """How far the farthest of the active systems lies below the best of each draw."""
        return np.asarray(self.below_best(active).max(axis=1), dtype=np.float64)

    def below_best(self, active: Flags) -> Floats:
        """How far each active system lies below the best of each draw, `(draws, active)`."""
        among = np.append(self.first[active], self.second[0])
        blocks = _counts(self.systems.queries, DRAWS, len(among), self.seed)
        return np.concatenate([self._of_block(counts, among) for counts in blocks])

    def _of_block(self, counts: Floats, among: Integers) -> Floats:
        rows = self.systems.centred[among]
        queries = rows.shape[1]
        means, squares = counts @ rows.T / queries, counts @ (rows**2).T / queries
        best = means.argmax(axis=1)
        # (draws, systems): mean products of each system with the best of the draw
        products = (counts * rows[best]) @ rows.T / queries
        whole = rows @ rows.T / queries
        of_best = np.arange(len(counts)), best
        below = means[of_best][:, None] - means
        variances = squares[of_best][:, None] + squares - 2 * products - below**2
        least = whole.diagonal()[best][:, None] + whole.diagonal() - 2 * whole[best]
        return _divided(below, variances, least, queries)[:, :-1]


def _counts(queries: int, draws: int, rows: int, seed: int) -> Iterator[Floats]:
    """How often each query is drawn, in blocks for which the statistics of rows are few enough."""
    size = max(1, 1_000_000 // max(rows, 1))
    for counts in drawn_counts(queries, draws, seed):
        for start in range(0, len(counts), size):
            yield counts[start : start + size]


def _studentized(counts: Floats, rows: Floats) -> Floats:
    """The mean of each centred row in each draw, divided by its error there: `(draws, rows)`."""
    queries = rows.shape[1]
    means = counts @ rows.T / queries
    variances = counts @ (rows**2).T / queries - means**2
    return _divided(means, variances, (rows**2).mean(axis=1), queries)


def _divided(means: Floats, variances: Floats, whole: Floats, queries: int) -> Floats:
    """Means of draws, each divided by its error: `whole` is the variance in the whole sample."""
    least = np.maximum(FLOOR * whole, TIED**2)
    errors = np.sqrt(np.maximum(variances, least) / (queries - 1))
    return np.asarray(means / errors, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Decided:
    """Of each pair its p, how many errors its interval reaches, and whether it is told apart."""

    p: Floats
    reach: Floats
    is_told: Flags


def _verdicts(systems: Systems, pairs: _Pairs, family: Family) -> list[Verdict]:
    first, second = pairs.first, pairs.second
    estimates = systems.estimates[first] - systems.estimates[second]
    errors, differing = systems.errors(first, second), systems.differing(first, second)
    could = np.array([*map(smallest_p, differing.tolist())])
    t = np.where(could < SIGNIFICANT, np.abs(estimates) / np.maximum(errors, TIED**2), 0.0)
    if systems.queries < 2:
        decided = _Decided(
            np.ones(len(t)), np.full(len(t), math.nan), np.zeros(len(t), dtype=np.bool_)
        )
    elif isinstance(pairs, _AgainstBest) and family == "may be best":
        decided = _each_alone(t, pairs.below_best(np.ones(len(t), dtype=np.bool_)))
    else:
        decided = _stepped_down(t, pairs.largest)
    low, high = estimates - decided.reach * errors, estimates + decided.reach * errors
    # what no outcome could tell from 0 does not leave it out
    low = np.where(could < SIGNIFICANT, low, np.minimum(low, 0.0))
    high = np.where(could < SIGNIFICANT, high, np.maximum(high, 0.0))
    columns = (
        *(first, second, differing, estimates),
        *(np.maximum(low, -systems.most), np.minimum(high, systems.most)),
        *(np.maximum(decided.p, could), decided.is_told),
    )
    return [
        Verdict(i, j, family, systems.queries, n, *figures)
        for i, j, n, *figures in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _stepped_down(t: Floats, largest: Callable[[Flags], Floats]) -> _Decided:
    """Hold each observed statistic against the largest of those that are not yet told apart.

    What the first step does not tell apart reaches as far as the first step asks for.
    """
    active = np.ones(len(t), dtype=np.bool_)
    p, reach = np.zeros(len(t)), np.zeros(len(t))
    least, first = 0.0, 0.0
    while active.any():
        drawn = np.sort(largest(active).astype(np.float64))
        cut = _critical(drawn)
        p[active] = np.maximum(_chances(t[active], drawn), least)
        is_told = active & (t > cut)
        first = first or cut
        reach[is_told] = cut
        if not is_told.any():
            break
        least, active = float(p[is_told].max()), active & ~is_told
    reach[active] = first
    return _Decided(p, reach, ~active)


def _each_alone(t: Floats, below: Floats) -> _Decided:
    """Hold each observed statistic against its own in each draw, `(draws, systems)`."""
    drawn = np.sort(below, axis=0)
    reach = np.array([_critical(column) for column in drawn.T])
    p = np.array([_chances(t[i : i + 1], column)[0] for i, column in enumerate(drawn.T)])
    return _Decided(p, reach, np.asarray(t > reach, dtype=np.bool_))


def _chances(t: Floats, drawn: Floats) -> Floats:
    """The share of ascending drawn statistics that reach each observed one, which is one of all."""
    reached = len(drawn) - np.searchsorted(drawn, t)
    return np.asarray((1.0 + reached) / (1.0 + len(drawn)), dtype=np.float64)


def _critical(drawn: Floats) -> float:
    """What a statistic must exceed to be told from chance: its p is then below 5 %."""
    beyond = math.ceil(SIGNIFICANT * (1 + len(drawn)) - 1 - 1e-9)
    return float(drawn[len(drawn) - beyond])
