"""Which of two systems people prefer, query by query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.metrics.weighting import Weighting
from labeler.stats.means import paired_interval
from labeler.stats.randomization import sign_test, wins_ties_losses
from labeler.stats.weighted import weighted_bounded, weighted_mean


class Preferences(NamedTuple):
    """Wins, ties and losses over queries, the win rate with its interval, and the sign test.

    The win rate counts a tie as half a win, so that .5 says that neither is preferred. The sign
    test leaves ties out; its p is two-sided and exact. `low` and `high` are `None` for fewer than
    two queries.
    """

    wins: int
    ties: int
    losses: int
    win_rate: float
    low: float | None
    high: float | None
    p: float

    @property
    def queries(self) -> int:
        """How many queries."""
        return self.wins + self.ties + self.losses


def preferences(values: Floats, weighting: Weighting | None = None, seed: int = 0) -> Preferences:
    """Of `(queries,)` means over raters of 1 for the first system, 0 for a tie, -1 for the second.

    A query is a win where its mean is above 0. Raters of one query are a cluster: the interval
    and the test are over queries, each of which counts once however many raters it has. With a
    `weighting` it counts by its weight in the win rate, and once in the test.
    """
    wins, ties, losses = wins_ties_losses(values)
    p = sign_test(wins, losses)
    if not len(values):
        return Preferences(0, 0, 0, np.nan, None, None, p)
    if weighting is None:
        mean, ends = float(values.mean()), paired_interval(values, "bootstrap", seed, 1.0)
    else:
        mean = weighted_mean(values, weighting.weights)
        ends = weighted_bounded(values, weighting, (-1.0, 1.0), paired=True)
    low, high = (None, None) if ends is None else ((1 + end) / 2 for end in ends)
    return Preferences(wins, ties, losses, (1 + mean) / 2, low, high, p)
