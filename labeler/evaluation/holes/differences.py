"""The least and the most that the difference of two runs can be, whatever unjudged documents are.

A document that both runs retrieved has one grade, and counts for both: the ends of a difference lie
nearer than the ends of the two scores would have it. For measures that add up gains, for recall and
for first ranks they are exact; else they are outer bounds, between which all differences lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.evaluation.holes.bounds import level_of
from labeler.metrics import Rankings
from labeler.metrics.binary import relevant
from labeler.metrics.graded import dcg_sums, gains
from labeler.metrics.registry import Measure
from labeler.trec.columns import mixed
from labeler.trec.holes import Holes

EXACT = frozenset({"P", "Success", "RR", "DCG", "CG", "R"})
"""The measures whose differences have exact ends here."""


@dataclass(frozen=True)
class TwoRuns:
    """Two runs over the same queries, with the unjudged documents that either retrieved.

    `query` and the two ranks are parallel, one entry for a document; a rank is infinite where the
    run lacks it. `candidates` are all unjudged documents of each query, of whatever run.
    """

    runs: tuple[Rankings, Rankings]
    query: Integers
    first: Floats
    second: Floats
    candidates: Integers

    def total(self, values: NDArray[Any]) -> Floats:
        """The sum of the documents' values, by query."""
        sums: Floats = np.bincount(self.query, values, minlength=self.runs[0].n).astype(np.float64)
        return sums

    @property
    def reversed(self) -> TwoRuns:
        """The same, the other way round."""
        return TwoRuns(self.runs[::-1], self.query, self.second, self.first, self.candidates)


def pair_of(
    runs: tuple[Rankings, Rankings], holes: tuple[Holes, Holes], candidates: Integers
) -> TwoRuns:
    """The two runs with the documents that are unjudged in either."""
    marks = [side.mark + mixed(side.query) for side in holes]
    joint = np.concatenate(marks)
    order = np.argsort(joint, kind="stable")
    fresh = np.append(True, joint[order][1:] != joint[order][:-1])[: len(order)]
    number = np.empty(len(joint), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    count = int(fresh.sum())
    query = np.zeros(count, dtype=np.int64)
    query[number] = np.concatenate([side.query for side in holes])
    ranks = np.full((2, count), math.inf)
    split = len(marks[0])
    ranks[0][number[:split]] = holes[0].rank.astype(np.float64)
    ranks[1][number[split:]] = holes[1].rank.astype(np.float64)
    return TwoRuns(runs, query, ranks[0], ranks[1], candidates)


def most_difference(measure: Measure, pair: TwoRuns, ends: tuple[Floats, Floats]) -> Floats:
    """For each query the most by which the first run can exceed the second.

    `ends` are the most of the first and the least of the second, each by itself.
    """
    outer: Floats = ends[0] - ends[1]
    work = WORK.get(measure.name)
    level = level_of(measure)
    if work is None or measure.judged_only or not 0 < level <= pair.runs[0].max_grade:
        return outer
    return np.minimum(work(measure, pair), outer)


def _weighed(measure: Measure, pair: TwoRuns) -> tuple[NDArray[Any], NDArray[Any]]:
    """What each document adds to either run's sum, at its best."""
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    kind = str(dict(measure.parameters).get("dcg", "log2"))
    top = float(gains(np.array([pair.runs[0].max_grade]), kind)[0])

    def worth(rank: Floats) -> NDArray[Any]:
        inside = rank < depth
        if measure.name == "P":
            return inside / depth
        if measure.name == "CG":
            return inside * top
        return np.where(inside, top / np.log2(np.where(inside, rank, 0.0) + 2), 0.0)

    return worth(pair.first), worth(pair.second)


def _of_sums(measure: Measure, pair: TwoRuns) -> Floats:
    """Each document counts where it stands higher in the first run: a sum of separate choices."""
    first, second = _weighed(measure, pair)
    values = [measure.per_query(run) for run in pair.runs]
    most: Floats = values[0] - values[1] + pair.total(np.maximum(first - second, 0.0))
    return most


def _of_recall(measure: Measure, pair: TwoRuns) -> Floats:
    """Those that the first run alone has within the cutoff are relevant.

    Each raises a difference of at most 1. Where the first run has fewer hits all the same, the
    others that count for both or neither are relevant, too, and make the difference small.
    """
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    level = level_of(measure)
    first, second = pair.first < depth, pair.second < depth
    hits = [run.count(relevant(run, level, depth)) for run in pair.runs]
    in_pool = pair.runs[0].in_pool(level)
    above = hits[0] - hits[1] + pair.total((first & ~second) * 1.0)
    here = in_pool + pair.total((first & ~second) * 1.0)
    rest = pair.candidates - pair.total((first ^ second) * 1.0)
    below = np.where(above > 0, here, here + rest)
    most: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    return most


def _of_first_ranks(measure: Measure, pair: TwoRuns) -> Floats:
    """One relevant document is enough: any that the first run has, and where the second has it."""
    depth = math.inf if measure.cutoff is None else float(measure.cutoff)
    is_success = measure.name == "Success"

    def worth(rank: Floats) -> NDArray[Any]:
        inside = rank < depth
        return inside * (1.0 if is_success else 1.0 / (np.where(inside, rank, 0.0) + 1))

    values = [measure.per_query(run) for run in pair.runs]
    most: Floats = values[0] - values[1]
    first = np.maximum(worth(pair.first), values[0][pair.query])
    second = np.maximum(worth(pair.second), values[1][pair.query])
    np.maximum.at(most, pair.query, first - second)
    return most


def _of_ndcg(measure: Measure, pair: TwoRuns) -> Floats:
    """The most of the difference of sums, over the least ideal, or the largest where it is below 0.

    An outer bound: what makes the one extreme may not make the other.
    """
    kind = str(dict(measure.parameters).get("dcg", "log2"))
    cutoff = None if measure.cutoff is None else int(measure.cutoff)
    sums = [dcg_sums(run, cutoff, kind) for run in pair.runs]
    ideal = sums[0][1]
    first, second = _weighed(measure, pair)
    above = sums[0][0] - sums[1][0] + pair.total(np.maximum(first - second, 0.0))
    share = np.divide(above, ideal, out=np.ones(len(ideal)), where=ideal > 0)
    most: Floats = np.where(above > 0, share, 0.0)
    return most


WORK: dict[str, Callable[[Measure, TwoRuns], Floats]] = {
    **dict.fromkeys(("P", "DCG", "CG"), _of_sums),
    "R": _of_recall,
    **dict.fromkeys(("RR", "Success"), _of_first_ranks),
    "nDCG": _of_ndcg,
}
