"""Tests of paired differences over queries, corrections for many of them, wins and losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.report.table import shown
from labeler.stats.intervals import in_blocks
from labeler.stats.student import SIGNIFICANT

TIED = 1e-9
"""Two scores that differ by no more are equal up to rounding."""
FLIPS = 10_000
"""How many assignments of signs are drawn; of 13 queries and fewer all are gone through."""


def randomization_test(differences: Floats, seed: int, rounds: int = FLIPS) -> Floats:
    """Two-sided p of paired differences `(rows, queries)`, each row alone.

    Under the null the two systems of a query are exchangeable: signs are flipped, for all rows
    alike. Of few queries all assignments are gone through, so that p is exact; else the observed
    one counts as one of the drawn.
    """
    queries = differences.shape[1]
    # sums in another order must not lose a tie
    slack = 1e-12 * np.abs(differences).sum(axis=1)
    observed = np.abs(differences.sum(axis=1)) - slack
    beaten, count = np.zeros(len(differences)), 0
    for signs in assignments(queries, seed, rounds):
        # (rounds, queries) @ (queries, rows): the sums of every assignment
        beaten += np.sum(np.abs(signs @ differences.T) >= observed, axis=0)
        count += len(signs)
    drawn = 0 if count == 2**queries else 1  # the observed assignment is one of all
    return np.asarray((drawn + beaten) / (drawn + count), dtype=np.float64)


def assignments(queries: int, seed: int, rounds: int = FLIPS) -> Iterator[Floats]:
    """Assignments of signs, `(rounds, queries)` in blocks: all of few queries, else drawn ones."""
    if 2**queries <= rounds:
        yield _all_signs(queries)
    else:
        yield from in_blocks(_signs, queries, rounds, seed)


def smallest_p(queries: int) -> float:
    """The least that a two-sided randomization test can say of so many queries."""
    return 2.0 ** (1 - queries) if queries else 1.0


@lru_cache(maxsize=1)
def _all_signs(n: int) -> Floats:
    """Every assignment of signs, `(2 ** n, n)`."""
    bits = np.arange(2**n)[:, None] >> np.arange(n)
    signs: Floats = (bits & 1).astype(np.float64) * 2.0 - 1.0
    signs.setflags(write=False)
    return signs


def _signs(rng: np.random.Generator, rounds: int, queries: int) -> Floats:
    """Signs at random, `(rounds, queries)`."""
    return rng.integers(2, size=(rounds, queries)).astype(np.float64) * 2.0 - 1.0


def holm(p: Floats) -> Floats:
    """p-values corrected for their number after Holm (1979), Scandinavian J. of Statistics 6(2)."""
    order = np.argsort(p)
    # the smallest of m times m, the next times m - 1, ..., and never below one before it
    scaled = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def benjamini_yekutieli(p: Floats) -> Floats:
    """p-values corrected for the rate of false discoveries, however the tests hang together.

    Benjamini and Yekutieli (2001), Annals of Statistics 29(4).
    """
    m = len(p)
    order = np.argsort(p)
    ranks = np.arange(1, m + 1)
    # each times m / rank and the harmonic sum, and never above one after it
    scaled = p[order] * m / ranks * (1 / ranks).sum()
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return corrected


def wins_ties_losses(differences: Floats) -> tuple[int, int, int]:
    """How many differences are above, at and below zero, up to rounding."""
    up: Flags = differences > TIED
    down: Flags = differences < -TIED
    won, lost = int(up.sum()), int(down.sum())
    return won, len(differences) - won - lost, lost


# Tests of every two systems by two qrels, and how far the two agree on which pairs differ.
#
# Two qrels may order systems alike and still tell other pairs apart, so that what one of them calls
# proven, the other does not. The six counts are those of Moffat, Scholer and Thomas (2012), ADCS,
# and of Ferro and Sanderson (2019), SIGIR; Faggioli and Ferro (2021), ECIR, use them as they stand.

_ROWS = 256
"""So many pairs are tested at a time."""


def pairwise_p(scores: Floats, seed: int) -> Floats:
    """Two-sided p of the paired randomisation test of every two systems, each pair alone.

    `(systems, queries)` scores to `(systems, systems)`, with ones on the diagonal.
    """
    upper = np.triu_indices(len(scores), 1)
    p = np.ones((len(scores), len(scores)))
    for start in range(0, len(upper[0]), _ROWS):
        better, worse = (side[start : start + _ROWS] for side in upper)
        each = randomization_test(scores[better] - scores[worse], seed)
        p[better, worse] = p[worse, better] = each
    return p


@dataclass(frozen=True)
class Decisions:
    """How far two sets of tests agree on pairs of systems, under the names that the field has.

    The first letter: both tell a pair apart (A, active), one of them does (M, mixed), neither does
    (P, passive). The second: both put the same system first or one ties the pair (A), or not (D).
    `significant_first` and `significant_second` count the pairs that each tells apart.
    """

    AA: int
    AD: int
    MA: int
    MD: int
    PA: int
    PD: int
    significant_first: int
    significant_second: int

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.AA + self.AD + self.MA + self.MD + self.PA + self.PD

    @shown
    def unconfirmed(self) -> int:
        """How many pairs the second tells apart and the first does not, or not that way round."""
        return self.significant_second - self.AA

    @shown
    def unconfirmed_share(self) -> float | None:
        """Their share of all that the second tells apart; `None` where it tells none apart."""
        return self.unconfirmed / self.significant_second if self.significant_second else None

    @shown
    def missed(self) -> int:
        """How many pairs the first tells apart and the second does not, or not that way round."""
        return self.significant_first - self.AA


def decisions(means: Floats, p: Sequence[Floats], level: float = SIGNIFICANT) -> Decisions:
    """The counts over all pairs of systems, from `(2, systems)` means and the p of either side."""
    upper = np.triu_indices(means.shape[1], 1)
    signs = [np.sign(side[upper[0]] - side[upper[1]]) for side in means]
    alike: Flags = signs[0] * signs[1] >= 0
    by_first, by_second = (side[upper] < level for side in p)
    active, mixed = by_first & by_second, by_first ^ by_second
    kinds = active, mixed, ~(active | mixed)
    masks = [kind & way for kind in kinds for way in (alike, ~alike)]
    return Decisions(*(int(mask.sum()) for mask in (*masks, by_first, by_second)))


# All pairs of systems at once: the randomised Tukey HSD test, and how many pairs it tells apart.
#
# HSD is Tukey's honestly significant difference. After Carterette (2012), ACM TOIS 30(1): were all
# systems alike, the values of a query could as well have been dealt to them in another way. So they
# are dealt at random, query by query, and each observed difference of two means is held against the
# largest difference that any two of the dealt means have. What chance makes of the best of many
# systems is in that largest difference: it need not be fixed beforehand which pairs are looked at.

DEALS = 10_000
"""How many ways to deal the values are drawn."""
FEWEST_SHUFFLES = 5
"""How many times values of many queries are shuffled; in between they go round the systems."""
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


# Tests of differences of means that allow for all pairs of systems, as Tukey's HSD does.

DRAWS = 10_000
"""How many sets of errors are drawn; of many pairs fewer."""
FEWEST_DRAWS = 2000
_MOST_CELLS = 2_000_000
"""The most |t| that are held at a time, and as many as are drawn of very many pairs."""


def adjusted_for_all_pairs(
    parts: Floats, observed: Floats, freedom: float, seed: int, draws: int = DRAWS
) -> Floats:
    """p of several |t|, against the largest |t| of any two systems where none differs.

    `parts` is `(systems, contributions)`, whose products are the covariances of systems' errors.
    Errors are multivariate t with so many degrees of freedom, as in Hothorn, Bretz and Westfall
    (2008), Biometrical Journal 50(3).
    """
    rounds = np.concatenate(list(_largest(parts, freedom, seed, draws)))
    beaten = (rounds[:, None] >= np.abs(observed)).sum(axis=0)
    return np.asarray((1.0 + beaten) / (1.0 + len(rounds)), dtype=np.float64)


def _largest(parts: Floats, freedom: float, seed: int, draws: int) -> Iterator[Floats]:
    """The largest |t| of all pairs, of blocks of draws."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(parts), 1)
    errors = np.sqrt(((parts[first] - parts[second]) ** 2).sum(axis=1))
    first, second, errors = (column[errors > 1e-12] for column in (first, second, errors))
    at_once = max(1, _MOST_CELLS // max(len(first), 1))
    draws = min(draws, max(at_once, FEWEST_DRAWS))
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        # (draws, systems): errors of all systems that move together as their parts do
        drawn = rng.standard_normal((size, parts.shape[1])) @ parts.T
        apart = np.abs(drawn[:, first] - drawn[:, second]) / errors
        scale = np.sqrt(rng.chisquare(freedom, size) / freedom)
        yield apart.max(axis=1, initial=0.0) / scale
