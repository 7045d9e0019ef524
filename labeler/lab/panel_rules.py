"""The rules of panels: how members' grades of a pair become one grade.

No rule leans to one side. Where several grades have an equal claim, the one nearest to the mean of
the pair's grades is taken; where two are equally near, a fair coin decides that hangs on the pair.
So a panel of the reversed scale gives the reversed grades, and ties raise no grade on average.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from labeler.agreement.align import GradeMatrix, grade_matrix, usual_scale
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.judged_set import JudgedSet

# The grades of a panel's members side by side.


def votes_of(
    sets: Mapping[str, JudgedSet],
    scale: Sequence[int] | None = None,
    fewest: int = 1,
) -> GradeMatrix:
    """The grades of several members, by name, on every pair that at least `fewest` of them graded.

    The pairs are in the order of their ids. Without a `scale`, which holds all grades, it is that
    of the grades.
    """
    used = {grade for own in sets.values() for grade in own.used}
    grades = usual_scale(used or {0}) if scale is None else tuple(scale)
    labels = {name: own.labels for name, own in sets.items()}
    votes = grade_matrix(labels, grades, fewest=fewest, by_id=True)
    return votes.with_distributions([own.distributions for own in sets.values()])


Combine = Callable[[GradeMatrix], Flags]
"""Votes, each pair with a grade at least, to the grades with an equal claim, `(pairs, grades)`."""


def median(votes: GradeMatrix) -> Flags:
    """The median of the grades; of an even number, the middle between the two middle ones."""
    ranked, graded = np.sort(votes.numbers, axis=1), votes.graded.sum(axis=1, keepdims=True)
    middle = [np.take_along_axis(ranked, at, axis=1) for at in ((graded - 1) // 2, graded // 2)]
    return _nearest(votes, (middle[0] + middle[1])[:, 0] / 2)


def majority(votes: GradeMatrix) -> Flags:
    """The most frequent grade."""
    return np.asarray(votes.counts >= votes.counts.max(axis=1, keepdims=True))


def mean(votes: GradeMatrix) -> Flags:
    """The mean of the members' distributions; the grade is the one nearest to what they expect."""
    return _nearest(votes, votes.mean_shares @ votes.scale)


Rule = Literal["median", "majority", "mean"]
PANEL_RULES: dict[Rule, Combine] = {
    "median": median,
    "majority": majority,
    "mean": mean,
}
NEAR = 1e-9


def combine(votes: GradeMatrix, rule: Rule = "median", seed: int = 0) -> Integers:
    """The place in the scale of one grade for each pair, of which each has a grade at least."""
    values, claims = [np.zeros(0, np.int64)], PANEL_RULES[rule]
    for block in votes.blocks():
        values.append(settled(block, claims(block), seed, sum(map(len, values))))
    return np.concatenate(values)


def _nearest(votes: GradeMatrix, level: Floats) -> Flags:
    """The grades nearest to each pair's level."""
    apart = np.abs(votes.scale[None, :] - level[:, None])
    return np.asarray(apart <= apart.min(axis=1, keepdims=True) + NEAR)


def settled(votes: GradeMatrix, claims: Flags, seed: int, first: int = 0) -> Integers:
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
