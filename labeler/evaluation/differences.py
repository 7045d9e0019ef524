"""What two systems' values of a measure may differ by at a query, whatever its open grades are.

The two share documents, so that their difference is bounded closer than the values of each. Where
both rank a document alike it may still count: nDCG divides by the ideal ranking of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.evaluation.holes import ROUNDS, level_of
from labeler.metrics.measures import gains
from labeler.metrics.registry import Measure

Span = tuple[float, float]
"""The least and the most that a difference can be."""
GAINS = frozenset({"nDCG", "DCG", "P"})
"""Measures that add up what documents gain, each by its rank."""


@dataclass(frozen=True, eq=False)
class Differences:
    """The differences of two systems by one measure, on a scale up to `top`."""

    measure: Measure
    top: int

    def __post_init__(self) -> None:
        if self.measure.name not in GAINS:
            problem = f"{self.measure} adds up no gains of documents"
            raise Misuse(f"{problem}; take one of {', '.join(sorted(GAINS))}", parameter="measures")

    def weights(self, old: Sequence[str], new: Sequence[str]) -> dict[str, float]:
        """What the gain of each document of two lists counts in the new one less in the old one."""
        weights = dict.fromkeys([*old, *new], 0.0)
        for docs, sign in ((new, 1), (old, -1)):
            for doc, discount in zip(docs, self._discounts(len(docs)), strict=True):
                weights[doc] += sign * discount
        return weights

    def span(self, weights: Mapping[str, float], grades: Mapping[str, int]) -> Span:
        """What a query may differ by with these grades, and any of the documents without one."""
        turned = {doc: -weight for doc, weight in weights.items()}
        return -self._most(turned, grades), self._most(weights, grades)

    def to_judge(self, weights: Mapping[str, float], judged: Container[str]) -> list[str]:
        """The documents to judge next of a query whose span is open.

        First those by which the systems differ. Those ranked alike count only where the measure
        divides by what is ideal, and any of the others is relevant.
        """
        docs = [doc for doc in weights if doc not in judged]
        moved = [doc for doc in docs if weights[doc]]
        return moved or (docs if self.measure.name == "nDCG" else [])

    def _discounts(self, ranks: int) -> Floats:
        """What a gain counts at each rank."""
        rank = np.arange(ranks)
        depth = self.measure.cutoff or math.inf
        share = np.full(ranks, 1 / depth) if self.measure.name == "P" else 1 / np.log2(rank + 2)
        return np.where(rank < depth, share, 0.0)

    @cached_property
    def _gains(self) -> Floats:
        """What each grade gains, from 0 on."""
        grades = np.arange(self.top + 1)
        if self.measure.name == "P":
            return (grades >= level_of(self.measure)).astype(np.float64)
        return gains(grades, str(dict(self.measure.parameters).get("dcg", "log2")))

    def _most(self, weights: Mapping[str, float], grades: Mapping[str, int]) -> float:
        """The largest sum of weighted gains, for nDCG divided by that of the ideal ranking.

        As in `holes`: for each step from a grade to the next one, the number of open documents that
        reach it is searched for alone, and the ratio is found by Dinkelbach's method (1967).
        """
        free = sorted((w for doc, w in weights.items() if doc not in grades), reverse=True)
        judged = np.array([grades[doc] for doc in weights if doc in grades], dtype=np.int64)
        inside = [weight for doc, weight in weights.items() if doc in grades]
        settled = float(self._gains[judged] @ inside)
        # (open + 1,): the weights of the best open documents together
        best, steps = np.append(0.0, np.cumsum(free)), np.diff(self._gains)
        if self.measure.name != "nDCG":
            return float(settled + steps.sum() * best.max())
        ideal = np.append(0.0, np.cumsum(self._discounts(len(weights))))
        # (steps, open + 1): what is ideal where so many more documents reach a step
        reached = (judged > np.arange(self.top)[:, None]).sum(axis=1)
        ideals = ideal[reached[:, None] + np.arange(len(best))]
        value = _share(settled, float(steps @ ideals[:, 0]))
        for _ in range(ROUNDS):
            columns = (best - value * ideals).argmax(axis=1)
            above = settled + float(steps @ best[columns])
            larger = _share(above, float(steps @ ideals[np.arange(self.top), columns]))
            if larger <= value:
                break
            value = larger
        return value


def _share(above: float, below: float) -> float:
    return above / below if below else 0.0
