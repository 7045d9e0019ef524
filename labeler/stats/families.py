"""Verdicts on families of comparisons of systems: bootstrap-t, which allows for the whole family.

A family is what is looked at together, and at most one of twenty families has a wrong verdict:

- `pair`: two systems. Nothing else that was scored has any part in it.
- `baseline`: systems against one that was named beforehand.
- `best`: systems against the best of the sample, which every draw chooses anew.
- `may be best`: the same of few queries. It says of each system alone whether it may be the best.
- `all pairs`: every two systems.
- `hsd`: against one system by Tukey's randomised test of all pairs (`hsd_ranges`).

Queries are drawn with replacement, and systems are centred, so that none is better. A difference is
divided by its error, which each draw computes anew: one that varies much then reaches no farther
than the others. The observed one is held against the largest of the family in each draw. What is
told apart is set aside, and the rest is held against the largest of the rest (step-down).

Romano and Wolf (2005), Econometrica 73(4); Hsu (1984), Annals of Statistics 12(3). How often
verdicts err, and what they find: scripts/simulate_comparisons.py.

    compared(Systems(scores), baseline=0)     each other system less the first
    compared(Systems(scores))                 each other system less the best
    compared(Systems(scores), family="all pairs")
    each_pair((scores_of_one - scores_of_other)[None])    one verdict, of two systems alone
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
from labeler.stats.means import TIED, normal_below, unseen
from labeler.stats.student import NORMAL_QUANTILE, SIGNIFICANT

Family = Literal["pair", "baseline", "best", "may be best", "all pairs", "hsd"]
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
_DEALT = 2_000_000
"""So many values are dealt at a time."""


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
    def ends(self) -> tuple[float | None, float | None]:
        """The interval; `None` where there is none."""
        return (None, None) if math.isnan(self.low) else (self.low, self.high)

    @property
    def word(self) -> str:
        """The verdict in words."""
        if not self.queries:
            return "undefined"
        if self.differing and smallest_p(self.differing) >= SIGNIFICANT:
            return "unresolvable"  # whatever comes of so few differing queries
        if self.family == "may be best":
            return "not the best" if self.is_told else "may be the best"
        if not self.is_told:
            return "cannot tell apart"
        return "better" if self.estimate > 0 else "worse"


def smallest_p(queries: int) -> float:
    """The least p of a two-sided randomization test of so many queries: all signs are alike."""
    return 2.0 ** (1 - queries) if queries else 1.0


@dataclass(frozen=True, eq=False)
class Systems:
    """Values of systems over the same queries, `(systems, queries)`, none of them `nan`.

    `weighting` says how much each query counts. Two values differ by `most` at the most, where that
    is known. `means` and `all_errors`, `(systems, systems)`, are given where the values' own means
    and the standard errors of their differences are not the best known.
    """

    values: Floats
    weighting: Weighting | None = None
    most: float = math.inf
    means: Floats | None = None
    all_errors: Floats | None = None

    @property
    def queries(self) -> int:
        """How many queries."""
        return int(self.values.shape[1])

    @cached_property
    def estimates(self) -> Floats:
        """Each system's mean."""
        return self._own_means if self.means is None else self.means

    @cached_property
    def _own_means(self) -> Floats:
        if not self.queries:
            return np.full(len(self.values), math.nan)
        weights = None if self.weighting is None else self.weighting.weights
        return np.average(self.values, axis=1, weights=weights)

    def by_weight(self, values: Floats) -> Floats:
        """Values of systems, each times its query's weight over the mean weight."""
        if self.weighting is None:
            return values
        weights = self.weighting.weights
        return np.asarray(values * (weights / weights.mean()), dtype=np.float64)

    @cached_property
    def centred(self) -> Floats:
        """What each query moves a system's mean by, times the queries; 0 in the mean."""
        return self.by_weight(self.values - self._own_means[:, None])


