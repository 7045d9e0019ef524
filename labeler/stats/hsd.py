"""All pairs of systems at once: the randomised Tukey HSD test, and how many pairs it tells apart.

HSD is Tukey's honestly significant difference. After Carterette (2012), ACM TOIS 30(1): were all
systems alike, the values of a query could as well have been dealt to them in another way. So they
are dealt at random, query by query, and each observed difference of two means is held against the
largest difference that any two of the dealt means have. What chance makes of the best of many
systems is in that largest difference: it need not be fixed beforehand which pairs are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.stats.levels import SIGNIFICANT

DEALS = 10_000
"""How many ways to deal the values are drawn."""
FEWEST_SHUFFLES = 5
"""How many times values of many queries are shuffled; in between they go round the systems."""
_ROWS = 256
"""The most rows of a table of what a few queries together give the systems."""
_CELLS = 1_000_000
"""About as many cells of such tables are made at once."""


@dataclass(frozen=True, eq=False)
class AllPairs:
    """What the randomised HSD test says of every pair of systems.

    `p` is `(systems, systems)`; `ranges` are the largest differences of the dealt means, ascending,
    over the queries `queries`.
    """

    p: Floats
    ranges: Floats

    @property
    def pairs(self) -> int:
        """How many pairs of systems there are."""
        return len(self.p) * (len(self.p) - 1) // 2

    def told_apart(self, level: float = SIGNIFICANT) -> int:
        """How many pairs have a p below the level."""
        return int((self.p[np.triu_indices(len(self.p), 1)] < level).sum())

    def discriminative_power(self, level: float = SIGNIFICANT) -> float:
        """The share of pairs that are told apart: Sakai (2006), SIGIR, and (2012) with HSD."""
        return self.told_apart(level) / self.pairs

    def least_difference(self, level: float = SIGNIFICANT) -> float:
        """The smallest difference of two means that has a p below the level."""
        allowed = math.ceil(level * (1 + len(self.ranges))) - 2
        return float(self.ranges[-1 - max(allowed, 0)])


def randomised_hsd(values: Floats, seed: int, deals: int = DEALS) -> AllPairs:
    """The p of every pair of rows of `(systems, queries)` values, allowing for all pairs.

    A value that is `nan` counts as the mean of the query's others, and so says nothing. The
    observed deal counts as one of the drawn.
    """
    centred = _centred(values)
    means = centred.mean(axis=1)
    observed = np.abs(means[:, None] - means[None, :])
    ranges = np.sort(np.concatenate(list(_dealt_ranges(centred, seed, deals))))
    # sums in another order must not lose a tie
    at_least = len(ranges) - np.searchsorted(ranges * (1 + 1e-12), observed)
    p = np.asarray((1.0 + at_least) / (1.0 + len(ranges)), dtype=np.float64)
    np.fill_diagonal(p, 1.0)
    return AllPairs(p, ranges)


def _centred(values: Floats) -> Floats:
    """The values less their query's mean, `nan` as 0."""
    defined = ~np.isnan(values)
    sums = np.where(defined, values, 0.0).sum(axis=0)
    means = sums / np.maximum(defined.sum(axis=0), 1)
    return np.where(defined, values - means, 0.0)


def _dealt_ranges(centred: Floats, seed: int, deals: int) -> Iterator[Floats]:
    """The largest difference of two means of each deal, a block for each shuffle.

    Each query's values are shuffled, and go round the systems by a random number of places for
    each deal: every deal is as likely as any other, and only sums of rows have to be made. A few
    queries at a time have one table of all that they can give together.
    """
    systems, queries = centred.shape
    rng = np.random.default_rng(seed)
    # of few queries a shuffle leaves few ways to go round, and costs little
    shuffles = max(FEWEST_SHUFFLES, min(1000 // queries, deals // 50))
    size = -(-deals // shuffles)
    for _ in range(shuffles):
        sums = np.zeros((size, systems))
        for table in _tables(rng.permuted(centred, axis=0)):
            sums += table[rng.integers(len(table), size=size)]
        yield (sums.max(axis=1) - sums.min(axis=1)) / queries


def _tables(values: Floats) -> Iterator[Floats]:
    """For a few queries at a time, all that they can give the systems: `(ways, systems)`."""
    systems, queries = values.shape
    together = max(1, int(math.log(_ROWS) / math.log(systems)))
    rounds = (np.arange(systems)[:, None] + np.arange(systems)) % systems
    whole = queries - queries % together
    at_once = together * max(1, _CELLS // (systems ** (together + 1)))
    for start in range(0, whole, at_once):
        some = values[:, start : min(start + at_once, whole)]
        # (groups, together, ways, systems): what each query gives, round by round
        yield from _sums(some.T.reshape(-1, together, systems)[:, :, rounds])
    yield from _sums(values[:, whole:].T[:, None, rounds])


def _sums(given: Floats) -> Floats:
    """Of `(groups, queries, ways, systems)` the sums for all ways of the queries of a group."""
    groups, queries, _, systems = given.shape
    tables = given[:, 0]
    for number in range(1, queries):
        tables = tables[:, :, None, :] + given[:, number, None, :, :]
        tables = tables.reshape(groups, -1, systems)
    return tables
