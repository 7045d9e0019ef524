"""The rules of panels: how members' grades of a pair become one grade.

No rule leans to one side. Where several grades have an equal claim, the one nearest to the mean of
the pair's grades is taken; where two are equally near, a fair coin decides that hangs on the pair.
So a panel of the reversed scale gives the reversed grades, and ties raise no grade on average.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Pair
from labeler.errors import Misuse

# The grades of a panel's members side by side, and how far they lie apart.

UNGRADED = -1
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale of grades that lie within it, where nobody names one: TREC's, and our prompts'."""
Shares = Mapping[Pair, Mapping[int, float]]
"""The probability of each grade of a pair, where a member gave one."""


@dataclass(frozen=True, eq=False)
class Votes:
    """`values[i, a]` is the place in `grades` of member `a`'s grade of pair `i`, or `UNGRADED`.

    `shares` holds, `(pairs, members, grades)`, how probable each member holds each grade: its own
    distribution where it gave one, else all of it on its grade, and zeros where it has none.
    """

    members: tuple[str, ...]
    grades: tuple[int, ...]
    pairs: tuple[Pair, ...]
    values: Integers
    shares: Floats

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
        indices = np.arange(len(self.grades))
        return np.asarray((self.values[:, :, None] == indices).sum(axis=1), dtype=np.float64)

    def of(self, rows: Flags | Integers) -> Votes:
        """Some of the pairs."""
        numbers = np.arange(len(self.pairs))[rows]
        pairs = tuple(self.pairs[row] for row in numbers.tolist())
        return replace(self, pairs=pairs, values=self.values[numbers], shares=self.shares[numbers])


def votes_of(
    grades_by_member: Mapping[str, Mapping[Pair, int]],
    scale: Sequence[int] | None = None,
    shares_by_member: Mapping[str, Shares] | None = None,
) -> Votes:
    """The grades of several members on every pair that one of them graded.

    `Misuse` of a grade that a named `scale` does not hold; without one it is that of the grades.
    """
    used = {grade for graded in grades_by_member.values() for grade in graded.values()}
    grades = scale_of_grades(used) if scale is None else tuple(scale)
    if outside := sorted(used - set(grades)):
        ends = f"{grades[0]}:{grades[-1]}"
        raise Misuse(f"the grade {outside[0]} is outside of the scale {ends}", parameter="scale")
    pairs = tuple(sorted({pair for graded in grades_by_member.values() for pair in graded}))
    row_of = {pair: row for row, pair in enumerate(pairs)}
    index_of = {grade: index for index, grade in enumerate(grades)}
    values = np.full((len(pairs), len(grades_by_member)), UNGRADED, dtype=np.int64)
    shares = np.zeros((*values.shape, len(grades)))
    for column, (member, graded) in enumerate(grades_by_member.items()):
        distributions = (shares_by_member or {}).get(member, {})
        for pair, grade in graded.items():
            row, own = row_of[pair], distributions.get(pair, {})
            values[row, column] = index_of[grade]
            of_scale = np.array([own.get(other, 0.0) for other in grades])
            whole = of_scale.sum()
            shares[row, column] = of_scale / whole if whole > 0 else np.array(grades) == grade
    return Votes(tuple(grades_by_member), grades, pairs, values, shares)


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
    counts, apart = votes.counts, np.abs(votes.scale[:, None] - votes.scale[None, :])
    members = counts.sum(axis=1)
    total = np.einsum("ig,gh,ih->i", counts, apart, counts)
    return np.where(members > 1, total / np.maximum(members * (members - 1), 1), np.nan)


class PanelGrades(NamedTuple):
    """The place of each pair's grade in the scale, and how probable each grade is."""

    values: Integers
    shares: Floats


Combine = Callable[[Votes, int], PanelGrades]
"""Votes, each pair with a grade at least, and the seed of ties, to grades."""


def median(votes: Votes, seed: int) -> PanelGrades:
    """The median of the grades; of an even number, the middle between the two middle ones."""
    return _rounded(votes, np.nanmedian(votes.numbers, axis=1), seed)


def majority(votes: Votes, seed: int) -> PanelGrades:
    """The most frequent grade."""
    most = votes.counts >= votes.counts.max(axis=1, keepdims=True)
    return PanelGrades(settled(votes, most, seed), mean_shares(votes))


def mean(votes: Votes, seed: int) -> PanelGrades:
    """The mean of the members' distributions; the grade is the one nearest to what they expect."""
    return _rounded(votes, mean_shares(votes) @ votes.scale, seed)


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


def combine(votes: Votes, rule: str = "median", seed: int = 0) -> PanelGrades:
    """One grade for each pair of the votes; a pair that no member graded raises `Misuse`."""
    check_rule(rule)
    if not votes.graded.any(axis=1).all():
        raise Misuse("a pair without any grade cannot be given one by a panel")
    return PANEL_RULES[rule](votes, seed)


def mean_shares(votes: Votes) -> Floats:
    """The mean of the distributions of the members that graded a pair, `(pairs, grades)`."""
    graded = votes.graded.sum(axis=1, keepdims=True)
    return np.asarray(votes.shares.sum(axis=1) / np.maximum(graded, 1), dtype=np.float64)


def _rounded(votes: Votes, level: Floats, seed: int) -> PanelGrades:
    """The grade nearest to each pair's level; of two as near, the nearer to the grades' mean."""
    apart = np.abs(votes.scale[None, :] - level[:, None])
    nearest = apart <= apart.min(axis=1, keepdims=True) + NEAR
    return PanelGrades(settled(votes, nearest, seed), mean_shares(votes))


def settled(votes: Votes, claims: Flags, seed: int) -> Integers:
    """Of the grades with an equal claim to each pair, `(pairs, grades)`, the one that is taken."""
    means = np.nanmean(votes.numbers, axis=1)
    apart = np.where(claims, np.abs(votes.scale[None, :] - means[:, None]), np.inf)
    left = apart <= apart.min(axis=1, keepdims=True) + NEAR
    lowest = left.argmax(axis=1)
    highest = left.shape[1] - 1 - left[:, ::-1].argmax(axis=1)
    tied = np.flatnonzero(lowest != highest)
    values: Integers = lowest.astype(np.int64)
    for row in tied.tolist():
        query_id, doc_id = votes.pairs[row]
        text = f"{seed}\0{query_id}\0{doc_id}".encode("utf-8", "surrogatepass")
        if hashlib.sha256(text).digest()[0] & 1:
            values[row] = highest[row]
    return values
