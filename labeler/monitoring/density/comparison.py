"""How far a week's queries are from those of the reference weeks, and from the evaluation set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.density.evaluation_set import EvaluationSet, Vectors
from labeler.monitoring.density.options import WEEKLY_LEVEL
from labeler.monitoring.density.searches import Week
from labeler.stats.blocks import BlockSums, SampleShift, SetShift, fixed_shift, shift
from labeler.stats.distances import BlockPoints, Distance, block_sums, sums_between
from labeler.stats.sides import BlockSides

BLOCKS_OF_A_WEEK = 56
"""Sessions are dealt into about so many blocks a week, eight a day."""


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Searches of some weeks, each in a block of a few sessions of one day.

    `first` says which blocks are of the week that is looked at, `day` which day each block is of,
    `people` how many sessions it has.
    """

    query: Integers
    block: Integers
    day: Integers
    first: Flags
    people: Floats

    @property
    def mass(self) -> Floats:
        """How many searches each block has."""
        return np.bincount(self.block, minlength=len(self.day)).astype(np.float64)

    def of_days(self) -> tuple[Integers, BlockSides | None]:
        """The day of each block, from 0, and days as blocks that may change sides.

        None where so few days have searches that no assignment of them could be told from chance.
        """
        days, which = np.unique(self.day, return_inverse=True)
        first = np.isin(days, self.day[self.first])
        sides = BlockSides(first, days % 7)
        enough = first.sum() >= 3 and (~first).sum() >= 3 and sides.smallest_p <= WEEKLY_LEVEL
        return which, sides if enough else None


def rows_of(week: Week, others: Sequence[Week], seed: int = 0) -> BlockRows:
    """A week's searches and those of others, in blocks of as many sessions each, at random."""
    weeks = [week, *others]
    counts = [len(np.unique(each.session)) for each in weeks]
    size = max(1.0, float(np.median(counts)) / BLOCKS_OF_A_WEEK)
    query, block, people = [], [], []
    day, first = list[int](), list[bool]()
    for number, each in enumerate(weeks):
        rng = np.random.default_rng((seed, each.monday.toordinal()))
        for this in np.unique(each.day):
            inside = np.flatnonzero(each.day == this)
            _, session = np.unique(each.session[inside], return_inverse=True)
            sessions = int(session.max()) + 1
            blocks = max(1, round(sessions / size))
            dealt = rng.permutation(sessions) % blocks
            query.append(each.query[inside])
            block.append(len(first) + dealt[session])
            people.append(np.bincount(dealt, minlength=blocks).astype(np.float64))
            day += [int(this)] * blocks
            first += [number == 0] * blocks
    columns = np.concatenate(query), np.concatenate(block), np.array(day), np.array(first)
    return BlockRows(*columns, np.concatenate(people))


@dataclass(frozen=True, slots=True)
class WeekDrift:
    """How far a week is from the reference weeks, by vectors and by features such as words.

    `features_p` is the smallest p of all features, which allows for their number. `by_days` says
    that whole days changed sides in the tests, so that days may differ among each other; else
    sessions did, or single searches where the log has no sessions.
    """

    shift: SampleShift
    features_p: float
    by_days: bool

    @property
    def p(self) -> float:
        """The p of both tests together (Bonferroni)."""
        return min(1.0, 2 * min(self.shift.p, self.features_p))

    @property
    def is_alarm(self) -> bool:
        """Whether chance would do so in one year of fifty-two weeks in twenty at most."""
        return self.p <= WEEKLY_LEVEL


@dataclass(frozen=True, slots=True)
class DriftTest:
    """What the test of a week rests on: the searches' blocks, and which of them may change sides.

    `block` is the block of each search and `day` of each day's blocks the larger one that moves.
    """

    rows: BlockRows
    sides: BlockSides
    moved: Integers
    by_days: bool

    @classmethod
    def of(cls, week: Week, reference: Sequence[Week], seed: int) -> DriftTest:
        """Days where there are enough of them, else blocks of sessions."""
        rows = rows_of(week, reference, seed)
        which, sides = rows.of_days()
        if sides is not None:
            return cls(rows, sides, which, by_days=True)
        every = np.arange(len(rows.first))
        return cls(rows, BlockSides(rows.first, seed=seed), every, by_days=False)

    @property
    def block(self) -> Integers:
        """The block of each search that moves as a whole."""
        moved: Integers = self.moved[self.rows.block]
        return moved

    def shift(self, compared: QueryDistances) -> SampleShift:
        """The distance of the week, with its interval and test."""
        sums = compared.of_days(self.rows) if self.by_days else compared.of_blocks(self.rows)
        return shift(sums, self.sides, WEEKLY_LEVEL / 2)


@dataclass(eq=False)
class QueryDistances:
    """The distances of searches by pairs of blocks; those of two days are computed once."""

    vectors: Vectors
    distance: Distance
    _days: dict[int, BlockPoints] = field(default_factory=dict)
    _sums: dict[tuple[int, int], float] = field(default_factory=dict)

    def of_blocks(self, rows: BlockRows) -> BlockSums:
        """By pairs of blocks of sessions."""
        return block_sums(*self._points(rows.query, rows.block), self.distance)

    def of_days(self, rows: BlockRows) -> BlockSums:
        """By pairs of days, in their order."""
        days = np.unique(rows.day).tolist()
        day = rows.day[rows.block]
        for each in days:
            if each not in self._days:
                query = rows.query[day == each]
                self._days[each] = self._points(query, np.zeros(len(query), dtype=np.int64))
        for each in days:
            missing = [other for other in days if (each, other) not in self._sums]
            if missing:
                self._add(each, missing)
        sums = np.array([[self._sums[a, b] for b in days] for a in days])
        return BlockSums(sums, np.array([float(self._days[each].mass.sum()) for each in days]))

    def _add(self, day: int, others: Sequence[int]) -> None:
        """The sums of a day with some days, itself too."""
        points = [self._days[other] for other in others]
        numbers = [np.full(len(p.mass), n) for n, p in enumerate(points)]
        joined = BlockPoints(
            np.concatenate([p.points for p in points]),
            np.concatenate([p.mass for p in points]),
            np.concatenate(numbers),
        )
        sums = sums_between(self._days[day], joined, self.distance)[0].tolist()
        for other, value in zip(others, sums, strict=True):
            self._sums[day, other] = self._sums[other, day] = value

    def _points(self, query: Integers, block: Integers) -> BlockPoints:
        """Equal queries of a block are taken at once."""
        count = len(self.vectors)
        key, mass = np.unique(block * count + query, return_counts=True)
        points = np.ascontiguousarray(self.vectors[key % count])
        return BlockPoints(points, mass.astype(np.float64), key // count)


def from_set(
    week: Week, vectors: Vectors, own: EvaluationSet, distance: Distance, seed: int
) -> SetShift:
    """How far a week's queries are from the evaluation's, which count by their weights."""
    rows, n = rows_of(week, [], seed), len(own.weights)
    key, mass = np.unique(rows.block * len(vectors) + rows.query, return_counts=True)
    points = np.concatenate([own.vectors, vectors[key % len(vectors)]])
    block = np.concatenate([np.arange(n), n + key // len(vectors)])
    sums = block_sums(points, np.concatenate([own.weights, mass]), block, distance)
    return fixed_shift(sums, np.arange(n + len(rows.day)) < n, seed, rounds=2000)
