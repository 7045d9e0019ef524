"""How much each query counts in a mean over queries."""

from __future__ import annotations

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
        """So many queries of equal weight would say as much: Kish (1965), Survey Sampling."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())
