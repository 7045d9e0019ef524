"""Grades of several assessors side by side: pairs matched up, and every pair left out counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers, Places
from labeler.collection.judged_set import Distributions
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.options import GRADE, option
from labeler.report.result import Hidden
from labeler.trec.labels import number
from labeler.trec.pairs import NONE, PairColumns, joined_pairs, taken

PEOPLE = "people"
"""What those are called whose grades an assessor's stand beside, where nobody names them."""
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale where nobody names one and human grades lie within it: TREC's, and our prompts'."""

Label = int | str
Labels = Mapping[str, Mapping[str, Label]]
"""Query id to document id to a label as its file has it: `2`, `"2"`, `"2.5"`, `"ERROR"`."""
PairWeights = Mapping[Pair, float] | None
"""One over the chance of each pair to be drawn; `None` where none was."""


@dataclass(frozen=True)
class AssessorLabels:
    """An assessor's labels, a status for each pair on which it has none, and what to call it.

    `human` is what those are called whose grades stand beside. Where they are known, its `model`,
    how sure it was, and what its grades mean stand there, too; `notes` say what its files held
    beside labels, as lines that stand there twice.
    """

    labels: Labels
    failures: Mapping[Pair, str] = field(default_factory=dict)
    name: str = "the other"
    human: str = PEOPLE
    model: str = ""
    distributions: Distributions | None = None
    scale_names: Mapping[int, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


# The grades of any number of assessors side by side.

UNGRADED = -1
AT_ONCE = 1 << 16
"""Pairs that are put together at a time."""


@dataclass(frozen=True, eq=False)
class GradeMatrix:
    """`values[i, a]` is the place in `grades` of assessor `a`'s grade of pair `i`, or `UNGRADED`.

    `weight` is one over the pair's inclusion probability, `None` where every pair of the pool was
    graded. `shares` hold, `(pairs, assessors, grades)`, how probable each assessor holds each
    grade: its own distribution where it gave one, else all of it on its grade, and zeros where it
    has none. `None` stands for assessors that gave none.
    """

    assessors: Sequence[str]
    grades: Sequence[int]
    pairs: PairColumns[Any]
    values: Places
    weight: Floats | None = None
    shares: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Each pair's weight, 1 where none is known."""
        return np.ones(len(self.values)) if self.weight is None else self.weight

    @property
    def graded(self) -> Flags:
        """Which assessors have a grade of which pairs, `(pairs, assessors)`."""
        return np.asarray(self.values != UNGRADED)

    @property
    def scale(self) -> Floats:
        """The grades as numbers, `(grades,)`."""
        return np.array(self.grades, dtype=np.float64)

    @property
    def numbers(self) -> Floats:
        """The assessors' grades as numbers, `(pairs, assessors)`; `nan` where there is none."""
        return np.where(self.graded, self.scale[self.values], np.nan)

    @property
    def counts(self) -> Floats:
        """How many assessors gave each grade to a pair, `(pairs, grades)`."""
        each = [(self.values == at).sum(axis=1) for at in range(len(self.grades))]
        return np.stack(each, axis=1).astype(np.float64)

    @property
    def mean_shares(self) -> Floats:
        """The mean of the distributions of the assessors that graded a pair, `(pairs, grades)`."""
        whole = self.counts if self.shares is None else self.shares.sum(axis=1)
        return np.asarray(whole / np.maximum(self.graded.sum(axis=1, keepdims=True), 1))

    @property
    def has_distributions(self) -> bool:
        """Whether any assessor holds several grades of a pair for possible."""
        return self.shares is not None and bool(((self.shares > 0) & (self.shares < 1)).any())

    def with_distributions(self, given: Sequence[Distributions | None]) -> GradeMatrix:
        """The same with what each assessor gave beside its grades, where any did."""
        if all(each is None for each in given):
            return self
        shares: Floats = (self.values[:, :, None] == np.arange(len(self.grades))).astype(float)
        for column, each in enumerate(given):
            if each is not None:
                each.put(self.pairs, self.grades, shares[:, column])
        return replace(self, shares=shares)

    def of(self, *names: str) -> GradeMatrix:
        """The columns of some assessors, on the pairs that at least two of them graded."""
        columns = [self.assessors.index(name) for name in names]
        part = replace(self, assessors=tuple(names), values=self.values[:, columns])
        return part.graded_by(min(2, len(columns)))

    def graded_by(self, assessors: int) -> GradeMatrix:
        """The pairs that at least `assessors` assessors graded, and their queries."""
        return self.keep(self.graded.sum(axis=1) >= assessors)

    def among(self, pairs: PairColumns[Any]) -> GradeMatrix:
        """The same of some pairs alone."""
        return self.keep(self.pairs.rows_in(pairs) != NONE)

    def keep(self, rows: Flags) -> GradeMatrix:
        """The pairs of a mask, and their queries."""
        return replace(self._of_rows(rows), pairs=self.pairs.keep(rows))

    def beside(self, pairs: PairColumns[Any]) -> Floats:
        """The grades as numbers in the order of these pairs; `nan` where there is none."""
        rows = pairs.rows_in(self.pairs)
        numbers = np.full((pairs.size, len(self.assessors)), np.nan)
        numbers[rows != NONE] = self._of_rows(rows[rows != NONE]).numbers
        return numbers

    def tables(self, first: int = 0, second: int = 1) -> Floats:
        """`(queries, k, k)` counts, or weights, of two assessors' grades, the first's in rows."""
        graded = self.graded[:, [first, second]].all(axis=1)
        places = (self.values[graded, first], self.values[graded, second])
        weight = None if self.weight is None else self.weight[graded]
        shape = len(self.pairs.queries), len(self.grades)
        return tables_of(self.pairs.query[graded], *places, shape, weight)

    def blocks(self) -> Iterator[GradeMatrix]:
        """Some thousand pairs at a time, `pairs` being all of them."""
        for first in range(0, len(self.values), AT_ONCE):
            yield self._of_rows(slice(first, first + AT_ONCE))

    def _of_rows(self, rows: Flags | Places | slice) -> GradeMatrix:
        return replace(
            self,
            values=self.values[rows],
            weight=None if self.weight is None else self.weight[rows],
            shares=None if self.shares is None else self.shares[rows],
        )


