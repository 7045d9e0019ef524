"""What an assessor says of each pair, as one probability a grade, and how unsure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.agreement.align import AssessorLabels
from labeler.agreement.compare import RARE
from labeler.agreement.sources import (
    people_of_collection,
    people_of_file,
    source_of_collection,
    source_of_file,
    weights_of_people,
)
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.files import read_qrels
from labeler.trec.labels import number
from labeler.trec.pairs import NONE, PairColumns


@dataclass(frozen=True, eq=False)
class GradeShares:
    """A probability for each grade of each pair: `matrix` is `(pairs, grades)`, its rows sum to 1.

    A pair whose assessor gave a grade alone has 1 there; `distributed` says which pairs had more.
    `left_out` counts labels that are no grade, and grades that next to no pair has.
    """

    grades: Sequence[int]
    pairs: PairColumns[Any]
    matrix: Floats
    distributed: Floats
    left_out: int = 0

    @property
    def expected(self) -> Floats:
        """The expected grade of each pair."""
        return np.asarray(self.matrix @ np.array(self.grades, dtype=np.float64))

    @property
    def has_distributions(self) -> bool:
        """Whether any pair had more than a grade."""
        return bool(self.distributed.any())

    def of(self, rows: Flags) -> GradeShares:
        """The same of the pairs of a mask."""
        pairs = self.pairs.keep(rows)
        return GradeShares(self.grades, pairs, self.matrix[rows], self.distributed[rows])


def shares_of(source: AssessorLabels) -> GradeShares:
    """The probabilities of an assessor's grades; `BadInput` where it graded nothing."""
    labels = PairColumns.of(source.labels)
    graded = labels.replaced({label: _whole(label) for label in labels.coded[0]})
    if not graded.size:
        raise BadInput(f"{source.name}: no pair has a grade")
    distinct, counts = np.unique(graded.value, return_counts=True)
    usual = distinct[counts >= RARE * graded.size]
    used = set((usual if len(usual) else distinct).tolist())
    if (given := source.distributions) is not None:
        has_any = np.flatnonzero((given.shares > 0).any(axis=0)).tolist()
        used |= {given.grades[at] for at in has_any}
    # a rare grade beyond all others is a slip
    used |= {grade for grade in distinct.tolist() if min(used) <= grade <= max(used)}
    grades = tuple(sorted(used))
    rows = graded.keep(np.isin(graded.value, grades))
    matrix = (rows.value[:, None] == np.array(grades)).astype(np.float64)
    distributed = np.zeros(rows.size)
    if given is not None:
        distributed[given.put(rows, grades, matrix)] = 1.0
    return GradeShares(grades, rows, matrix, distributed, labels.size - rows.size)


def _whole(label: int | str) -> int | None:
    """A label as a whole grade; None where it is none."""
    value = number(label)
    return None if value is None or not float(value).is_integer() else int(value)


def combined(assessors: Sequence[GradeShares]) -> GradeShares:
    """The mean of several assessors' probabilities, of the pairs that all of them graded."""
    first = assessors[0]
    at = [first.pairs.rows_in(shares.pairs) for shares in assessors]
    common = np.all([rows != NONE for rows in at], axis=0)
    if not common.any():
        raise BadInput("the assessors have no graded pair in common")
    grades = tuple(sorted({grade for shares in assessors for grade in shares.grades}))
    pairs = first.pairs.keep(common)
    matrix, distributed = np.zeros((pairs.size, len(grades))), np.zeros(pairs.size)
    for shares, rows in zip(assessors, at, strict=True):
        columns = [grades.index(grade) for grade in shares.grades]
        matrix[:, columns] += shares.matrix[rows[common]] / len(assessors)
        distributed = np.maximum(distributed, shares.distributed[rows[common]])
    left_out = sum(shares.left_out for shares in assessors)
    return GradeShares(grades, pairs, matrix, distributed, left_out)


def spread(shares: GradeShares) -> Floats:
    """The standard deviation of each pair's grade, in grades."""
    grades = np.array(shares.grades, dtype=np.float64)
    variance = shares.matrix @ grades**2 - (shares.matrix @ grades) ** 2
    # those that are equal but for the order of their sums are equal
    return np.asarray(np.round(np.sqrt(np.maximum(variance, 0.0)), 9))


# What routing reads: assessors' grades of a pool, and people's grades of some of its pairs.


@dataclass(frozen=True, eq=False)
class RoutingSources:
    """Assessors' grades of the pairs that all of them graded, and people's.

    `grades` are those of the first assessor, which people's replace; `shares` the mean of all
    assessors' probabilities, in the same order; `looked_at` people's grades of any pairs.
    `human` are grades of pairs drawn by chance, with `weights` one over these chances where a
    sample was drawn.
    """

    names: Sequence[str]
    shares: GradeShares
    grades: Integers
    human_name: str = ""
    human: Qrels | None = None
    weights: Mapping[Pair, float] | None = None
    looked_at: Sequence[Qrels] = ()
    collection: Collection | None = None
    notes: Sequence[str] = ()

    @property
    def tells_disagreement(self) -> bool:
        """Whether there are distributions, or several assessors."""
        return self.shares.has_distributions or len(self.names) > 1


def open_routing(sources: Sequence[str], people: str | None) -> RoutingSources:
    """A collection and names of sets in it, or files of grades; `people` names human qrels."""
    if not sources:
        raise Misuse("expected grades to route by: a collection and a name in it, or a file")
    first, *names = sources
    notes: list[str] = []
    if Path(first).is_dir():
        if not names:
            raise Misuse(f"expected a name after {first}: whose grades are in doubt?")
        return _of_collection(open_collection(first), names, people, notes)
    each = [source_of_file(Path(name), name) for name in sources]
    human = None if people is None else people_of_file(Path(people), notes.append)
    looked_at = () if human is None else (human,)
    name = people or ""
    return RoutingSources(tuple(sources), *_as_one(each), name, human, None, looked_at, None, notes)


def _of_collection(
    collection: Collection, names: Sequence[str], people: str | None, notes: list[str]
) -> RoutingSources:
    each = [source_of_collection(collection, name) for name in names]
    name = people or ("human" if "human" in collection.qrels_names() else "")
    human = people_of_collection(collection, name, notes.append) if name else None
    weights = weights_of_people(collection, name) if name else None
    looked_at = _looked_at(collection, {name} - {""})
    return RoutingSources(
        tuple(names), *_as_one(each), name, human, weights, looked_at, collection, notes
    )


def _as_one(each: Sequence[AssessorLabels]) -> tuple[GradeShares, Integers]:
    """The shares of all as one's, and the grade that the first gives each pair."""
    first, *others = map(shares_of, each)
    shares = combined([first, *others])
    rows = shares.pairs.rows_in(first.pairs)
    return shares, np.array(first.grades)[first.matrix[rows].argmax(axis=1)]


def _looked_at(collection: Collection, names: set[str]) -> Sequence[Qrels]:
    """All qrels of people that the collection holds."""
    folder = collection.folder
    by_people = [n for n in collection.qrels_names() if people_path(folder, n).is_file()]
    return tuple(read_qrels(collection.qrels(name)) for name in {*by_people, *names})
