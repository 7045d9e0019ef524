"""Whether the queries that people judged are like the others, by what is known of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.resampling import in_blocks

SHUFFLES = 10_000
"""How many other choices of as many queries are drawn."""
_MOST_CELLS = 4_000_000
"""Of very many queries fewer choices are drawn: this many cells at the most, and 1,000 choices."""


@dataclass(frozen=True, eq=False)
class Balance:
    """The means of each feature over the labelled queries and over the others, and their p.

    `p` is of the largest difference of all features, in standard deviations; `furthest` says of
    which feature that is.
    """

    labelled: Floats
    others: Floats
    p: float
    furthest: int


def balance(
    features: Floats, labelled: Integers, seed: int = 0, shuffles: int = SHUFFLES
) -> Balance | None:
    """Hold the labelled queries' mean features against those of as many queries at random.

    `features` are `(features, queries)`, `labelled` positions among the queries. A permutation
    test of the largest standardized difference, so that a random sample is suspected in at most 5 %
    of cases, however many features there are; `None` where nothing varies or no query is left.
    """
    queries, n = features.shape[1], len(labelled)
    varying = features.std(axis=1) > 1e-12
    if not varying.any() or not 0 < n < queries:
        return None
    spread = np.where(varying, features.std(axis=1), 1.0)
    standard = (features - features.mean(axis=1, keepdims=True)) / spread[:, None]
    observed = np.abs(standard[:, labelled].mean(axis=1)) * varying
    furthest = int(observed.argmax())
    rounds = min(shuffles, max(1000, _MOST_CELLS // queries))
    beaten = 0
    for order in in_blocks(_keys, queries, rounds, seed):
        # (rounds, n): as many queries at random as are labelled
        drawn = np.argpartition(order, n - 1, axis=1)[:, :n]
        largest = np.abs(standard[:, drawn].mean(axis=2)).max(axis=0)
        beaten += int((largest >= observed[furthest] - 1e-12).sum())
    p = (1 + beaten) / (1 + rounds)
    rest = np.setdiff1d(np.arange(queries), labelled)
    means = features[:, labelled].mean(axis=1), features[:, rest].mean(axis=1)
    return Balance(*means, p, furthest)


def _keys(rng: np.random.Generator, rounds: int, queries: int) -> Floats:
    """Random numbers, of which each round's smallest choose the queries."""
    return rng.random((rounds, queries))
