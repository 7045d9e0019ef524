"""Whether the order of systems offline is their order online, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from labeler.arrays import Floats
from labeler.monitoring.density.options import WEEKLY_LEVEL
from labeler.report.table import Interval
from labeler.stats.correlation import tau_b
from labeler.stats.intervals import quantiles
from labeler.stats.means import mean_interval
from labeler.stats.resampling import drawn_counts

SURE = 0.95
"""A pair's order is told apart where so many draws agree on it."""

OfflineScores = Mapping[str, Mapping[str, float]]
"""Each system's score of each query."""


@dataclass(frozen=True)
class PairOrder:
    """Two systems: how likely the first is the better offline, online, and both orders the same.

    `agrees` is None where one of the two orders cannot be told.
    """

    first: str
    second: str
    offline: float
    online: float
    same: float
    agrees: bool | None


@dataclass(frozen=True)
class SystemOrders:
    """Systems with their scores offline and online, and what their orders have in common."""

    measure: str
    online_measure: str
    systems: tuple[str, ...]
    offline: tuple[Interval, ...]
    online: tuple[Interval, ...]
    tau: Interval
    pairs: tuple[PairOrder, ...]

    @property
    def reversed_pairs(self) -> list[PairOrder]:
        """The pairs that users order otherwise, sure enough for all pairs in a year of weeks."""
        by_chance = WEEKLY_LEVEL / max(len(self.pairs), 1)
        return [
            pair
            for pair in self.pairs
            if pair.agrees is False and min(pair.online, 1 - pair.online) <= by_chance
        ]


def system_orders(
    offline: OfflineScores,
    online: Sequence[Interval],
    drawn: Floats,
    names: tuple[str, str],
    seed: int = 0,
) -> SystemOrders:
    """Hold the order of systems by offline scores against that of their variants online.

    `online` are the estimates of the systems in the order of `offline`, `drawn` those of each draw
    of users, `(draws, systems)`; more is better in both, and `names` are the two measures'. How
    likely a system is the better one is the share of draws, of queries offline and of users online,
    in which it is.
    """
    systems = tuple(offline)
    shared = sorted(set.intersection(*(set(scores) for scores in offline.values())))
    values = np.array([[offline[system][query] for query in shared] for system in systems])
    means = _drawn_means(values, len(drawn), seed)
    pairs = [
        _pair(systems, means, drawn, first, second)
        for first, second in combinations(range(len(systems)), 2)
    ]
    own = [mean_interval(row, seed=seed) or (None, None) for row in values]
    estimates = (Interval(float(r.mean()), *ends) for r, ends in zip(values, own, strict=True))
    total = [np.nan if of.value is None else of.value for of in online]
    return SystemOrders(
        *names,
        systems,
        tuple(estimates),
        tuple(online),
        _tau(values.mean(axis=1), np.array(total), means, drawn),
        tuple(pairs),
    )


def _drawn_means(values: Floats, draws: int, seed: int) -> Floats:
    """The mean of each system over draws of queries, `(draws, systems)`."""
    blocks = [counts @ values.T for counts in drawn_counts(values.shape[1], draws, seed)]
    return np.asarray(np.concatenate(blocks) / values.shape[1], dtype=np.float64)


def _pair(
    systems: Sequence[str], offline: Floats, online: Floats, first: int, second: int
) -> PairOrder:
    above = [_share_above(of[:, first] - of[:, second]) for of in (offline, online)]
    here, other = above
    is_sure = all(share >= SURE or share <= 1 - SURE for share in above)
    same = here * other + (1 - here) * (1 - other)
    agrees = (here > 0.5) == (other > 0.5) if is_sure else None
    return PairOrder(systems[first], systems[second], here, other, same, agrees)


def _share_above(differences: Floats) -> float:
    """The share of draws above 0, half of those at 0."""
    defined = differences[~np.isnan(differences)]
    if not len(defined):
        return 0.5
    return float((defined > 0).mean() + (defined == 0).mean() / 2)


def _tau(offline: Floats, online: Floats, means: Floats, drawn: Floats) -> Interval:
    if np.isnan(online).any() or len(offline) < 2:
        return Interval(None, None, None)
    draws = min(len(means), len(drawn))
    # a draw of few users may hold none of some system, and then says nothing of the order
    whole = ~np.isnan(drawn[:draws]).any(axis=1)
    if not whole.any():
        return Interval(float(tau_b(offline, online)), None, None)
    values = np.asarray(tau_b(means[:draws][whole], drawn[:draws][whole]), dtype=np.float64)
    low, high = quantiles(values, 0.025, 0.975) or (None, None)
    return Interval(float(tau_b(offline, online)), low, high)
