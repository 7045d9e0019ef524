"""The registry of panel rules: how members' grades of a pair become one grade.

No rule leans to one side. Where several grades have an equal claim, the one nearest to the mean of
the pair's grades is taken; where two are equally near, a fair coin decides that hangs on the pair.
So a panel of the reversed scale gives the reversed grades, and ties raise no grade on average.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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

    def patterns(self) -> tuple[Votes, Integers, Floats]:
        """Each way in which members grade a pair, once; which of them each pair is; how often."""
        _, first, which, counts = np.unique(
            self.values, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        return self.of(first), which.reshape(-1).astype(np.int64), counts.astype(np.float64)

    def of(self, rows: Flags | Integers) -> Votes:
        """Some of the pairs."""
        numbers = np.arange(len(self.pairs))[rows]
        pairs = tuple(self.pairs[row] for row in numbers.tolist())
        return replace(self, pairs=pairs, values=self.values[numbers], shares=self.shares[numbers])

    def by(self, members: Sequence[str]) -> Votes:
        """Some of the members, in this order."""
        columns = [self.members.index(member) for member in members]
        values, shares = self.values[:, columns], self.shares[:, columns]
        return replace(self, members=tuple(members), values=values, shares=shares)


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
        rows = np.array([row_of[pair] for pair in graded], dtype=np.int64)
        values[rows, column] = [index_of[grade] for grade in graded.values()]
        shares[rows, column, values[rows, column]] = 1.0
        for pair in graded.keys() & distributions.keys():
            row = row_of[pair]
            index = int(values[row, column])
            shares[row, column] = _share_row(distributions[pair], index, index_of)
    return Votes(tuple(grades_by_member), grades, pairs, values, shares)


def _share_row(
    distribution: Mapping[int, float], index: int, index_of: Mapping[int, int]
) -> Floats:
    """A distribution over the scale that sums to 1; all on the grade where there is none."""
    row = np.zeros(len(index_of))
    for grade, share in distribution.items():
        if grade in index_of:
            row[index_of[grade]] = share
    if row.sum() <= 0:
        row[index] = 1.0
    return np.asarray(row / row.sum(), dtype=np.float64)


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


def coins(pairs: Sequence[Pair], seed: int = 0) -> Flags:
    """A fair coin for each pair, which hangs on the pair and the seed alone: the same each time."""
    texts = (f"{seed}\0{pair.query_id}\0{pair.doc_id}" for pair in pairs)
    heads = [
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] & 1 for text in texts
    ]
    return np.array(heads, dtype=np.bool_)


# A bias and a precision for each member: a grade is the pair's level, a bias and an error.
#
# The two-way model of measurements by several instruments, fitted by maximum likelihood:
# Grubbs (1948), On estimating precision of measuring instruments, J. of the American Statistical
# Association 43. Like all such models it takes members' errors for independent.

ROUNDS = 500
STILL = 1e-7
LEAST_VARIANCE = 1 / 12
"""A grade is a whole number: rounding alone gives its error this variance."""


@dataclass(frozen=True, eq=False)
class BiasFit:
    """Each member's bias in grades, which add up to 0, and the variance of its errors.

    `mean` and `variance` are those of the pairs' levels.
    """

    biases: Floats
    variances: Floats
    mean: float
    variance: float

    def levels(self, votes: Votes) -> Floats:
        """Each pair's level: the weighted mean of its grades less their members' biases.

        Levels are not shrunk towards the mean of all pairs, and are kept within the scale.
        """
        weights = np.where(votes.graded, 1 / self.variances, 0.0)
        apart = np.nan_to_num(votes.numbers - self.biases)
        level = (weights * apart).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(np.clip(level, votes.grades[0], votes.grades[-1]), dtype=np.float64)


def fit_bias(votes: Votes, rounds: int = ROUNDS) -> BiasFit:
    """Fit biases and variances without people's judgements, by expectation and maximization."""
    votes, _, times = votes.patterns()
    x, graded, often = votes.numbers, votes.graded, times[:, None]
    counts = np.maximum((often * graded).sum(axis=0), 1)
    apart = np.nan_to_num(x - np.nanmean(x, axis=1, keepdims=True))
    biases, variances = (often * apart).sum(axis=0) / counts, np.full(len(votes.members), 0.5)
    mean, variance = float(np.nanmean(x)), max(float(np.nanvar(x)), LEAST_VARIANCE)
    for _ in range(rounds):
        before = biases, variances
        # what is known of each pair's level: its precision and its mean
        weights = np.where(graded, 1 / variances, 0.0)
        precision = 1 / variance + weights.sum(axis=1)
        level = mean / variance + (weights * np.nan_to_num(x - biases)).sum(axis=1)
        level = level / precision
        mean = float(np.average(level, weights=times))
        spread = (level - mean) ** 2 + 1 / precision
        variance = max(float(np.average(spread, weights=times)), LEAST_VARIANCE)
        apart = np.where(graded, x - level[:, None], 0.0)
        biases = (often * apart).sum(axis=0) / counts
        errors = np.where(graded, (apart - biases) ** 2 + 1 / precision[:, None], 0.0)
        variances = np.maximum((often * errors).sum(axis=0) / counts, LEAST_VARIANCE)
        moved = (np.abs(a - b).max() for a, b in zip(before, (biases, variances), strict=True))
        if max(moved) < STILL:
            break
    return BiasFit(biases - biases.mean(), variances, mean + biases.mean(), variance)


