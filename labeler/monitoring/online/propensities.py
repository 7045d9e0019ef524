"""How likely users look at each rank: from documents that one query showed at several ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.online.estimates import UNKNOWN, GroupedSums, added
from labeler.monitoring.online.pairs import PairsAtRanks
from labeler.report.table import Interval

STEPS = 25
"""Steps of Newton's method; it takes 5 to 10."""
PRIOR = 0.1
"""Matches that each of two ranks that met is given against the other; more would draw rare ranks to
1, by 8 % where 1,000 queries have 5 searches each (scripts/simulate_clicks.py)."""
FEWEST_PAIRS = 20
"""From fewer documents at two ranks no propensity is estimated."""


@dataclass(frozen=True, eq=False)
class Propensities:
    """How likely a user looks at each rank, beside the first: `estimates` by rank, from 1.

    A rank has none that no chain of documents, shown at two ranks each, leads to from the first.
    `pairs` is how many such documents of a query there are, `share` the queries that they are of.
    """

    matches: GroupedSums
    pairs: int
    share: float

    @cached_property
    def is_linked(self) -> Flags:
        """Which ranks a chain of documents links with the first."""
        total = self.matches.total
        links = (total + total.T > 0) & (self.pairs >= FEWEST_PAIRS)
        reached = np.zeros(len(links), dtype=bool)
        reached[0] = bool(links[0].any())
        for _ in range(len(links)):
            reached |= links[reached].any(axis=0)
        return reached

    @cached_property
    def values(self) -> Floats:
        """The estimates, nan for a rank that has none."""
        fitted = strengths(self.matches.total)
        return np.where(self.is_linked, fitted, np.nan)

    @cached_property
    def drawn(self) -> Floats:
        """The estimates of each draw of groups of queries, `(draws, ranks)`."""
        if not self.is_linked[0]:
            return np.zeros((0, len(self.is_linked)))
        return np.where(self.is_linked, self._drawn, np.nan)

    @cached_property
    def _drawn(self) -> Floats:
        return strengths(self.matches.sample.resampled)

    def _logs(self, sums: Floats) -> Floats:
        is_drawn = sums is self.matches.sample.resampled
        return np.asarray(np.log(self._drawn if is_drawn else strengths(sums)), dtype=np.float64)

    @cached_property
    def estimates(self) -> tuple[Interval, ...]:
        """The estimate of each rank with its interval."""
        if not self.is_linked[0]:
            return (UNKNOWN,) * len(self.is_linked)
        logs = self.matches.estimates(self._logs)
        result = [Interval(1.0, None, None)]
        for linked, (value, *ends) in zip(self.is_linked[1:], logs[1:], strict=True):
            if linked and value is not None:
                low, high = (None if end is None else math.exp(end) for end in ends)
                result.append(Interval(math.exp(value), low, high))
            else:
                result.append(UNKNOWN)
        return tuple(result)


def propensities(counts: PairsAtRanks, seed: int = 0) -> Propensities:
    """Propensities from pairs of a query and a document that were shown at several ranks.

    What differs between two ranks of one pair is the attention, not the document: Agarwal et al.
    (2019), WSDM, intervention harvesting over all pairs of ranks. Clicks of a pair at two ranks are
    weighted as Mantel and Haenszel (1959) weight strata, which allows for pairs shown once or
    twice; their sums are matches of ranks, whose strengths after Bradley and Terry (1952) are the
    propensities.
    """
    shown, clicks, group = counts.by_pair()
    depth = counts.depth
    sums = np.zeros((GROUPS, depth, depth))
    for first, second in combinations(range(depth), 2):
        both = np.flatnonzero((shown[:, first] > 0) & (shown[:, second] > 0))
        n, m = shown[both, first], shown[both, second]
        for here, other, weight in ((first, second, m / (n + m)), (second, first, n / (n + m))):
            places = group[both], np.full(len(both), here), np.full(len(both), other)
            added(sums, places, clicks[both, here] * weight)
    return Propensities(GroupedSums(sums, seed), len(shown), counts.share)


def strengths(matches: Floats) -> Floats:
    """Strengths of ranks, the first one's 1, from `(..., ranks, ranks)` matches that each won.

    The maximum of the likelihood of Bradley and Terry (1952), Biometrika 39, by Newton's method.
    A tenth of a match is added to each side of ranks that met, so that no strength is unbounded.
    """
    met = matches + np.swapaxes(matches, -1, -2) > 0
    won = matches + np.where(met, PRIOR, 0.0)
    games, wins = won + np.swapaxes(won, -1, -2), won.sum(axis=-1)
    ranks = matches.shape[-1]
    b = np.zeros((*matches.shape[:-2], ranks))
    eye = np.eye(ranks - 1) * 1e-9
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(np.clip(b[..., None, :] - b[..., :, None], -30, 30)))
        slope = wins - (games * chance).sum(axis=-1)
        curve = games * chance * (1 - chance)
        hessian = -curve
        diagonal = np.arange(ranks)
        hessian[..., diagonal, diagonal] += curve.sum(axis=-1)
        inner = hessian[..., 1:, 1:] + eye
        step = np.linalg.solve(inner, slope[..., 1:, None])[..., 0]
        b[..., 1:] += np.clip(step, -2.0, 2.0)
        if (
            np.abs(step).max(initial=0.0) < 1e-6
        ):  # the next step would be of the order of its square
            break
    return np.asarray(np.exp(b), dtype=np.float64)
