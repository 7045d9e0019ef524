"""How much each query counts in a mean over queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labeler.arrays import Flags, Floats


@dataclass(frozen=True, eq=False)
class Weighting:
    """The weight of each query, `(queries,)`, all above 0."""

    weights: Floats

    def choose(self, mask: Flags) -> Weighting:
        """The same of the queries in the mask alone."""
        return Weighting(self.weights[mask])

    @property
    def effective(self) -> float:
        """So many queries of equal weight would be as precise: Kish (1965), Survey Sampling.

        Rounded, so that ten equal weights are as precise as ten queries, however a computer holds
        such a weight.
        """
        weights = self.weights / self.weights.max()
        return round(float(weights.sum() ** 2 / (weights**2).sum()), 9)


def whole_queries(effective: float) -> int:
    """A number of queries of equal weight as people read it, rounded down.

    It is below a whole bound just where the number itself is.
    """
    return math.floor(effective)