# The model of Dawid and Skene: each member errs in its own way, and nobody knows the truth.
#
# Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
# algorithm, Applied Statistics 28(1). It takes members' errors for independent given the true
# grade: of members that err together it is too sure.

SHARES_STILL = 1e-8
"""When no probability moves by more, the fit is done."""
PRIOR = 0.01
"""So many pairs are added to each cell of a confusion matrix, so that none is impossible."""
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class DawidSkeneFit:
    """How frequent each true grade is, how members grade it, and how probable it is of each pair.

    `confusion` is `(members, true grades, given grades)`, each row a distribution; `shares` is
    `(pairs, grades)`.
    """

    prior: Floats
    confusion: Floats
    shares: Floats


def fit_dawid_skene(votes: Votes, rounds: int = ROUNDS) -> DawidSkeneFit:
    """Fit the model without people's judgements, from the votes' shares on."""
    k = len(votes.grades)
    votes, which, counts = votes.patterns()  # pairs of equal grades are equally probable
    # (patterns, members * grades): 1 at each member's grade
    given = (votes.values[:, :, None] == np.arange(k)).astype(np.float64)
    flat = given.reshape(len(votes.pairs), -1)
    shares = given.sum(axis=1) / np.maximum(votes.graded.sum(axis=1, keepdims=True), 1)
    prior, confusion = _estimated(shares, flat, counts)
    for _ in range(rounds):
        before = shares
        shares = _posterior(prior, confusion, flat)
        prior, confusion = _estimated(shares, flat, counts)
        if np.abs(shares - before).max(initial=0.0) < SHARES_STILL:
            break
    return DawidSkeneFit(prior, confusion, shares[which])


