"""How far a week's queries are from those of the reference weeks, and from the evaluation set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.density.searches import (
    WEEKLY_LEVEL,
    EvaluationSet,
    SearchLog,
    Vectors,
    Week,
)
from labeler.queries.kinds import is_question, kind_of
from labeler.stats.blocks import (
    BlockShare,
    BlockSides,
    BlockSums,
    SampleShift,
    Separation,
    SetShift,
    SharesMoved,
    block_share,
    fixed_shift,
    separation,
    shares_moved,
    shift,
)
from labeler.stats.distances import BlockPoints, Distance, block_sums, sums_between
from labeler.stats.regression import linear_scores, logistic
from labeler.stats.shares import difference_interval
from labeler.stats.student import SIGNIFICANT
from labeler.text.languages import NAMES, language_of
from labeler.text.terms import term_of, words_to_stem

# Features of queries that people name changes by: words, length, form and language.

_LENGTHS = ((1, 1), (2, 2), (3, 4), (5, 7), (8, 10_000))

PeopleOf = Callable[[Integers], int]
"""How many people searched for any of some texts."""

FEWEST_SEARCHES = 5
"""A word of fewer searches could not be told to have moved."""

MOST_TERMS = 300


@dataclass(frozen=True, eq=False)
class Features:
    """Features of texts, `(texts, features)` of zeros and ones, with their kinds and names."""

    values: Floats
    names: list[tuple[str, str]]

    @classmethod
    def of(
        cls, texts: Sequence[str], times: Floats, min_count: int, people_of: PeopleOf
    ) -> Features:
        """Of texts that were searched for so many times; words of fewer people are left out."""
        columns: list[Floats] = []
        names: list[tuple[str, str]] = []
        for kind, name, has in _simple(texts):
            column = np.array([float(has(text)) for text in texts])
            if 0 < column @ times < times.sum():
                columns.append(column)
                names.append((kind, name))
        for term, word, inside in _terms(texts, times, min_count, people_of):
            column = np.zeros(len(texts))
            column[inside] = 1.0
            columns.append(column)
            names.append(("word", word or term))
        values = np.column_stack(columns) if columns else np.zeros((len(texts), 0))
        return cls(values, names)


def _simple(texts: Sequence[str]) -> Iterable[tuple[str, str, Callable[[str], bool]]]:
    """Length, form and language: what each is called, and which texts have it."""
    for low, high in _LENGTHS:
        name = f"{low} word" if high == 1 else f"{low} words" if low == high else f"{low} to {high}"
        name = "8 words or more" if high > 100 else name if "word" in name else f"{name} words"
        yield "length", name, lambda text, lo=low, hi=high: lo <= len(text.split()) <= hi  # type: ignore[misc]
    yield "form", "question", is_question
    for kind in ("how-to", "comparative"):
        yield "form", kind, lambda text, kind=kind: kind_of(text) == kind  # type: ignore[misc]
    yield "form", "with digits", lambda text: any(map(str.isdigit, text))
    languages = {text: language_of(text) for text in texts}
    for code in sorted({code for code in languages.values() if code}):
        yield "language", NAMES[code], lambda text, code=code: languages[text] == code  # type: ignore[misc]


def _terms(
    texts: Sequence[str], times: Floats, min_count: int, people_of: PeopleOf
) -> list[tuple[str, str, list[int]]]:
    """The terms with the most searches, each with its usual form and the texts that hold it."""
    inside: dict[str, list[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for index, text in enumerate(texts):
        for word in dict.fromkeys(words_to_stem(text)):
            term = term_of(word)
            if not (held := inside.setdefault(term, [])) or held[-1] != index:
                held.append(index)
            forms.setdefault(term, Counter())[word] += max(1, int(times[index]))
    counts = {term: float(times[shown].sum()) for term, shown in inside.items()}
    often = [t for t in counts if counts[t] >= FEWEST_SEARCHES and not _is_long_number(t)]
    ordered = sorted(often, key=lambda t: (-counts[t], t))
    shared = (t for t in ordered if people_of(np.array(inside[t])) >= min_count)
    ordered = list(islice(shared, MOST_TERMS))
    return [(t, forms[t].most_common(1)[0][0], inside[t]) for t in ordered]


def _is_long_number(term: str) -> bool:
    return term.isdigit() and len(term) > 4


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


# What changed in queries: a classifier that tells two samples apart, and the names of features.
#
# A classifier learns on half of the blocks to tell the samples apart, and is asked about the other
# half (a classifier two-sample test; Lopez-Paz and Oquab 2017, ICLR). What it tells apart beyond
# chance has changed. Which features have is tested for each, allowing for all of them.

MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """The share of searches with a feature, before and now, and how sure it is that it moved.

    `kind` is `word`, `length`, `form` or `language`. `low` and `high` are the ends of the interval
    of the difference; `p` allows for all features that were looked at.
    """

    kind: str
    name: str
    before: BlockShare
    now: BlockShare
    low: float
    high: float
    p: float

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        shares = {"before": list(self.before), "now": list(self.now)}
        return {
            "kind": self.kind,
            "name": self.name,
            **shares,
            "difference": [self.now.value - self.before.value, self.low, self.high],
            "p": self.p,
        }


@dataclass(frozen=True, slots=True)
class Changes:
    """What tells a week from the reference weeks.

    `area` is that under the ROC curve of the classifier, over queries that it has not learnt from:
    .5 where it cannot tell. At least `changed` of the searches are other ones than before: the
    share that it takes for new among new ones, less that among old ones. `named` are the features
    that moved, the surest first; `features` counts all that were looked at.
    """

    area: Separation
    changed: tuple[float, float, float]
    named: tuple[FeatureChange, ...]
    features: int

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "area": self.area._asdict(),
            "changed": list(self.changed),
            "features": self.features,
            "named": [change.as_json() for change in self.named],
        }


@dataclass(frozen=True, eq=False)
class MovedFeatures:
    """Features of the searches of a test, and which of them moved, `(features,)`."""

    test: DriftTest
    features: Features
    query: Integers
    counts: Floats
    moved: SharesMoved

    @classmethod
    def of(cls, test: DriftTest, log: SearchLog, min_count: int) -> MovedFeatures:
        """The features of the searches of a log that are in the test."""
        rows, blocks = test.rows, len(test.sides.first)
        shown, query = np.unique(rows.query, return_inverse=True)
        times = np.bincount(query).astype(np.float64)
        texts = [log.texts[number] for number in shown]
        features = Features.of(texts, times, min_count, lambda some: log.people_of(shown[some]))
        counts = _counts(features, rows.block, query, len(rows.day))
        member = np.zeros((blocks, len(rows.day)))
        member[test.moved, np.arange(len(rows.day))] = 1.0
        moved = shares_moved(member @ counts, member @ rows.mass, test.sides)
        return cls(test, features, query, counts, moved)

    @property
    def p(self) -> float:
        """The smallest p of all features."""
        return float(self.moved.p.min(initial=1.0))

    def changes(self) -> Changes:
        """What tells the week of the test from its reference weeks."""
        test, shown = self.test, len(self.features.values)
        cell, count = np.unique(test.block * shown + self.query, return_counts=True)
        searches = _Searches(cell // shown, cell % shown, count.astype(np.float64))
        area, changed = _told_apart(searches, self.features.values, test)
        return Changes(area, changed, self._named(), len(self.features.names))

    def _named(self) -> tuple[FeatureChange, ...]:
        """The features that moved, with intervals over sessions."""
        moved, rows = self.moved, self.test.rows
        sure = [index for index in range(len(moved.p)) if moved.p[index] <= SIGNIFICANT]
        apart = np.abs(moved.first - moved.second)
        sure.sort(key=lambda index: (moved.p[index], -apart[index]))
        sides = [(side, float(rows.people[side].sum())) for side in (rows.first, ~rows.first)]
        named = []
        for index in sure[:MOST_NAMED]:
            now, before = (
                block_share(self.counts[side, index], rows.mass[side], people)
                for side, people in sides
            )
            low, high = difference_interval(now, before)
            kind, name = self.features.names[index]
            named.append(FeatureChange(kind, name, before, now, low, high, float(moved.p[index])))
        return tuple(named)


@dataclass(frozen=True, eq=False)
class _Searches:
    """Searches of one query in one block, so many of each."""

    block: Integers
    query: Integers
    count: Floats


def _counts(features: Features, block: Integers, query: Integers, blocks: int) -> Floats:
    """How many searches of each block have each feature, `(blocks, features)`."""
    texts = len(features.values)
    cell, count = np.unique(block * texts + query, return_counts=True)
    counts = np.zeros((blocks, len(features.names)))
    np.add.at(counts, cell // texts, features.values[cell % texts] * count[:, None])
    return counts


def _told_apart(
    searches: _Searches, features: Floats, test: DriftTest
) -> tuple[Separation, tuple[float, float, float]]:
    """How well each half of the blocks is told apart by what is learnt from the other half."""
    sides = test.sides
    mass = np.bincount(test.block, minlength=len(sides.first)).astype(np.float64)
    halves = _halves(sides)
    areas, taken = [], np.zeros(len(mass))
    for learnt in (halves, ~halves):
        scores = _scored(searches, features, sides, learnt)
        inside = ~learnt[searches.block]
        at, blocks = np.flatnonzero(~learnt), searches.block[inside]
        numbered = np.searchsorted(at, blocks)
        strata = None if sides.strata is None else sides.strata[at]
        held_out = BlockSides(sides.first[at], strata, sides.seed)
        query, count = searches.query[inside], searches.count[inside]
        areas.append(separation(scores[query], count, numbered, held_out))
        np.add.at(taken, blocks, count * (scores[query] > 0))
    now, before = (block_share(taken[side], mass[side]) for side in (sides.first, ~sides.first))
    low, high = difference_interval(now, before)
    return _joined(areas), (now.value - before.value, low, high)


def _joined(areas: Sequence[Separation]) -> Separation:
    """The mean of two halves' areas; p is twice the smaller one (Bonferroni)."""
    area = sum(each.area for each in areas) / len(areas)
    p = min(1.0, len(areas) * min(each.p for each in areas))
    variance = 0.0
    for each in areas:
        if each.low is None or each.high is None:
            return Separation(area, None, None, p)
        variance += ((each.high - each.low) / 2 / len(areas)) ** 2
    half = float(np.sqrt(variance))
    return Separation(area, max(0.0, area - half), min(1.0, area + half), p)


def _halves(sides: BlockSides) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Every other block of either sample, by strata, so that both halves have all of them."""
    strata = np.zeros(len(sides.first)) if sides.strata is None else sides.strata
    order = np.lexsort((strata, sides.first))
    half = np.zeros(len(order), dtype=bool)
    half[order] = np.arange(len(order)) % 2 == 0
    return half


def _scored(
    searches: _Searches,
    features: Floats,
    sides: BlockSides,
    learnt: np.ndarray[Any, np.dtype[np.bool_]],
) -> Floats:
    """The score of each query, by what is learnt from some blocks; both samples weigh alike."""
    inside = learnt[searches.block]
    is_new = sides.first[searches.block[inside]]
    key, row = np.unique(searches.query[inside] * 2 + is_new, return_inverse=True)
    weights = np.bincount(row, weights=searches.count[inside]).astype(np.float64)
    outcome = (key % 2).astype(np.float64)
    total = weights.sum()
    for side in (0.0, 1.0):
        weights[outcome == side] *= total / 2 / max(float(weights[outcome == side].sum()), 1.0)
    return linear_scores(features, logistic(features[key // 2], outcome, weights, ridge=3.0))
