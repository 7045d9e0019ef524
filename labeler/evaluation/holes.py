"""The least and the most that a measure can be, whatever the grades of its unjudged documents.

Unjudged are the retrieved documents outside the qrels, those of the pool with a negative grade, and
what other runs of the same evaluation retrieved. Documents in none of these are taken not to exist.
Each may have any grade from 0 to the scale's top. Some measures divide by what could be found. In
such a measure a relevant document raises both the hits and the total, so the extremes need not be
"none is relevant" or "all are".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.metrics.judged import marks_by_query
from labeler.metrics.measures import dcg_sums, gains, ratio, relevant
from labeler.metrics.rankings import Rankings
from labeler.metrics.registry import Measure
from labeler.metrics.scores import summed_up
from labeler.trec.columns import Words

Ends = tuple[Floats, Floats]
ROUNDS = 50
"""Far more than the five or so that the search for the highest nDCG takes."""


def level_of(measure: Measure) -> int:
    """The lowest grade that is relevant to a measure."""
    return int(dict(measure.parameters).get("rel", 1))


@dataclass(frozen=True, eq=False)
class Holes:
    """The unjudged documents of rankings, and what other grades would make of these.

    `others` counts what other runs alone retrieved, `(queries,)`, or the same of each query.
    """

    r: Rankings
    others: Integers | int = 0

    def blocks(self, size: int) -> Iterator[Holes]:
        """The same of some queries after another, about `size` documents at a time.

        No query is in two blocks. One with more than an eighth of `size` is alone, as what is
        worked out by ranks takes the deepest of all.
        """
        r, others = self.r, np.broadcast_to(self.others, self.r.n)
        documents = r.retrieved + np.bincount(r.pool_query, minlength=r.n) + others
        is_large = documents > size // 8
        cuts = (np.diff(np.cumsum(documents) // size) > 0) | is_large[1:] | is_large[:-1]
        block = np.append(0, np.cumsum(cuts))
        for number in range(int(block[-1]) + 1):
            mask = block == number
            yield Holes(r.choose(mask) if block[-1] else r, others[mask])

    def within(self, depth: float) -> Integers:
        """How many of the first documents of each query are unjudged."""
        r = self.r
        seen = np.minimum(r.retrieved, depth).astype(np.int64)
        return seen - r.count((r.grade >= 0) & (r.rank < depth))

    def outside(self, depth: float) -> Integers:
        """How many unjudged documents stand below, or nowhere in the ranking."""
        r = self.r
        unjudged_pool = np.bincount(r.pool_query[r.pool_grade < 0], minlength=r.n)
        below = self.within(np.inf) - self.within(depth)
        return below + unjudged_pool - r.count(r.grade < 0) + self.others

    def filled(self, filling: int) -> Rankings:
        """The rankings if all unjudged documents had the grade `filling`.

        Retrieved or not: the ideal ranking gets them too.
        """
        r = self.r
        starts = np.cumsum(r.retrieved) - r.retrieved
        grade = np.full(int(r.retrieved.sum()), filling)
        grade[starts[r.query] + r.rank] = np.where(r.grade < 0, filling, r.grade)
        query = np.repeat(np.arange(r.n), r.retrieved)
        rank = np.arange(len(grade)) - starts[query]
        # all that are filled in of a query are one row, which is repeated once rows are in order
        is_judged = r.pool_grade >= 0
        pool_query = np.append(r.pool_query[is_judged], np.arange(r.n))
        pool_grade = np.append(r.pool_grade[is_judged], np.full(r.n, filling))
        times = np.append(np.ones(len(pool_query) - r.n, np.int64), self.outside(0))
        order = np.lexsort((-pool_grade, pool_query))
        return replace(
            r,
            query=query,
            rank=rank,
            grade=grade,
            pool_query=np.repeat(pool_query[order], times[order]),
            pool_grade=np.repeat(pool_grade[order], times[order]),
        )

    @cached_property
    def irrelevant(self) -> Rankings:
        """All unjudged documents of grade 0."""
        return self.filled(0)

    @cached_property
    def top(self) -> Rankings:
        """All unjudged documents of top grade."""
        return self.filled(self.r.max_grade)

    def cases(self, measure: Measure) -> dict[str, Floats]:
        """The values of each query in both scenarios, and at its ends."""
        worst, top = self._worst(measure), measure.per_query(self.top)
        return {"unjudged_irrelevant": worst, "unjudged_top": top} | self.ends(measure)

    def _worst(self, measure: Measure) -> Floats:
        # grade 0 in place of no grade changes some; with `rel=0` it is relevant
        is_changed = measure.judged_only or measure.name in SEE_HOLES
        is_changed = is_changed or dict(measure.parameters).get("rel") == 0
        return measure.per_query(self.irrelevant if is_changed else self.r)

    def ends(self, measure: Measure) -> dict[str, Floats]:
        """The bounds for each query; the values in the two scenarios, where these are bounds.

        Where no grade, or every grade, makes an unjudged document relevant, both scenarios are one.
        """
        if not has_ends(measure):
            return {}
        r = self.r
        if measure.name in BOUND_FUNCTIONS and 0 < level_of(measure) <= r.max_grade:
            deepest = int(np.max(r.retrieved, initial=0))
            depth = deepest if measure.cutoff is None else min(deepest, int(measure.cutoff))
            low, high = BOUND_FUNCTIONS[measure.name](self, measure, depth)
            value = measure.per_query(r)
            return {"low": np.minimum(low, value), "high": np.maximum(high, value)}
        low, high = self._worst(measure), measure.per_query(self.top)
        if measure.name == "RBP":  # what stands below the last retrieved document may count, too
            last = np.inf if measure.cutoff is None else float(measure.cutoff)
            p = float(dict(measure.parameters).get("p", 0.8))
            high = high + (p ** np.minimum(r.retrieved, last).astype(np.float64) - p**last)
        return {"low": low, "high": high}


def _recall(holes: Holes, measure: Measure, _depth: int) -> Ends:
    """Recall rises with each hit, and falls with each miss.

    Lowest where the unjudged documents within the cutoff are irrelevant and all others relevant;
    highest the other way round.
    """
    r, level = holes.r, level_of(measure)
    depth = np.inf if measure.cutoff is None else float(measure.cutoff)
    hits, relevants = r.count(relevant(r, level, depth)), r.in_pool(level)
    inside, outside = holes.within(depth), holes.outside(depth)
    return ratio(hits, relevants + outside), ratio(hits + inside, relevants + inside)


def _squares(r: Rankings, level: int, depth: int) -> tuple[Flags, Flags]:
    """Which ranks hold a relevant document, and which an unjudged one: `(queries, depth)` each."""
    good = np.zeros((r.n, depth), dtype=np.bool_)
    hole = np.arange(depth) < r.retrieved[:, None]
    seen = (r.grade >= 0) & (r.rank < depth)
    hole[r.query[seen], r.rank[seen]] = False
    best = seen & (r.grade >= level)
    good[r.query[best], r.rank[best]] = True
    return good, hole


def _average_precision(holes: Holes, measure: Measure, depth: int) -> Ends:
    """With the first holes relevant the sum of precisions is highest, with the last ones lowest.

    Moving a relevant document up from rank q to a free rank p above it changes that sum by at least
    (1 + a) (1/p - 1/q) > 0, with a relevant ones above p. So only their number is searched for.
    """
    r, level = holes.r, level_of(measure)
    good, hole = _squares(r, level, depth)
    relevants, outside = r.in_pool(level)[:, None], holes.outside(depth)[:, None]
    weight = 1.0 / np.arange(1, depth + 1)
    above: Integers = np.cumsum(good, axis=1) - good
    below = _after(good * weight)
    start = (good * (above + 1) * weight).sum(axis=1, keepdims=True)
    first, last = _sums(hole), _sums(hole[:, ::-1])
    risen = hole * ((above + first[:, 1:]) * weight + below)
    high = ratio(start + _sums(risen), relevants + first)
    fallen = hole * ((above + 1) * weight + below + _after(hole * weight))
    low = ratio(start + _sums(fallen[:, ::-1]), relevants + last + outside)
    return low.min(axis=1), high.max(axis=1)


def _after(values: Floats) -> Floats:
    """The sum of what comes after each entry of its row."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1] - values


