"""How much a mean of paired differences may have lost or gained: tests against a margin.

Two one-sided tests at 5 % (Schuirmann 1987, J. of Pharmacokinetics and Biopharmaceutics 15(6)): a
loss of the margin is excluded where the lower bound of the mean lies above it, a gain where the
upper one lies below. Absence of a proven difference is not proof of its absence, so that what few
or varying queries leave open is not excluded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.intervals import degrees
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.power import MOST_QUERIES, POWER, exceeds
from labeler.stats.randomization import TIED
from labeler.stats.search import fewest
from labeler.stats.shares import largest_share
from labeler.stats.student import t_quantile
from labeler.stats.unseen import unseen_losses


def lower_bound(differences: Floats, largest: float, level: float = SIGNIFICANT) -> float:
    """The least that the mean of `(queries,)` differences may be; it is lower in 5 % of samples.

    Student's bound, with the degrees of freedom that heavy tails leave (`degrees`), lowered where
    losses are rare and large (Johnson 1978, JASA 73), and never above what losses that the sample
    has not seen could take. `largest` is how much a query may lose, 0 where nothing is known of
    that. `nan` for fewer than two queries.
    """
    n = len(differences)
    if n < 2:
        return math.nan
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    quantile = t_quantile(1 - level, degrees(n))
    bound = mean - quantile * math.sqrt(variance / n)
    third = float(((differences - mean) ** 3).mean())
    if variance > 0 and third < 0:
        bound += third * (1 + 2 * quantile**2) / (6 * variance * n)
    return min(bound, mean - unseen_losses(differences, largest, level))


def upper_bound(differences: Floats, largest: float, level: float = SIGNIFICANT) -> float:
    """The most that the mean may be; `largest` is how much a query may gain."""
    return -lower_bound(-differences, largest, level)


class Spread(NamedTuple):
    """How the differences of two systems vary, were the systems equal.

    `deviation` is their standard deviation over queries, `losing` the share of queries that lose,
    `loss` how much one loses on average, and `largest` how much it may lose.
    """

    deviation: float
    losing: float
    loss: float
    largest: float


def spread_of(differences: Floats, largest: float) -> Spread:
    """The spread of `(queries,)` differences; of equal systems half of those that differ lose."""
    sizes = np.abs(differences)
    differing = sizes > TIED
    loss = float(sizes[differing].mean()) if differing.any() else 0.0
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else math.nan
    return Spread(deviation, float(differing.mean()) / 2, loss, largest)


def chance_to_show(
    queries: int, spread: Spread, margin: float, level: float = SIGNIFICANT
) -> float:
    """The chance that a system which is truly equal is shown to lose less than the margin."""
    if queries < 2:
        return 0.0
    count = round(spread.losing * queries)
    size = (count * spread.loss + spread.largest) / (count + 1)
    unseen = (largest_share(count, queries, level) - count / queries) * size
    if not spread.deviation > 0:
        return float(unseen < margin)
    errors = math.sqrt(queries) / spread.deviation
    by_t = exceeds(t_quantile(1 - level, degrees(queries)), queries - 1, margin * errors)
    return min(by_t, 0.5 * math.erfc((unseen - margin) * errors / math.sqrt(2)))


def queries_to_show(spread: Spread, margin: float, power: float = POWER) -> int | None:
    """The fewest queries with which an equal system passes so often; `None` beyond ten million."""
    return fewest(lambda queries: chance_to_show(queries, spread, margin) >= power, MOST_QUERIES)