def tables_of(
    query: Integers | Places,
    first: Integers | Places,
    second: Integers | Places,
    shape: tuple[int, int],
    weight: Floats | None = None,
) -> Floats:
    """`(queries, k, k)` counts, or weights, of pairs of grades, the first of each in rows.

    `shape` is the numbers of queries and of grades.
    """
    queries, k = shape
    # a number for each cell of all queries' tables, counted at once
    cell = (query.astype(np.int64) * k + first) * k + second
    return np.bincount(cell, weight, queries * k * k).astype(np.float64).reshape(queries, k, k)


def grade_matrix(
    assessors: Mapping[str, Mapping[str, Mapping[str, int | None]]],
    grades: Sequence[int],
    weights: PairWeights = None,
    *,
    fewest: int = 1,
    by_id: bool = False,
) -> GradeMatrix:
    """The grades of several assessors on every pair that `fewest` of them graded in the scale.

    The pairs are in the order of the first assessors' or, where it is asked for, of their ids.
    With `weights` of a sample, the pairs of the sample alone, which stand for the pool.
    """
    sets = [PairColumns.of(qrels, np.int64) for qrels in assessors.values()]
    drawn = [] if weights is None else [PairColumns.of_pairs(weights, np.float64)]
    joined = joined_pairs([*sets, *drawn])
    each = [joined.values(at, _places(own, grades), UNGRADED) for at, own in enumerate(sets)]
    values = np.stack(each, axis=1)
    mask, weight = (values != UNGRADED).sum(axis=1) >= fewest, None
    for own in drawn:
        weight = joined.values(len(sets), own.value, np.nan)
        mask &= ~np.isnan(weight)
    rows = joined.by_id(mask) if by_id else np.flatnonzero(mask)
    weight = None if weight is None else weight[rows]
    return GradeMatrix(tuple(assessors), tuple(grades), joined.columns(rows), values[rows], weight)


def _places(own: PairColumns[Any], grades: Sequence[int]) -> Places:
    """The place of each pair's grade among `grades`, `UNGRADED` of another one."""
    distinct, code = own.coded
    places = [grades.index(grade) if grade in grades else UNGRADED for grade in distinct]
    return np.array(places, dtype=np.int16)[code]


def drawn_weights(pairs: PairColumns[Any], weights: PairWeights) -> Floats:
    """One over the chance of each pair to be drawn: 1 where none was, `nan` of one not drawn."""
    if weights is None:
        return np.ones(pairs.size)
    return pairs.beside(PairColumns.of_pairs(weights, np.float64), np.nan)