def _sums(values: NDArray[Any]) -> Floats:
    """The sums of the first so many entries of each row, from none on."""
    return np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1, dtype=np.float64)


def largest_ratios(
    gained: Floats, first: Floats, steps: Floats, ideals: Sequence[Floats]
) -> Floats:
    """The most that gains over those of an ideal ranking can be, of each query.

    A gain is a sum of steps. `gained` is what is settled, `(queries,)`; `first` what the first so
    many open documents weigh, `(queries, open + 1)`, and each of `ideals` what is ideal where so
    many of them reach a step. With L the largest, gained - L ideal has its maximum, 0, there. For
    each step, which number of documents reaches it is a search of its own: as better documents
    leave less room in the ideal, fewer need to reach the higher step, so the numbers fit together
    (Topkis 1978). L is found by Dinkelbach's method (1967).
    """
    rows, best = np.arange(len(gained)), np.full(len(gained), -np.inf)
    columns = [np.zeros(len(gained), dtype=np.int64) for _ in steps]
    for _ in range(ROUNDS):
        above, below = gained.copy(), np.zeros(len(gained))
        for step, ideal, at in zip(steps, ideals, columns, strict=True):
            above += step * first[rows, at]
            below += step * ideal[rows, at]
        better = np.maximum(best, ratio(above, below))
        if not (better > best).any():
            break
        best = better
        columns = [(first[:, : i.shape[1]] - best[:, None] * i).argmax(axis=1) for i in ideals]
    return best


