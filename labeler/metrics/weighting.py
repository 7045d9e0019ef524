"""How much each query counts in a mean over queries, and how the queries were drawn."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.arrays import Flags, Floats, Integers


@dataclass(frozen=True, eq=False)
class Weighting:
    """Of each query its weight, its stratum, and which share of the stratum was drawn.

    All are `(queries,)`. A share of 0 says that it is not known: the sample then counts as one of
    endlessly many queries.
    """

    weights: Floats
    strata: Integers
    drawn: Floats

    def choose(self, mask: Flags) -> Weighting:
        """The same of the queries in the mask alone; fewer of a stratum are a smaller share."""
        drawn = self.drawn.copy()
        for stratum in set(self.strata.tolist()):
            members = self.strata == stratum
            drawn[members] *= mask[members].mean()
        return Weighting(self.weights[mask], self.strata[mask], drawn[mask])

    @property
    def effective(self) -> float:
        """So many queries of equal weight would say as much: Kish (1965), Survey Sampling."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())
