"""What two systems' nDCG may differ by at a query, whatever the grades of what is not judged.

The two share documents, so that their difference is bounded closer than the values of each. Where
both rank a document alike it may still count, as both are divided by the ideal ranking of all.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.evaluation.holes import largest_ratios
from labeler.metrics.measures import discounts, gains
from labeler.metrics.registry import Measure

Span = tuple[float, float]
"""The least and the most that a difference can be."""


@dataclass(frozen=True)
class Differences:
    """The differences of two systems by one nDCG, on a scale up to `top`."""

    measure: Measure
    top: int

    def __post_init__(self) -> None:
        if self.measure.name != "nDCG" or self.measure.cutoff is None:
            problem = f"{self.measure} is not bounded by a part of its grades; decide by nDCG@10"
            raise Misuse(problem, parameter="measure")

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

    def _discounts(self, ranks: int) -> Floats:
        """What a gain counts at each rank."""
        rank = np.arange(ranks)
        return np.where(rank < (self.measure.cutoff or math.inf), 1 / discounts(rank), 0.0)

    def _most(self, weights: Mapping[str, float], grades: Mapping[str, int]) -> float:
        """The largest sum of weighted gains over that of the ideal ranking.

        A step leads from a grade to the next one; the open documents of largest weight reach it.
        """
        worth = gains(np.arange(self.top + 1), str(dict(self.measure.parameters).get("dcg")))
        steps, inside = np.diff(worth), [doc for doc in weights if doc in grades]
        judged = np.array([grades[doc] for doc in inside], dtype=np.int64)
        settled = float(worth[judged] @ [weights[doc] for doc in inside])
        free = sorted((w for doc, w in weights.items() if doc not in grades), reverse=True)
        # (open + 1,): the weights of the best open documents together
        best = np.append(0.0, np.cumsum(free))
        ideal = np.append(0.0, np.cumsum(self._discounts(len(weights))))
        # (steps, 1, open + 1): what is ideal where so many more documents reach a step
        reached = (judged > np.arange(self.top)[:, None]).sum(axis=1)
        ideals = ideal[reached[:, None, None] + np.arange(len(best))]
        return float(largest_ratios(np.array([settled]), best[None], steps, [*ideals])[0])


def to_judge(weights: Mapping[str, float], judged: Container[str]) -> list[str]:
    """The documents to judge next of a query whose span is open.

    First those by which the systems differ: where none of them is relevant, no others count.
    """
    docs = [doc for doc in weights if doc not in judged]
    return [doc for doc in docs if weights[doc]] or docs