def check_named_once(names: Sequence[str]) -> None:
    """`Misuse` of one of several sets of grades that is named twice: it agrees with itself."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise Misuse(f"{twice[0]} is named twice, and agrees with itself; name each once")


GRADES = "Reading grades"
_SCALE = re.compile(r"(-?[0-9]{1,9}):(-?[0-9]{1,9})")


def parse_scale(text: str | None) -> Sequence[int] | None:
    """`0:3` as `(0, 1, 2, 3)`."""
    if text is None:
        return None
    match = _SCALE.fullmatch(text.strip())
    if not match or int(match[1]) >= int(match[2]) or int(match[2]) - int(match[1]) >= 50:
        raise Misuse(
            f"expected LOW:HIGH, such as 0:3 (at most 50 grades); got {text!r:.80}",
            parameter="scale",
        )
    return tuple(range(int(match[1]), int(match[2]) + 1))


_PAIR = re.compile(r"(-?[0-9]{1,9})=(-?[0-9]{1,9})")


def parse_map(texts: Iterable[str]) -> dict[int, int]:
    """`1=0,2=1`, in one text or several, as a map of grades."""
    joined = ",".join(texts)
    pairs = [_PAIR.fullmatch(part.strip()) for part in joined.split(",")]
    if not all(pairs):
        raise Misuse(f"expected a map of grades such as 1=0,2=1; got {joined!r:.80}")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


@dataclass(frozen=True)
class Rules:
    """How grades are read: the scale (`scale_of` says which where `None`), maps, a cut.

    In this order: human grades and the assessor's integers are mapped, then both sides become 0
    below `cut` and 1 from there on.
    """

    scale: Sequence[int] | None = option(
        None,
        "The grades, as LOW:HIGH; else 0:3, or the human range beyond it.",
        panel=GRADES,
        read=parse_scale,
    )
    map_human: Mapping[int, int] = option(
        dict, "Rename human grades, as 1=0,2=1.", panel=GRADES, read=parse_map, several=True
    )
    map_assessor: Mapping[int, int] = option(
        dict, "The same of the other's.", panel=GRADES, read=parse_map, several=True
    )
    cut: int | None = option(
        None, "Compare only whether a grade is at least this one.", GRADE, panel=GRADES, rare=True
    )


@dataclass(frozen=True)
class LeftOut:
    """The pairs that no statistic counts, by the reason.

    `outside_scale` counts labels that are no grade of the scale, as they stand in the file;
    `missing` counts, by human grade, the pairs that people graded and the assessor did not. Where
    people graded a sample, they skipped some, and others were `not_drawn`; none is `only_other`.
    """

    only_people: int
    only_other: int
    unjudged_by_people: int
    outside_scale: Mapping[str, int]
    failures: Mapping[str, int]
    missing: Hidden[Floats]
    skipped_by_people: int = 0
    not_drawn: int = 0


@dataclass(frozen=True, eq=False)
class Aligned:
    """The pairs that both sides graded, people in the first column, and what was left out.

    `human_grades` are those that occur; `labels` counts how often each of the assessor's stands
    beside a human grade, by first appearance.
    """

    pairs: GradeMatrix
    left_out: LeftOut
    reader: GradeReader
    human_grades: Sequence[int]
    labels: Counter[Label]


def scale_of(human: Qrels, rules: Rules) -> Sequence[int]:
    """The rules' scale; else 0 to 3 where people's grades lie within it, else people's range.

    People who happen to use no 3 do not make an assessor's 3 any less of a grade.
    Negative grades mean "in the pool, not judged" unless the named scale holds them.
    """
    if rules.scale is not None:
        return tuple(rules.scale)
    grades = PairColumns.of(human, np.int64).coded[0]
    used = {rules.map_human.get(grade, grade) for grade in grades if grade >= 0}
    if not used:
        raise BadInput("the human qrels hold no grade of 0 or more, so there is nothing to compare")
    return usual_scale(used)


def usual_scale(used: Set[int]) -> Sequence[int]:
    """0 to 3 where these grades lie within it, else from the lowest of them to the highest."""
    low, high = min(used), max(used)
    if USUAL[0] <= low and high <= USUAL[-1]:
        return USUAL
    if high - low >= MOST_GRADES:
        many = f"grades run from {low} to {high}, which are more than {MOST_GRADES}"
        raise Misuse(f"{many}; map them to fewer", parameter="maps")
    return tuple(range(low, high + 1))


@dataclass(frozen=True)
class GradeReader:
    """How rules read grades on a `scale`: with a cut, as 0 below it and 1 from there on."""

    scale: Sequence[int]
    rules: Rules

    @classmethod
    def of(cls, human: Qrels, rules: Rules) -> GradeReader:
        """That of an assessor's labels beside human grades; `Misuse` of a cut that none is."""
        scale, cut = scale_of(human, rules), rules.cut
        if cut is not None and cut not in scale[1:]:
            cuts = ", ".join(map(str, scale[1:]))
            raise Misuse(f"cannot cut at {cut}; this scale's cuts: {cuts}", parameter="cut")
        return cls(scale, rules)

    @property
    def grades(self) -> Sequence[int]:
        """The grades that are compared."""
        return self.scale if self.rules.cut is None else (0, 1)

    def of_human(self, human: Qrels) -> PairColumns[int]:
        """The human grades as they are read; those left unjudged are left out."""
        people = PairColumns.of(human, np.int64)
        return people.replaced({grade: self.human(grade) for grade in people.coded[0]})

    def of_assessor(self, labels: Labels) -> PairColumns[int]:
        """The assessor's usable grades as they are read."""
        given = PairColumns.of(labels)
        return given.replaced({label: self.assessor(label) for label in given.coded[0]})

    def human(self, grade: int) -> int | None:
        """A human grade as it is read; None where the pair is left unjudged."""
        mapped = self.rules.map_human.get(grade, grade)
        if mapped >= 0 and mapped not in self.scale:
            raise BadInput(
                f"the human qrels hold the grade {grade}, outside the scale "
                f"{self.scale[0]}:{self.scale[-1]}"
            )
        return self._cut(mapped)

    def assessor(self, label: Label) -> int | None:
        """An assessor's label as it is read; None where it is no grade of the scale."""
        value = self.number(label)
        return self._cut(int(value)) if value is not None and value.is_integer() else None

    def number(self, label: Label) -> float | None:
        """A label as a number, mapped; None where it is none."""
        value = number(label)
        if value is None or not value.is_integer():
            return value
        return float(self.rules.map_assessor.get(int(value), int(value)))

    def _cut(self, grade: int) -> int | None:
        if grade not in self.scale:
            return None
        return grade if self.rules.cut is None else int(grade >= self.rules.cut)

    def places(self, read: Iterable[int | None]) -> Integers:
        """The places of grades in the scale, -1 for none, and one more -1 for what has no value."""
        places = [NONE if grade is None else self.grades.index(grade) for grade in read]
        return np.array([*places, NONE], dtype=np.int64)


