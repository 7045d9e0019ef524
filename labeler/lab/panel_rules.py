"""The rules of panels: how members' grades of a pair become one grade.

No rule leans to one side. Where several grades have an equal claim, the one nearest to the mean of
the pair's grades is taken; where two are equally near, a fair coin decides that hangs on the pair.
So a panel of the reversed scale gives the reversed grades, and ties raise no grade on average.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers, Places
from labeler.errors import Misuse
from labeler.judging.changes import JudgedSet
from labeler.trec.pairs import PairColumns, joined_pairs

# The grades of a panel's members side by side, and how far they lie apart.

UNGRADED = -1
AT_ONCE = 1 << 16
"""Pairs that are put together at a time."""
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale of grades that lie within it, where nobody names one: TREC's, and our prompts'."""


@dataclass(frozen=True, eq=False)
class Votes:
    """`values[i, a]` is the place in `grades` of member `a`'s grade of pair `i`, or `UNGRADED`.

    `shares` hold, `(pairs, members, grades)`, how probable each member holds each grade: its own
    distribution where it gave one, else all of it on its grade, and zeros where it has none. None
    stands for members that gave none.
    """

    members: tuple[str, ...]
    grades: tuple[int, ...]
    pairs: PairColumns[Any]
    values: Places
    shares: Floats | None = None

    @property
    def scale(self) -> Floats:
        """The grades as numbers, `(grades,)`."""
        return np.array(self.grades, dtype=np.float64)

    @property
    def graded(self) -> Flags:
        """Which members have a grade of which pairs, `(pairs, members)`."""
        return np.asarray(self.values != UNGRADED)

    @property
    def numbers(self) -> Floats:
        """The members' grades as numbers, `(pairs, members)`; `nan` where there is none."""
        return np.where(self.graded, self.scale[self.values], np.nan)

    @property
    def counts(self) -> Floats:
        """How many members gave each grade to a pair, `(pairs, grades)`."""
        each = [(self.values == at).sum(axis=1) for at in range(len(self.grades))]
        return np.stack(each, axis=1).astype(np.float64)

    @property
    def mean_shares(self) -> Floats:
        """The mean of the distributions of the members that graded a pair, `(pairs, grades)`."""
        whole = self.counts if self.shares is None else self.shares.sum(axis=1)
        return np.asarray(whole / np.maximum(self.graded.sum(axis=1, keepdims=True), 1))

    def of(self, rows: Flags) -> Votes:
        """The pairs of a mask."""
        shares = None if self.shares is None else self.shares[rows]
        return replace(self, pairs=self.pairs.keep(rows), values=self.values[rows], shares=shares)

    def blocks(self) -> Iterator[Votes]:
        """Some thousand pairs at a time, `pairs` being all of them."""
        for first in range(0, len(self.values), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            shares = None if self.shares is None else self.shares[rows]
            yield replace(self, values=self.values[rows], shares=shares)


def votes_of(
    sets: Mapping[str, JudgedSet],
    scale: Sequence[int] | None = None,
    fewest: int = 1,
) -> Votes:
    """The grades of several members, by name, on every pair that at least `fewest` of them graded.

    The pairs are in the order of their ids. `Misuse` of a grade that a named `scale` does not hold;
    without one it is that of the grades.
    """
    each = list(sets.values())
    used = {s.grade for own in each for s in own.states.used() if s.grade is not None}
    grades = scale_of_grades(used) if scale is None else tuple(scale)
    if outside := sorted(used - set(grades)):
        ends = f"{grades[0]}:{grades[-1]}"
        raise Misuse(f"the grade {outside[0]} is outside of the scale {ends}", parameter="scale")
    joined = joined_pairs([own.states for own in each])
    values = np.stack(
        [joined.values(at, places_of(own, grades), UNGRADED) for at, own in enumerate(each)], axis=1
    )
    rows = joined.by_id((values != UNGRADED).sum(axis=1) >= fewest)
    votes = Votes(tuple(sets), grades, joined.columns(rows), values[rows])
    if all(own.distributions is None for own in each):
        return votes
    shares = [_shares(own, votes, at) for at, own in enumerate(each)]
    return replace(votes, shares=np.stack(shares, axis=1))


def places_of(own: JudgedSet, grades: Sequence[int]) -> Places:
    """The place of each pair's grade, `UNGRADED` where it has none."""
    states, code = own.states.coded
    places = [UNGRADED if s.grade not in grades else grades.index(s.grade) for s in states]
    return np.array(places, dtype=np.int8)[code]


def _shares(own: JudgedSet, votes: Votes, member: int) -> Floats:
    """How probable a member holds each grade of each pair, `(pairs, grades)`."""
    is_grade = votes.values[:, member, None] == np.arange(len(votes.grades))
    shares: Floats = is_grade.astype(np.float64)
    if own.distributions is not None:
        own.distributions.put(votes.pairs, votes.grades, shares)
    return shares


def scale_of_grades(used: set[int]) -> tuple[int, ...]:
    """0 to 3 where all grades lie within it, else from the lowest to the highest."""
    low, high = min(used, default=0), max(used, default=0)
    if USUAL[0] <= low and high <= USUAL[-1]:
        return USUAL
    if high - low >= MOST_GRADES:
        problem = f"the members' grades run from {low} to {high}, more than {MOST_GRADES}"
        raise Misuse(f"{problem}; name the scale", parameter="scale")
    return tuple(range(low, high + 1))


def disagreement(votes: Votes) -> Floats:
    """How far the grades of two of a pair's members lie apart on average, in grades, `(pairs,)`.

    That is Gini's mean difference; `nan` of pairs that fewer than two members graded.
    """
    apart = np.abs(votes.scale[:, None] - votes.scale[None, :])
    each = [np.zeros(0)]
    for block in votes.blocks():
        counts = block.counts
        members = counts.sum(axis=1)
        total = np.einsum("ig,gh,ih->i", counts, apart, counts)
        each.append(np.where(members > 1, total / np.maximum(members * (members - 1), 1), np.nan))
    return np.concatenate(each)


Combine = Callable[[Votes], Flags]
"""Votes, each pair with a grade at least, to the grades with an equal claim, `(pairs, grades)`."""


def median(votes: Votes) -> Flags:
    """The median of the grades; of an even number, the middle between the two middle ones."""
    ranked, graded = np.sort(votes.numbers, axis=1), votes.graded.sum(axis=1, keepdims=True)
    middle = [np.take_along_axis(ranked, at, axis=1) for at in ((graded - 1) // 2, graded // 2)]
    return _nearest(votes, (middle[0] + middle[1])[:, 0] / 2)


def majority(votes: Votes) -> Flags:
    """The most frequent grade."""
    return np.asarray(votes.counts >= votes.counts.max(axis=1, keepdims=True))


def mean(votes: Votes) -> Flags:
    """The mean of the members' distributions; the grade is the one nearest to what they expect."""
    return _nearest(votes, votes.mean_shares @ votes.scale)


PANEL_RULES: dict[str, Combine] = {
    "median": median,
    "majority": majority,
    "mean": mean,
}
NEAR = 1e-9


def check_rule(name: str) -> None:
    """`Misuse` of a rule that there is not."""
    if name not in PANEL_RULES:
        raise Misuse(f"no rule {name!r}; known: {', '.join(PANEL_RULES)}", parameter="rule")


def combine(votes: Votes, rule: str = "median", seed: int = 0) -> Integers:
    """The place in the scale of one grade for each pair; `Misuse` of a pair without any."""
    check_rule(rule)
    if not votes.graded.any(axis=1).all():
        raise Misuse("a pair without any grade cannot be given one by a panel")
    values, claims = [np.zeros(0, dtype=np.int64)], PANEL_RULES[rule]
    for block in votes.blocks():
        first = sum(map(len, values))
        values.append(settled(block, claims(block), seed, first))
    return np.concatenate(values)


def _nearest(votes: Votes, level: Floats) -> Flags:
    """The grades nearest to each pair's level."""
    apart = np.abs(votes.scale[None, :] - level[:, None])
    return np.asarray(apart <= apart.min(axis=1, keepdims=True) + NEAR)


def settled(votes: Votes, claims: Flags, seed: int, first: int = 0) -> Integers:
    """Of the grades with an equal claim to each pair, `(pairs, grades)`, the one that is taken.

    Of two as near to the mean of a pair's grades a coin decides; `first` is the first pair's place.
    """
    means = np.nanmean(votes.numbers, axis=1)
    apart = np.where(claims, np.abs(votes.scale[None, :] - means[:, None]), np.inf)
    left = apart <= apart.min(axis=1, keepdims=True) + NEAR
    lowest = left.argmax(axis=1)
    highest = left.shape[1] - 1 - left[:, ::-1].argmax(axis=1)
    tied = np.flatnonzero(lowest != highest)
    values: Integers = lowest.astype(np.int64)
    for row in tied.tolist():
        query_id, doc_id = votes.pairs.pair(first + row)
        text = f"{seed}\0{query_id}\0{doc_id}".encode("utf-8", "surrogatepass")
        if hashlib.sha256(text).digest()[0] & 1:
            values[row] = highest[row]
    return values
