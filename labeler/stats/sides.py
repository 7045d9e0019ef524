"""Which blocks of points are the first of two samples, and all the ways in which they might be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from labeler.arrays import Flags, Floats, Integers

ROUNDS = 10_000
"""How many assignments of blocks are drawn; where there are fewer, all are gone through."""

_AT_ONCE = 2000
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class BlockSides:
    """The blocks that are the first sample, `(blocks,)`; the others are the second.

    Where nothing differs, blocks of one stratum, as days of the week, could be either: as many of
    each stratum as are in the first sample. Without `strata` all blocks could. `seed` decides which
    `rounds` assignments are drawn, where there are more of them.
    """

    first: Flags
    strata: Integers | None = None
    seed: int = 0
    rounds: int = ROUNDS

    @property
    def observed(self) -> Floats:
        """The assignment that is, `(1, blocks)` of zeros and ones."""
        return self.first[None, :].astype(np.float64)

    @cached_property
    def _places(self) -> list[Integers]:
        strata = np.zeros(len(self.first)) if self.strata is None else self.strata
        return [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]

    @cached_property
    def ways(self) -> int:
        """How many assignments there are."""
        counts = ((len(inside), int(self.first[inside].sum())) for inside in self._places)
        return math.prod(math.comb(blocks, first) for blocks, first in counts)

    @property
    def smallest_p(self) -> float:
        """The least that a test of these blocks can say."""
        return 1 / min(self.ways, self.rounds + 1)

    def assigned(self, most: int = ROUNDS) -> Iterator[Floats]:
        """Assignments, `(rows, blocks)` of zeros and ones: all where there are few, else drawn."""
        rounds = min(most, self.rounds)
        if self.ways <= rounds:
            yield self._all()
            return
        rng = np.random.default_rng(self.seed)
        for start in range(0, rounds, _AT_ONCE):
            drawn = np.zeros((min(_AT_ONCE, rounds - start), len(self.first)))
            for inside in self._places:
                order = np.argsort(rng.random((len(drawn), len(inside))), axis=1)
                drawn[:, inside] = order < int(self.first[inside].sum())
            yield drawn

    def by_chance(self, statistic: Callable[[Floats], Floats]) -> Floats:
        """The statistic of each assignment."""
        return np.concatenate([statistic(drawn) for drawn in self.assigned()])

    def p(self, value: float, by_chance: Floats) -> float:
        """The share of assignments whose statistic reaches a value; of drawn ones it is one."""
        least = value - _ROUNDING * max(abs(value), 1e-3)
        reached, count = int((by_chance >= least).sum()), len(by_chance)
        return reached / count if self.ways <= count else (1 + reached) / (1 + count)

    def _all(self) -> Floats:
        of_strata = [
            [*combinations(inside.tolist(), int(self.first[inside].sum()))]
            for inside in self._places
        ]
        ways = [*product(*of_strata)]
        drawn = np.zeros((len(ways), len(self.first)))
        for row, way in enumerate(ways):
            drawn[row, [block for inside in way for block in inside]] = 1.0
        return drawn
