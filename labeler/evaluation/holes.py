"""The least and the most that a measure can be, whatever the grades of its unjudged documents.

Unjudged are the retrieved documents outside the qrels and those of the pool with a negative grade;
what other runs of the same evaluation retrieved stands in the pool, too (`candidates`). Documents
that are neither retrieved nor in the pool are taken not to exist. Each may have any grade
from 0 to the scale's top. Some measures divide by what could be found. In such a measure a relevant
document raises both the hits and the total, so the extremes need not be "none is relevant" or "all
are".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
Work = Callable[[Rankings, Measure, int], Ends]
ROUNDS = 50
"""Far more than the five or so that the search for the highest nDCG takes."""


def level_of(measure: Measure) -> int:
    """The lowest grade that is relevant to a measure."""
    return int(dict(measure.parameters).get("rel", 1))


def holes_within(r: Rankings, depth: float) -> Integers:
    """How many of the first documents of each query are unjudged."""
    seen = np.minimum(r.retrieved, depth).astype(np.int64)
    return seen - r.count((r.grade >= 0) & (r.rank < depth))


def holes_outside(r: Rankings, depth: float) -> Integers:
    """How many unjudged documents stand below, or in the pool and nowhere in the ranking."""
    unjudged_pool = np.bincount(r.pool_query[r.pool_grade < 0], minlength=r.n)
    below = holes_within(r, np.inf) - holes_within(r, depth)
    return below + unjudged_pool - r.count(r.grade < 0)


def _recall(r: Rankings, measure: Measure, _depth: int) -> Ends:
    """Recall rises with each hit, and falls with each miss.

    Lowest where the unjudged documents within the cutoff are irrelevant and all others relevant;
    highest the other way round.
    """
    depth = np.inf if measure.cutoff is None else float(measure.cutoff)
    level = level_of(measure)
    hits, relevants = r.count(relevant(r, level, depth)), r.in_pool(level)
    inside, outside = holes_within(r, depth), holes_outside(r, depth)
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


def _average_precision(r: Rankings, measure: Measure, depth: int) -> Ends:
    """With the first holes relevant the sum of precisions is highest, with the last ones lowest.

    Moving a relevant document up from rank q to a free rank p above it changes that sum by at least
    (1 + a) (1/p - 1/q) > 0, with a relevant ones above p. So only their number is searched for.
    """
    level = level_of(measure)
    good, hole = _squares(r, level, depth)
    relevants, outside = r.in_pool(level)[:, None], holes_outside(r, depth)[:, None]
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


def _ndcg(r: Rankings, measure: Measure, depth: int) -> Ends:
    """nDCG's ends, by levels: a gain is a sum of steps, and so are both sums of gains.

    The lowest: DCG - l IDCG is concave in the gains, so that some end of their range, every hole 0
    or top, is lowest: some number of the last holes is top there.
    """
    kind = str(dict(measure.parameters).get("dcg", "log2"))
    cutoff = None if measure.cutoff is None else int(measure.cutoff)
    levels = np.unique(np.append(r.pool_grade[r.pool_grade > 0], r.max_grade))
    worth, is_open = gains(np.append(0, levels), kind), levels <= r.max_grade
    steps, top = np.diff(worth), float(worth[1:][is_open][-1])
    judged = [r.in_pool(int(level))[:, None] for level in levels]
    outside, gained = holes_outside(r, depth)[:, None], dcg_sums(r, cutoff, kind)[0]
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


BOUND_FUNCTIONS: dict[str, Work] = {
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


def filled(r: Rankings, filling: int) -> Rankings:
    """The rankings if all unjudged documents had the grade `filling`.

    These are the retrieved ones outside the qrels and those of the pool with a negative grade,
    retrieved or not; the ideal ranking gets them too.
    """
    starts = np.cumsum(r.retrieved) - r.retrieved
    grade = np.full(int(r.retrieved.sum()), filling)
    at = starts[r.query] + r.rank
    grade[at] = np.where(r.grade < 0, filling, r.grade)
    query = np.repeat(np.arange(r.n), r.retrieved)
    outside = r.retrieved - np.bincount(r.query, minlength=r.n)
    pool_query, pool_grade = _with_more(r, outside, filling)
    rank = np.arange(len(grade)) - starts[query]
    ideal = replace(r, pool_query=pool_query, pool_grade=pool_grade)
    return replace(ideal, query=query, rank=rank, grade=grade)


def _with_more(r: Rankings, outside: Integers, filling: int) -> tuple[Integers, Integers]:
    """The qrels with `outside` more documents of a query, which have the grade `filling`.

    So have those of the pool that nobody judged. The best come first.
    """
    pool_query = np.concatenate([r.pool_query, np.repeat(np.arange(r.n), outside)])
    graded = np.where(r.pool_grade < 0, filling, r.pool_grade)
    pool_grade = np.concatenate([graded, np.full(int(outside.sum()), filling)])
    order = np.lexsort((-pool_grade, pool_query))
    return pool_query[order], pool_grade[order]


DOCUMENTS = 1 << 18
"""So many documents are filled in at once: what is held does not grow with a run's lines."""


