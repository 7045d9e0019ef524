"""Whether clicks hang on clicks above them, and what a cascade says of attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.online.behavior import BehaviorSums
from labeler.monitoring.online.estimates import GroupedSums, added, ratio
from labeler.monitoring.online.pairs import PairsAtRanks
from labeler.report.table import Interval


@dataclass(frozen=True)
class CascadeReading:
    """How users read if they look from the top and stop at some click.

    `after_click` is how often a document is clicked that stands below a click, beside the same
    document of the same query at the same rank where nothing above was clicked: 1 if attention
    hangs on the rank alone, less if users stop once they have clicked. `goes_on` is, by rank, the
    share of clicks after which the same search clicked again below, and `looked` the share of
    searches that looked at a rank, if none looked below its last click.
    """

    after_click: Interval
    goes_on: tuple[Interval, ...]
    looked: tuple[Interval, ...]

    @property
    def is_cascade(self) -> bool:
        """Whether a click above surely lowers the chance of a click."""
        return self.after_click.high is not None and self.after_click.high < 1

    @property
    def is_eager(self) -> bool:
        """Whether a click above surely goes with a higher chance of a click."""
        return self.after_click.low is not None and self.after_click.low > 1


def cascade_reading(counts: PairsAtRanks, sums: BehaviorSums, seed: int = 0) -> CascadeReading:
    """What a cascade says: Craswell et al. (2008), WSDM; goes on after clicks: Guo et al. (2009).

    The ratio is Mantel and Haenszel's (1959) over pairs at a rank.
    """
    by_rank = GroupedSums(sums.ranks, seed)
    depth = sums.options.depth
    goes_on = [_goes_on(by_rank, rank) for rank in range(depth)]
    looked = [by_rank.share((rank, 3), (rank, 0)) for rank in range(depth)]
    return CascadeReading(_after_click(counts, seed), tuple(goes_on), tuple(looked))


def _goes_on(by_rank: GroupedSums, rank: int) -> Interval:
    """The share of clicks at a rank below which the same search clicked again."""
    left = by_rank.share((rank, 2), (rank, 1))
    value, low, high = (None if end is None else 1 - end for end in left)
    return Interval(value, high, low)


def _after_click(counts: PairsAtRanks, seed: int) -> Interval:
    alone, clicked, after, both = counts.counts.T
    total = alone + after
    usable = np.flatnonzero((alone > 0) & (after > 0))
    sums = np.zeros((GROUPS, 2))
    group = counts.spread[usable] % GROUPS
    for column, clicks, others in ((0, both, alone), (1, clicked, after)):
        weighted = clicks[usable] * others[usable] / total[usable]
        added(sums, (group, np.full(len(usable), column)), weighted)
    return GroupedSums(sums, seed).estimate(lambda of: ratio(of[..., 0], of[..., 1]))