def _ndcg(of: Holes, measure: Measure, depth: int) -> Ends:
    """nDCG's ends, by levels: a gain is a sum of steps, and so are both sums of gains.

    The lowest: DCG - l IDCG is concave in the gains, so that some end of their range, every hole 0
    or top, is lowest: some number of the last holes is top there.
    """
    r, kind = of.r, str(dict(measure.parameters).get("dcg", "log2"))
    cutoff = None if measure.cutoff is None else int(measure.cutoff)
    levels = np.unique(np.append(r.pool_grade[r.pool_grade > 0], r.max_grade))
    worth, is_open = gains(np.append(0, levels), kind), levels <= r.max_grade
    steps, top = np.diff(worth), float(worth[1:][is_open][-1])
    judged = [r.in_pool(int(level))[:, None] for level in levels]
    outside, gained = of.outside(depth)[:, None], dcg_sums(r, cutoff, kind)[0]
    _, hole = _squares(r, 1, depth)
    # (queries, depth + 1): how many holes the first or last so many places have, and their weight
    holes, last_holes = (_sums(each).astype(np.int64) for each in (hole, hole[:, ::-1]))
    weighed = hole * (1.0 / np.log2(np.arange(2, depth + 2)))
    # what the first places of an ideal ranking weigh together, from none on
    most = sum(int(np.max(each, initial=0)) for each in (judged, outside, holes))
    inside = np.arange(most) < (np.inf if cutoff is None else cutoff)
    ideal = np.append(0.0, np.cumsum(np.where(inside, 1 / np.log2(np.arange(most) + 2), 0)))
    of_steps = [*zip(steps, judged, is_open.tolist(), strict=True)]
    # no hole reaches a level that is not open
    least = sum(s * ideal[j + (last_holes + outside if may else 0)] for s, j, may in of_steps)
    lowest = ratio(gained[:, None] + top * _sums(weighed[:, ::-1]), least).min(axis=1)
    ideals = [ideal[j + (holes if may else holes[:, :1])] for _, j, may in of_steps]
    return lowest, largest_ratios(gained, _sums(weighed), steps, ideals)


BOUND_FUNCTIONS: dict[str, Callable[[Holes, Measure, int], Ends]] = {
    **dict.fromkeys(("R", "SetR"), _recall),
    **dict.fromkeys(("AP", "GMAP"), _average_precision),
    "nDCG": _ndcg,
}
"""The measures whose least and largest value neither scenario gives, and what computes the two."""


# What unjudged documents could do to a score: two scenarios, and bounds where they are exact.

RISING = frozenset({"P", "Success", "RR", "RBP", "DCG", "ERR", "SetP", "NumRel", "NumRelRet"})
"""Measures that never fall when an unjudged document turns out better: no ideal moves with it.

For ERR: a document at rank i that stops the user with probability s adds s / i and takes at most
s times what came after, which is less than 1 / i.
"""

SEE_HOLES = frozenset({"Bpref", "infAP", "Judged"})
"""Measures that tell an unjudged document from one of grade 0; the others take it for one."""


DOCUMENTS = 1 << 18
"""So many documents are filled in at once: what is held does not grow with a run's lines."""


def scenarios(
    holes: Holes, measures: Sequence[Measure], size: int = DOCUMENTS, *, ends_alone: bool = False
) -> dict[str, dict[str, float]]:
    """A measure: its mean if all unjudged documents were irrelevant, and if all were of top grade.

    `low` and `high` are true bounds, where an exact way to them is known; they may be asked for
    alone. RBP's upper bound counts the documents below the ranking's end too. For nDCG and whatever
    divides by what could be found, neither scenario is a bound, because the ideal moves. About
    `size` documents are worked on at a time.
    """
    values_of = Holes.ends if ends_alone else Holes.cases
    # what is filled in of some queries is let go of before the next
    parts = [[values_of(block, measure) for measure in measures] for block in holes.blocks(size)]
    means = {}
    for measure, of_blocks in zip(measures, zip(*parts, strict=True), strict=True):
        values = {name: np.concatenate([part[name] for part in of_blocks]) for name in of_blocks[0]}
        means[str(measure)] = {name: summed_up(measure, row) for name, row in values.items()}
    return means


def has_ends(measure: Measure) -> bool:
    """Whether the least and the most that a measure can be are known."""
    return not measure.judged_only and measure.name in RISING | BOUND_FUNCTIONS.keys()


# The unjudged documents of several runs together: what any of them retrieved may be relevant.
#
# A document that another run retrieved exists, so that it is one more candidate: relevant, it
# raises what could be found, and what is ideal, for the runs that lack it, too.


@dataclass(frozen=True, eq=False)
class UnjudgedOfAllRuns:
    """The documents of all runs that are not in the qrels; `queries` are those of the qrels.

    `of_runs` has those of one run after another; of a single run none are needed.
    """

    queries: Sequence[str]
    of_runs: list[Words] = field(default_factory=list)

    @cached_property
    def total(self) -> Integers:
        """How many there are of each query, those of several runs counted once."""
        marks = np.sort(np.concatenate(self.of_runs))  # in a fifth of the time of `np.unique`
        distinct = marks[np.append(True, marks[1:] != marks[:-1])[: len(marks)]]
        return marks_by_query(distinct, len(self.queries))

    def others(self, own: Words | None, queries: Sequence[str]) -> Integers | int:
        """How many documents of each of some queries are not a run's `own`."""
        if own is None:
            return 0
        counts, some = self.total - marks_by_query(own, len(self.queries)), set(queries)
        return counts[[query in some for query in self.queries]]