def scenarios(
    r: Rankings, measures: Sequence[Measure], size: int = DOCUMENTS, *, ends_alone: bool = False
) -> dict[str, dict[str, float]]:
    """A measure: its mean if all unjudged documents were irrelevant, and if all were of top grade.

    `low` and `high` are true bounds, where an exact way to them is known; they may be asked for
    alone. RBP's upper bound counts the documents below the ranking's end too. For nDCG and whatever
    divides by what could be found, neither scenario is a bound, because the ideal moves. About
    `size` documents are worked on at a time.
    """
    values_of = _Block.ends if ends_alone else _Block.cases
    # what is filled in of some queries is let go of before the next
    parts = [
        [values_of(block, measure) for measure in measures] for block in map(_Block, r.blocks(size))
    ]
    means = {}
    for measure, of_blocks in zip(measures, zip(*parts, strict=True), strict=True):
        values = {name: np.concatenate([part[name] for part in of_blocks]) for name in of_blocks[0]}
        means[str(measure)] = {name: summed_up(measure, row) for name, row in values.items()}
    return means


class _Block:
    """Rankings of some queries, and what other grades would make of them once that is asked."""

    def __init__(self, r: Rankings) -> None:
        self.r = r

    @cached_property
    def irrelevant(self) -> Rankings:
        """All unjudged documents of grade 0."""
        return filled(self.r, 0)

    @cached_property
    def top(self) -> Rankings:
        """All unjudged documents of top grade."""
        return filled(self.r, self.r.max_grade)

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
            low, high = BOUND_FUNCTIONS[measure.name](r, measure, depth)
            value = measure.per_query(r)
            return {"low": np.minimum(low, value), "high": np.maximum(high, value)}
        low, high = self._worst(measure), measure.per_query(self.top)
        if measure.name == "RBP":  # what stands below the last retrieved document may count, too
            last = np.inf if measure.cutoff is None else float(measure.cutoff)
            p = float(dict(measure.parameters).get("p", 0.8))
            high = high + (p ** np.minimum(r.retrieved, last).astype(np.float64) - p**last)
        return {"low": low, "high": high}


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
    def number(self) -> dict[str, int]:
        """The place of each query of the qrels."""
        return {query: index for index, query in enumerate(self.queries)}

    @cached_property
    def total(self) -> Integers:
        """How many there are of each query, those of several runs counted once."""
        return marks_by_query(np.unique(np.concatenate(self.of_runs)), len(self.queries))


@dataclass(frozen=True, eq=False)
class UnjudgedOfRun:
    """What the unjudged documents of one run leave open, worked out once it is asked for.

    `outside` are its documents outside the qrels, `None` where no other run is beside it.
    """

    ranked: Rankings
    measures: tuple[Measure, ...]
    outside: Words | None
    of_all: UnjudgedOfAllRuns

    @cached_property
    def candidates(self) -> Rankings:
        """The rankings, with the documents of other runs in their pool, not judged."""
        ranked = self.ranked
        if self.outside is None:
            return ranked
        own = marks_by_query(self.outside, len(self.of_all.queries))
        index = np.array([self.of_all.number[query] for query in ranked.queries], dtype=np.int64)
        others = (self.of_all.total - own)[index]
        if not others.any():
            return ranked
        query, grade = _with_more(ranked, others, -1)
        return replace(ranked, pool_query=query, pool_grade=grade)

    @cached_property
    def scenarios(self) -> dict[str, dict[str, float]]:
        """The scenarios by measure."""
        return scenarios(self.candidates, self.measures)