def each_pair(differences: Floats, most: float = math.inf, seed: int = 0) -> list[Verdict]:
    """The verdicts on pairs of which each is looked at alone, `(pairs, queries)`."""
    values = np.concatenate([differences, np.zeros((1, differences.shape[1]))])
    return compared(Systems(values, most=most), len(differences), "pair", seed)


def compared(
    systems: Systems,
    baseline: int | None = None,
    family: Family | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> list[Verdict]:
    """The verdicts on a family, in the order of the systems, or of the pairs.

    Without a `family` it is every other system against the `baseline`, or against the best.
    """
    count = len(systems.values)
    base = int(systems.estimates.argmax()) if baseline is None else baseline
    first, second = np.delete(np.arange(count), base), np.full(count - 1, base)
    if family == "all pairs":
        first, second = np.triu_indices(count, 1)
    if family is None or count == 2:
        best: Family = "may be best" if systems.queries < FEW else "best"
        family = "pair" if count == 2 else best if baseline is None else "baseline"
    return _Pairs(systems, first, second, family, seed, draws).verdicts


def contenders(systems: Systems) -> Flags:
    """Which systems may be the best, `(systems,)`."""
    worse = [verdict.first for verdict in compared(systems) if verdict.is_told]
    return ~np.isin(np.arange(len(systems.values)), worse)


def p_of_all_pairs(systems: Systems, seed: int = 0) -> Floats:
    """The p of every two systems, `(systems, systems)`, with ones on the diagonal."""
    p = np.ones((len(systems.values), len(systems.values)))
    for verdict in compared(systems, family="all pairs", seed=seed):
        p[verdict.first, verdict.second] = p[verdict.second, verdict.first] = verdict.p
    return p


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of a family: the places of two systems each."""

    systems: Systems
    first: Integers
    second: Integers
    family: Family
    seed: int
    draws: int

    @property
    def verdicts(self) -> list[Verdict]:
        """A verdict on each pair."""
        systems, decided, may = self.systems, self.decided, self.least_p < SIGNIFICANT
        estimates = self.estimates
        # without an end there is no interval
        reach = np.where(np.isfinite(self.errors), decided.reach * self.errors, math.nan)
        reach = np.maximum(reach, self.left_open)
        # what no outcome could tell from 0 does not leave it out
        low = np.where(may, estimates - reach, np.minimum(estimates - reach, 0.0))
        high = np.where(may, estimates + reach, np.maximum(estimates + reach, 0.0))
        columns = (
            *(self.first, self.second, self.differing, estimates),
            *(np.maximum(low, -systems.most), np.minimum(high, systems.most)),
            *(np.maximum(decided.p, self.least_p), decided.is_told),
        )
        return [
            Verdict(i, j, self.family, systems.queries, n, *figures)
            for i, j, n, *figures in zip(*(column.tolist() for column in columns), strict=True)
        ]

    @property
    def values(self) -> Floats:
        """What the two systems of each pair differ by, `(pairs, queries)`."""
        return self.systems.values[self.first] - self.systems.values[self.second]

    @property
    def centred(self) -> Floats:
        """The same of their centred values."""
        return self.systems.centred[self.first] - self.systems.centred[self.second]

    @cached_property
    def differing(self) -> Integers:
        """At how many queries the two systems of each pair differ."""
        return np.asarray(np.count_nonzero(np.abs(self.values) > TIED, axis=1))

    @cached_property
    def estimates(self) -> Floats:
        """What the means of the two systems differ by."""
        return self.systems.estimates[self.first] - self.systems.estimates[self.second]

    @cached_property
    def left_open(self) -> Floats:
        """How far each difference may be off for queries unlike those seen."""
        of = self.systems
        if of.all_errors is not None or math.isinf(of.most) or of.queries < 2:
            return np.zeros(len(self.first))
        return unseen(self.values, of.most, of.weighting)

    @cached_property
    def least_p(self) -> Floats:
        """The least p that so many differing queries could have, or a normal, or queries unseen."""
        errors = np.maximum(self.errors, self.left_open / NORMAL_QUANTILE)
        normal = 2 * normal_below(-np.abs(self.estimates) / np.maximum(errors, TIED**2))
        could = np.array([*map(smallest_p, self.differing.tolist())])
        return np.asarray(np.maximum(normal, could), dtype=np.float64)

    @cached_property
    def errors(self) -> Floats:
        """The standard error of each difference, without end where nothing is known.

        HSD takes all to have the same one.
        """
        systems, queries = self.systems, self.systems.queries
        if self.family == "hsd":
            values = systems.by_weight(systems.values)
            apart = values - values.mean(axis=0)
            variance = float((apart**2).sum()) / max(queries * (len(values) - 1), 1)
            return np.full(len(self.first), math.sqrt(2 * variance / max(queries, 1)))
        if queries < 2:
            return np.full(len(self.first), math.inf)
        if systems.all_errors is not None:
            return np.asarray(systems.all_errors[self.first, self.second], dtype=np.float64)
        spread = np.sqrt((self.centred**2).mean(axis=1) / (queries - 1))
        return np.where((spread > TIED) | math.isfinite(systems.most), spread, math.inf)

    @property
    def decided(self) -> Decided:
        """Which pairs are told apart, and by how many errors."""
        systems, size = self.systems, len(self.first)
        if systems.queries < 2:
            return Decided(np.ones(size), np.full(size, math.nan), np.zeros(size, dtype=np.bool_))
        t = np.abs(self.estimates) / np.maximum(self.errors, TIED**2)
        t = np.where(self.least_p < SIGNIFICANT, t, np.minimum(t, NORMAL_QUANTILE))
        if self.family == "hsd":
            ranges = hsd_ranges(systems.by_weight(systems.values), self.seed, self.draws)
            return each_alone(t, ranges[:, None] / max(self.errors[0], TIED**2))
        if self.family == "may be best":
            return each_alone(t, self._below_best(np.ones(size, dtype=np.bool_))[:, :-1])
        if self.family == "best":
            return stepped_down(t, lambda active: self._below_best(active).max(axis=1))
        rows = Contrasts(self.centred, self.seed, self.draws)
        if self.family == "pair":
            return each_alone(t, np.concatenate(rows.statistics))
        return stepped_down(t, rows.largest)

    def _below_best(self, active: Flags) -> Floats:
        """How far each active system lies below the best of each draw, `(draws, active + 1)`.

        The best of the sample stands last: other draws take another best, and it lies below that.
        """
        rows = self.systems.centred[np.append(self.first[active], self.second[0])]
        blocks = _counts(rows.shape, self.draws, self.seed)
        return np.concatenate([_below_best(counts, rows) for counts in blocks])


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences less their means, `(rows, queries)`, which are looked at together."""

    rows: Floats
    seed: int = 0
    draws: int = DRAWS

    @property
    def _enough(self) -> int:
        """How many draws are made of so many rows."""
        return min(self.draws, max(FEWEST_DRAWS, _CELLS // max(len(self.rows), 1)))

    @cached_property
    def statistics(self) -> list[Floats]:
        """Of blocks of draws, how many errors each row's mean lies from 0, `(draws, rows)`."""
        return [*self._made()]

    def _made(self) -> Iterator[Floats]:
        rows, queries = self.rows, self.rows.shape[1]
        for counts in _counts(rows.shape, self._enough, self.seed):
            means = counts @ rows.T / queries
            variances = counts @ (rows**2).T / queries - means**2
            errors = _divided(means, variances, (rows**2).mean(axis=1), queries)
            yield np.abs(errors).astype(np.float32)

    def largest(self, active: Flags) -> Floats:
        """The largest statistic of the active rows in each draw."""
        blocks = self.statistics if len(self.rows) * self._enough <= _CELLS else self._made()
        return np.concatenate([block[:, active].max(axis=1) for block in blocks])


def _below_best(counts: Floats, rows: Floats) -> Floats:
    """How many errors each centred row lies below the best row of each draw."""
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
    return _divided(below, variances, least, queries)


def _counts(shape: tuple[int, ...], draws: int, seed: int) -> Iterator[Floats]:
    """How often each query is drawn, in blocks that have few statistics of `(rows, queries)`."""
    rows, queries = shape
    size = max(1, 1_000_000 // max(rows, 1))
    for counts in drawn_counts(queries, draws, seed):
        for start in range(0, len(counts), size):
            yield counts[start : start + size]


def _divided(means: Floats, variances: Floats, whole: Floats, queries: int) -> Floats:
    """Means of draws, each divided by its error: `whole` is the variance in the whole sample."""
    least = np.maximum(FLOOR * whole, TIED**2)
    return means / np.sqrt(np.maximum(variances, least) / (queries - 1))


@dataclass(frozen=True, eq=False)
class Decided:
    """Of each pair its p, how many errors its interval reaches, and whether it is told apart."""

    p: Floats
    reach: Floats
    is_told: Flags


def stepped_down(t: Floats, largest: Callable[[Flags], Floats]) -> Decided:
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
    return Decided(p, reach, ~active)


def each_alone(t: Floats, drawn: Floats) -> Decided:
    """Hold each observed statistic against its own in each draw, or against one for all of them.

    `drawn` is `(draws, systems)`, or `(draws, 1)`.
    """
    ordered = np.broadcast_to(np.sort(drawn, axis=0), (len(drawn), len(t))).T
    reach = np.array([*map(_critical, ordered)])
    p = np.array([_chances(each[None], own)[0] for each, own in zip(t, ordered, strict=True)])
    return Decided(p, reach, t > reach)


def _chances(t: Floats, drawn: Floats) -> Floats:
    """The share of ascending drawn statistics that reach each observed one, which is one of all."""
    reached = len(drawn) - np.searchsorted(drawn, t)
    return np.asarray((1.0 + reached) / (1.0 + len(drawn)), dtype=np.float64)


def _critical(drawn: Floats) -> float:
    """What a statistic must exceed to be told from chance: its p is then below 5 %."""
    beyond = math.ceil(SIGNIFICANT * (1 + len(drawn)) - 1 - 1e-9)
    return max(float(drawn[len(drawn) - beyond]), NORMAL_QUANTILE)


def hsd_ranges(values: Floats, seed: int, deals: int) -> Floats:
    """The largest differences of two means of `(systems, queries)` values dealt to the systems.

    Were all systems alike, the values of a query could as well have been dealt to them in another
    way: Carterette (2012), ACM TOIS 30(1).
    """
    rng = np.random.default_rng(seed)
    ranges = np.empty(deals)
    size = max(1, _DEALT // values.size)
    for start in range(0, deals, size):
        block = np.broadcast_to(values, (min(size, deals - start), *values.shape))
        means = rng.permuted(block, axis=1).mean(axis=2)
        ranges[start : start + size] = np.ptp(means, axis=1)
    # sums in another order must not lose a tie
    return ranges * (1 + 1e-12)


def wins_ties_losses(differences: Floats) -> tuple[int, int, int]:
    """How many differences are above, at and below zero, up to rounding."""
    won, lost = (int(np.count_nonzero(side > TIED)) for side in (differences, -differences))
    return won, len(differences) - won - lost, lost


def benjamini_yekutieli(p: Floats) -> Floats:
    """p-values corrected for the rate of false discoveries, however the tests hang together.

    Benjamini and Yekutieli (2001), Annals of Statistics 29(4).
    """
    order, ranks, corrected = np.argsort(p), np.arange(1, len(p) + 1), np.empty_like(p)
    # each times m / rank and the harmonic sum, and never above one after it
    scaled = p[order] * len(p) / ranks * (1 / ranks).sum()
    corrected[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return corrected
