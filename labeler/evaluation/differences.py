"""What two systems may differ by at a query, whatever the grades of what is not judged.

The two share documents, so that their difference is bounded closer than the values of each. By nDCG
a document that both rank alike may still count, as both are divided by the ideal ranking of all. By
RR and Success the first relevant document of a list counts alone, by P each one alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labeler.errors import Misuse
from labeler.evaluation.holes import largest_ratios, level_of
from labeler.metrics.measures import discounts, gains
from labeler.metrics.registry import Measure

Span = tuple[float, float]
"""The least and the most that a difference can be."""
BOUNDED = ("nDCG", "P", "RR", "Success")
"""Measures whose differences are bounded while some documents are unjudged."""


@dataclass(frozen=True)
class Credit:
    """What a document counts in either list if it is relevant, and its best rank there, from 0."""

    old: float = 0.0
    new: float = 0.0
    rank: int = 0

    @property
    def weight(self) -> float:
        """What it counts in the new list less in the old one."""
        return self.new - self.old


Credits = Mapping[str, Credit]


@dataclass(frozen=True)
class Differences:
    """The differences of two systems by one measure, on a scale up to `top`."""

    measure: Measure
    top: int

    def __post_init__(self) -> None:
        problem = "so many relevant documents as nobody knows of decide it"
        if self.measure.cutoff is None:
            problem = "without a cutoff whole lists would have to be judged"
        elif self.measure.judged_only:
            problem = "it leaves out what nobody judged"
        elif self.measure.name in BOUNDED:
            return
        elif self.measure.name not in ("AP", "R", "F1"):
            problem = "no bounds of it are worked out for two systems"
        names = " or ".join(f"{name}@10" for name in BOUNDED)
        raise Misuse(f"{self.measure}: {problem}; decide by {names}", parameter="measure")

    def documents(self, old: Sequence[str], new: Sequence[str]) -> dict[str, Credit]:
        """What each document of two lists counts in them."""
        worth = [*self._discounts, 0.0]  # what is in no list stands behind the cutoff
        last = len(worth) - 1
        ranks = [{doc: rank for rank, doc in enumerate(docs)} for docs in (old, new)]
        made = dict[str, Credit]()
        for doc in dict.fromkeys([*old, *new]):
            before, after = (min(of.get(doc, last), last) for of in ranks)
            made[doc] = Credit(worth[before], worth[after], min(before, after))
        return made

    def span(self, documents: Credits, grades: Mapping[str, int]) -> Span:
        """What a query may differ by with these grades, and any of the documents without one."""
        most = {"nDCG": self._most_of_ideal, "P": self._most_of_sum}.get(
            self.measure.name, self._most_of_first
        )
        turned = {doc: Credit(c.new, c.old, c.rank) for doc, c in documents.items()}
        return -most(turned, grades), most(documents, grades)

    def to_judge(self, documents: Credits, grades: Mapping[str, int]) -> list[str]:
        """The documents to judge next of a query whose span is open.

        First those by which the systems differ: where none of them is relevant, no others count.
        By RR and Success from the top, twice as deep each time, as the first relevant one settles
        a list.
        """
        docs = [doc for doc in documents if doc not in grades]
        if self.measure.name in ("nDCG", "P"):
            differing = [doc for doc in docs if documents[doc].weight]
            return differing if differing or self.measure.name == "P" else docs
        old, new = self._firsts(documents, grades)
        docs = [doc for doc in docs if documents[doc].old > old or documents[doc].new > new]
        deep = 2 * min((documents[doc].rank for doc in docs), default=0) + 1
        return [doc for doc in docs if documents[doc].rank <= deep]

    @cached_property
    def _discounts(self) -> list[float]:
        """What a document at each rank down to the cutoff counts if it is relevant."""
        ranks = np.arange(int(self.measure.cutoff or 0))
        worth = {
            "nDCG": 1 / discounts(ranks),
            "P": np.full(len(ranks), 1 / max(len(ranks), 1)),
            "RR": 1 / (ranks + 1),
        }
        return [*map(float, worth.get(self.measure.name, np.ones(len(ranks))))]

    def _is_relevant(self, grade: int) -> bool:
        return grade >= level_of(self.measure)

    def _most_of_sum(self, documents: Credits, grades: Mapping[str, int]) -> float:
        """The largest difference of sums over relevant documents."""
        judged = (c.weight for d, c in documents.items() if self._is_relevant(grades.get(d, -1)))
        free = (max(c.weight, 0.0) for doc, c in documents.items() if doc not in grades)
        return float(sum(judged) + sum(free))

    def _firsts(self, documents: Credits, grades: Mapping[str, int]) -> tuple[float, float]:
        """What the first document that is known to be relevant counts, in the old and new list."""
        good = [
            credit for doc, credit in documents.items() if self._is_relevant(grades.get(doc, -1))
        ]
        return max((c.old for c in good), default=0.0), max((c.new for c in good), default=0.0)

    def _most_of_first(self, documents: Credits, grades: Mapping[str, int]) -> float:
        """The largest difference of what the first relevant documents count.

        One open document that is relevant gives it, or none: more of them add to the old list.
        """
        old, new = self._firsts(documents, grades)
        free = (credit for doc, credit in documents.items() if doc not in grades)
        return max([new - old, *(max(c.new, new) - max(c.old, old) for c in free)])

    def _most_of_ideal(self, documents: Credits, grades: Mapping[str, int]) -> float:
        """The largest sum of weighted gains over that of the ideal ranking.

        A step leads from a grade to the next one; the open documents of largest weight reach it.
        """
        worth = gains(np.arange(self.top + 1), str(dict(self.measure.parameters).get("dcg")))
        steps, inside = np.diff(worth), [doc for doc in documents if doc in grades]
        judged = np.array([grades[doc] for doc in inside], dtype=np.int64)
        settled = float(worth[judged] @ [documents[doc].weight for doc in inside])
        free = sorted((c.weight for doc, c in documents.items() if doc not in grades), reverse=True)
        # (open + 1,): the weights of the best open documents together
        best = np.append(0.0, np.cumsum(free))
        # (steps, 1, open + 1): what is ideal where so many more documents reach a step
        reached = (judged > np.arange(self.top)[:, None]).sum(axis=1)
        # (documents + 1,): the ideal sums of so many documents of gain 1
        discounts = [*self._discounts, *[0.0] * len(documents)][: len(documents)]
        ideal = np.append(0.0, np.cumsum(discounts))
        ideals = ideal[reached[:, None, None] + np.arange(len(best))]
        return float(largest_ratios(np.array([settled]), best[None], steps, [*ideals])[0])
