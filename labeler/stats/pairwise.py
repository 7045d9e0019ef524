"""Tests of every two systems by two qrels, and how far the two agree on which pairs differ.

A leaderboard is read for which systems differ. Two qrels may order systems alike and still tell
other pairs apart, so that what one of them calls proven, the other does not. The six counts are
those of Moffat, Scholer and Thomas (2012), ADCS, and of Ferro and Sanderson (2019), SIGIR; Faggioli
and Ferro (2021), ECIR, use them as they stand here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import assignments

_ROWS = 256
"""So many pairs are tested at a time."""


def pairwise_p(scores: Floats, seed: int) -> Floats:
    """Two-sided p of the paired randomisation test of every two systems, each pair alone.

    `(systems, queries)` scores to `(systems, systems)`, with ones on the diagonal: what
    `randomization_test` says of the differences. A mean under flipped signs is as far out as its
    studentized value, for flipping leaves the squares as they are.
    """
    systems, queries = scores.shape
    upper = np.triu_indices(systems, 1)
    p = np.ones((systems, systems))
    for start in range(0, len(upper[0]), _ROWS):
        better, worse = (side[start : start + _ROWS] for side in upper)
        differences = scores[better] - scores[worse]
        # sums in another order must not lose a tie
        slack = 1e-12 * np.abs(differences).sum(axis=1)
        observed = np.abs(differences.sum(axis=1)) - slack
        beaten, rounds = np.zeros(len(differences)), 0
        for signs in assignments(queries, seed):
            # (rounds, queries) @ (queries, pairs): the sums of every assignment
            beaten += np.sum(np.abs(signs @ differences.T) >= observed, axis=0)
            rounds += len(signs)
        drawn = 0 if rounds == 2**queries else 1  # the observed assignment is one of all
        p[better, worse] = p[worse, better] = (drawn + beaten) / (drawn + rounds)
    return p


@dataclass(frozen=True)
class Decisions:
    """How far two sets of tests agree on pairs of systems; `active`: both tell the pair apart.

    `mixed`: one of the two does, `passive`: neither. They agree where both put the same system
    first; where one of them ties a pair, they agree. `first` and `second` count the pairs that each
    tells apart.
    """

    active_agreements: int
    active_disagreements: int
    mixed_agreements: int
    mixed_disagreements: int
    passive_agreements: int
    passive_disagreements: int
    first: int
    second: int

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        active = self.active_agreements + self.active_disagreements
        mixed = self.mixed_agreements + self.mixed_disagreements
        return active + mixed + self.passive_agreements + self.passive_disagreements

    @property
    def unconfirmed(self) -> int:
        """How many pairs the second tells apart and the first does not, or not that way round."""
        return self.second - self.active_agreements

    @property
    def unconfirmed_share(self) -> float | None:
        """Their share of all that the second tells apart; `None` where it tells none apart."""
        return self.unconfirmed / self.second if self.second else None

    @property
    def missed(self) -> int:
        """How many pairs the first tells apart and the second does not, or not that way round."""
        return self.first - self.active_agreements


def decisions(means: Floats, p: Sequence[Floats], level: float = SIGNIFICANT) -> Decisions:
    """The counts over all pairs of systems, from `(2, systems)` means and the p of either side."""
    upper = np.triu_indices(means.shape[1], 1)
    signs = [np.sign(side[upper[0]] - side[upper[1]]) for side in means]
    alike: Flags = signs[0] * signs[1] >= 0
    by_first, by_second = (side[upper] < level for side in p)
    active, mixed = by_first & by_second, by_first ^ by_second
    passive: Flags = ~(active | mixed)
    return Decisions(
        int((active & alike).sum()),
        int((active & ~alike).sum()),
        int((mixed & alike).sum()),
        int((mixed & ~alike).sum()),
        int((passive & alike).sum()),
        int((passive & ~alike).sum()),
        int(by_first.sum()),
        int(by_second.sum()),
    )
