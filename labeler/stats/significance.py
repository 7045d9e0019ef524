"""What is counted of paired differences over queries, and older tests of many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.report.table import shown
from labeler.stats.student import SIGNIFICANT

TIED = 1e-9
"""Two scores that differ by no more are equal up to rounding."""


def smallest_p(queries: int) -> float:
    """The least p of a two-sided randomization test of so many queries: all signs are alike."""
    return 2.0 ** (1 - queries) if queries else 1.0


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
    up = differences > TIED
    down = differences < -TIED
    won, lost = int(up.sum()), int(down.sum())
    return won, len(differences) - won - lost, lost


# Tests of every two systems by two qrels, and how far the two agree on which pairs differ.
#
# Two qrels may order systems alike and still tell other pairs apart, so that what one of them calls
# proven, the other does not. The six counts are those of Moffat, Scholer and Thomas (2012), ADCS,
# and of Ferro and Sanderson (2019), SIGIR; Faggioli and Ferro (2021), ECIR, use them as they stand.

_CELLS = 2_000_000
"""So many values are dealt at a time."""


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


def decisions(means: Floats, p: Sequence[Floats]) -> Decisions:
    """The counts over all pairs of systems, from `(2, systems)` means and the p of either side."""
    upper = np.triu_indices(means.shape[1], 1)
    signs = [np.sign(side[upper[0]] - side[upper[1]]) for side in means]
    alike = signs[0] * signs[1] >= 0
    by_first, by_second = (side[upper] < SIGNIFICANT for side in p)
    active, mixed = by_first & by_second, by_first ^ by_second
    kinds = active, mixed, ~(active | mixed)
    masks = [kind & way for kind in kinds for way in (alike, ~alike)]
    return Decisions(*(int(mask.sum()) for mask in (*masks, by_first, by_second)))


# All pairs of systems at once: Tukey's honestly significant difference (HSD), by randomisation.


def hsd_ranges(values: Floats, seed: int, deals: int) -> Floats:
    """The largest differences of two means of `(systems, queries)` values dealt to the systems.

    Were all systems alike, the values of a query could as well have been dealt to them in another
    way: Carterette (2012), ACM TOIS 30(1).
    """
    rng = np.random.default_rng(seed)
    ranges = np.empty(deals)
    size = max(1, _CELLS // values.size)
    for start in range(0, deals, size):
        block = np.broadcast_to(values, (min(size, deals - start), *values.shape))
        means = rng.permuted(block, axis=1).mean(axis=2)
        ranges[start : start + size] = np.ptp(means, axis=1)
    # sums in another order must not lose a tie
    return ranges * (1 + 1e-12)