def _estimated(shares: Floats, flat: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The prior and the confusion matrices that the shares of so many pairs each speak for."""
    weighted, k = shares * counts[:, None], shares.shape[1]
    prior = weighted.sum(axis=0) / counts.sum()
    # (members, true, given): how often a member gave a grade to a true one
    given = (weighted.T @ flat).reshape(k, -1, k).transpose(1, 0, 2) + PRIOR
    return prior, np.asarray(given / given.sum(axis=2, keepdims=True), dtype=np.float64)


def _posterior(prior: Floats, confusion: Floats, flat: Floats) -> Floats:
    """The probability of each true grade of each pair."""
    k = len(prior)
    # (members * given, true)
    logs = np.log(confusion).transpose(0, 2, 1).reshape(-1, k)
    whole = np.log(prior + _TINY) + flat @ logs
    odds = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)


NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class PanelGrades:
    """What a rule makes of votes: each pair's place in the scale, and how probable each grade is.

    `expected` is the panel's number for each pair before it is rounded to a grade.
    """

    values: Integers
    shares: Floats
    expected: Floats


Combine = Callable[[Votes, int], PanelGrades]
"""Votes, each pair with a grade at least, and the seed of ties, to grades."""


@dataclass(frozen=True)
class PanelRule:
    """A way to put grades together, what it does, and how many members it takes at least."""

    name: str
    combine: Combine
    about: str
    members: int = 2


PANEL_RULES: dict[str, PanelRule] = {}


def panel_rule(name: str, about: str, members: int = 2) -> Callable[[Combine], Combine]:
    """Register a function under `name`."""

    def register(combine: Combine) -> Combine:
        PANEL_RULES[name] = PanelRule(name, combine, about, members)
        return combine

    return register


def find_rule(name: str, members: int) -> PanelRule:
    """The rule of a name; `Misuse` where there is none, or where it takes more members."""
    if name not in PANEL_RULES:
        raise Misuse(f"no rule {name!r}; known: {', '.join(PANEL_RULES)}", parameter="rule")
    rule = PANEL_RULES[name]
    if members < rule.members:
        problem = f"{name} takes {rule.members} members or more, and there are {members}"
        raise Misuse(problem, parameter="rule")
    return rule


def combine(votes: Votes, rule: str = "median", seed: int = 0) -> PanelGrades:
    """One grade for each pair of the votes; a pair that no member graded raises `Misuse`."""
    combining = find_rule(rule, len(votes.members)).combine
    if not votes.graded.any(axis=1).all():
        raise Misuse("a pair without any grade cannot be given one by a panel")
    return combining(votes, seed)


@panel_rule("median", "the middle grade; between two middle ones, the grade nearest to both")
def median(votes: Votes, seed: int) -> PanelGrades:
    """The median of the grades; of an even number, the middle between the two middle ones."""
    middle = np.nanmedian(votes.numbers, axis=1)
    return _rounded(votes, middle, mean_shares(votes), seed)


@panel_rule("majority", "the grade that most members give")
def majority(votes: Votes, seed: int) -> PanelGrades:
    """The most frequent grade."""
    counts = votes.counts
    most = counts >= counts.max(axis=1, keepdims=True)
    values = settled(votes, most, seed)
    return PanelGrades(values, mean_shares(votes), votes.scale[values])


@panel_rule("mean", "the mean of the members' distributions, its expected grade rounded")
def mean(votes: Votes, seed: int) -> PanelGrades:
    """The mean of distributions; the grade is the one nearest to their expected grade."""
    shares = mean_shares(votes)
    return _rounded(votes, shares @ votes.scale, shares, seed)


@panel_rule(
    "dawid-skene",
    "the most probable grade where each member has a confusion matrix of its own",
    members=3,
)
def dawid_skene(votes: Votes, seed: int) -> PanelGrades:
    """The most probable grade by the model of Dawid and Skene (1979)."""
    shares = fit_dawid_skene(votes).shares
    most = shares >= shares.max(axis=1, keepdims=True) - NEAR
    return PanelGrades(settled(votes, most, seed), shares, shares @ votes.scale)


@panel_rule(
    "bias",
    "a mean of grades less each member's own bias, weighted by its precision, rounded",
    members=3,
)
def bias(votes: Votes, seed: int) -> PanelGrades:
    """The mean of the grades less each member's bias, by the members' precisions."""
    return _rounded(votes, fit_bias(votes).levels(votes), mean_shares(votes), seed)


def mean_shares(votes: Votes) -> Floats:
    """The mean of the distributions of the members that graded a pair, `(pairs, grades)`."""
    graded = votes.graded.sum(axis=1, keepdims=True)
    return np.asarray(votes.shares.sum(axis=1) / np.maximum(graded, 1), dtype=np.float64)


def _rounded(votes: Votes, level: Floats, shares: Floats, seed: int) -> PanelGrades:
    """The grade nearest to each pair's level; of two as near, the nearer to the grades' mean."""
    apart = np.abs(votes.scale[None, :] - level[:, None])
    nearest = apart <= apart.min(axis=1, keepdims=True) + NEAR
    return PanelGrades(settled(votes, nearest, seed), shares, level)


def settled(votes: Votes, claims: Flags, seed: int) -> Integers:
    """Of the grades with an equal claim to each pair, `(pairs, grades)`, the one that is taken."""
    means = np.nanmean(votes.numbers, axis=1)
    apart = np.where(claims, np.abs(votes.scale[None, :] - means[:, None]), np.inf)
    left = apart <= apart.min(axis=1, keepdims=True) + NEAR
    lowest = left.argmax(axis=1)
    highest = left.shape[1] - 1 - left[:, ::-1].argmax(axis=1)
    tied = np.flatnonzero(lowest != highest)
    values: Integers = lowest.astype(np.int64)
    heads = coins([votes.pairs[row] for row in tied.tolist()], seed)
    values[tied] = np.where(heads, highest[tied], lowest[tied])
    return values