def align(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    weights: PairWeights = None,
) -> Aligned:
    """Pair the grades up; `weights` are one over the inclusion probabilities of sampled pairs."""
    people, given = PairColumns.of(human, np.int64), PairColumns.of(assessor.labels)
    (grades, grade), (labels, code) = people.coded, given.coded
    # of each pair with a human grade, the place of the label beside it
    label = taken(code, people.rows_in(given), NONE)
    reader = GradeReader.of(people, rules)
    # the grades' places in the scale, -1 where there is none
    human_at = reader.places(map(reader.human, grades))[grade]
    assessor_at = reader.places(map(reader.assessor, labels))[label]
    judged, has_grade = human_at >= 0, assessor_at >= 0
    graded, ungraded, has_label = judged & has_grade, judged & ~has_grade, label != NONE
    weight = None if weights is None else np.nan_to_num(drawn_weights(people, weights))
    failed = PairColumns.of_pairs(assessor.failures)
    status = people.beside(failed, NONE) if failed.size else np.full(people.size, NONE)
    status[has_label | ~judged] = NONE
    mass = None if weight is None else weight[ungraded]
    left_out = LeftOut(
        int((ungraded & ~has_label & (status == NONE)).sum()),
        given.size - int(has_label.sum()),
        int((~judged).sum()),
        dict(_counted([*map(str, labels)], label[ungraded & has_label]).most_common()),
        dict(_counted(failed.labels or (), status[status != NONE]).most_common()),
        np.bincount(human_at[ungraded], mass, len(reader.grades)).astype(np.float64),
    )
    pairs = GradeMatrix(
        (assessor.human, assessor.name),
        reader.grades,
        people.keep(graded),
        np.stack([human_at, assessor_at], axis=1)[graded],
        None if weight is None else weight[graded],
    )
    if weights is not None:  # of pairs without a human grade, those never drawn and those skipped
        drawn = PairColumns.of_pairs(weights, np.float64)
        alone = (given.rows_in(people) == NONE) & (given.rows_in(drawn) == NONE)
        skipped = int((drawn.rows_in(people) == NONE).sum())
        left_out = replace(
            left_out, only_other=0, skipped_by_people=skipped, not_drawn=int(alone.sum())
        )
    return Aligned(pairs, left_out, reader, grades, _counted(labels, label[has_label]))


def _counted(values: Sequence[Any], places: Integers) -> Counter[Any]:
    """How often each value stands at some places, by first appearance."""
    distinct, first, times = np.unique(places, return_index=True, return_counts=True)
    counts = Counter[Any]()
    for at in np.argsort(first):
        counts[values[distinct[at]]] += int(times[at])
    return counts
