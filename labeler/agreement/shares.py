"""What an assessor says of each pair, as one probability a grade, and how unsure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from labeler.agreement.align import RARE
from labeler.agreement.calibration import Distributions
from labeler.agreement.sources import (
    AssessorSource,
    people_of_collection,
    people_of_file,
    source_of_collection,
    source_of_file,
    weights_of_people,
)
from labeler.arrays import Floats, Integers
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.labels import number
from labeler.trec.qrels import read_qrels


@dataclass(frozen=True, eq=False)
class GradeShares:
    """A probability for each grade of each pair: `matrix` is `(pairs, grades)`, its rows sum to 1.

    A pair whose assessor gave a grade alone has 1 there; `distributed` says which pairs had more.
    `left_out` counts labels that are no grade, and grades that next to no pair has.
    """

    grades: tuple[int, ...]
    pairs: tuple[Pair, ...]
    matrix: Floats
    distributed: Floats
    left_out: int = 0

    @cached_property
    def row(self) -> dict[Pair, int]:
        """In which row each pair stands."""
        return {pair: row for row, pair in enumerate(self.pairs)}

    @property
    def expected(self) -> Floats:
        """The expected grade of each pair."""
        return np.asarray(self.matrix @ np.array(self.grades, dtype=np.float64))

    @property
    def has_distributions(self) -> bool:
        """Whether any pair had more than a grade."""
        return bool(self.distributed.any())

    def of(self, rows: Integers) -> GradeShares:
        """The same of some rows."""
        pairs = tuple(self.pairs[row] for row in rows)
        return GradeShares(self.grades, pairs, self.matrix[rows], self.distributed[rows])


def shares_of(source: AssessorSource) -> GradeShares:
    """The probabilities of an assessor's grades; `BadInput` where it graded nothing."""
    graded, left_out = _graded(source)
    if not graded:
        raise BadInput(f"{source.name}: no pair has a grade")
    counts = Counter(graded.values())
    rare = {grade for grade, count in counts.items() if count < RARE * len(graded)}
    used = {grade for grade in counts if grade not in rare} or set(counts)
    for shares in source.distributions.values():
        used |= {grade for grade, share in shares.items() if share > 0}
    slips = {grade for grade in rare if not min(used) <= grade <= max(used)}
    rows = {pair: grade for pair, grade in graded.items() if grade not in slips}
    grades = tuple(sorted(used | (rare - slips)))
    matrix, distributed = _matrix(rows, source.distributions, grades)
    return GradeShares(grades, tuple(rows), matrix, distributed, left_out + len(graded) - len(rows))


def _graded(source: AssessorSource) -> tuple[dict[Pair, int], int]:
    """The pairs with a whole grade, and how many labels are none."""
    graded: dict[Pair, int] = {}
    left_out = 0
    for query_id, row in source.judged.labels.items():
        for doc_id, label in row.items():
            value = number(label)
            if value is None or not float(value).is_integer():
                left_out += 1
            else:
                graded[Pair(query_id, doc_id)] = int(value)
    return graded, left_out


def _matrix(
    graded: Mapping[Pair, int], distributions: Distributions, grades: tuple[int, ...]
) -> tuple[Floats, Floats]:
    column = {grade: index for index, grade in enumerate(grades)}
    matrix = np.zeros((len(graded), len(grades)))
    distributed = np.zeros(len(graded))
    for row, (pair, grade) in enumerate(graded.items()):
        shares = distributions.get(pair, {})
        whole = sum(shares.values())
        if whole <= 0:
            matrix[row, column[grade]] = 1.0
            continue
        distributed[row] = 1.0
        for other, share in shares.items():
            if share > 0:
                matrix[row, column[other]] += share / whole
    return matrix, distributed


def combined(assessors: Sequence[GradeShares]) -> GradeShares:
    """The mean of several assessors' probabilities, of the pairs that all of them graded."""
    if len(assessors) == 1:
        return assessors[0]
    first, *rest = assessors
    pairs = [pair for pair in first.pairs if all(pair in other.row for other in rest)]
    if not pairs:
        raise BadInput("the assessors have no graded pair in common")
    grades = tuple(sorted({grade for shares in assessors for grade in shares.grades}))
    matrix, distributed = np.zeros((len(pairs), len(grades))), np.zeros(len(pairs))
    for shares in assessors:
        rows = np.array([shares.row[pair] for pair in pairs])
        columns = [grades.index(grade) for grade in shares.grades]
        matrix[:, columns] += shares.matrix[rows] / len(assessors)
        distributed = np.maximum(distributed, shares.distributed[rows])
    left_out = sum(shares.left_out for shares in assessors)
    return GradeShares(grades, tuple(pairs), matrix, distributed, left_out)


def spread(shares: GradeShares) -> Floats:
    """The standard deviation of each pair's grade, in grades."""
    grades = np.array(shares.grades, dtype=np.float64)
    variance = shares.matrix @ grades**2 - (shares.matrix @ grades) ** 2
    # those that are equal but for the order of their sums are equal
    return np.asarray(np.round(np.sqrt(np.maximum(variance, 0.0)), 9), dtype=np.float64)


# What routing reads: assessors' grades of a pool, and people's grades of some of its pairs.


@dataclass(frozen=True, eq=False)
class RoutingSources:
    """Assessors' grades of the pairs that all of them graded, and people's.

    `grades` are those of the first assessor, which people's replace; `shares` the mean of all
    assessors' probabilities, in the same order; `looked_at` the pairs that somebody graded already.
    `human` are grades of pairs drawn by chance, with `weights` one over these chances where a
    sample was drawn.
    """

    names: tuple[str, ...]
    shares: GradeShares
    grades: Integers
    human_name: str = ""
    human: Qrels | None = None
    weights: Mapping[Pair, float] | None = None
    looked_at: frozenset[Pair] = frozenset()
    collection: Collection | None = None
    notes: tuple[str, ...] = ()


def open_routing(sources: Sequence[str], people: str | None) -> RoutingSources:
    """A collection and names of sets in it, or files of grades; `people` names human qrels."""
    if not sources:
        raise Misuse("expected grades to route by: a collection and a name in it, or a file")
    first, *names = sources
    if Path(first).is_dir():
        if not names:
            raise Misuse(f"expected a name after {first}: whose grades are in doubt?")
        return _of_collection(open_collection(first), names, people)
    return _of_files(sources, people)


def _of_collection(
    collection: Collection, names: Sequence[str], people: str | None
) -> RoutingSources:
    for name in names:
        collection.existing_qrels(name)
    each = [shares_of(source_of_collection(collection, name)) for name in names]
    notes: list[str] = []
    human_name = people or ("human" if "human" in collection.qrels_names() else "")
    human = weights = None
    if human_name:
        collection.existing_qrels(human_name)
        human = people_of_collection(collection, human_name, notes.append)
        weights = weights_of_people(collection, human_name)
    looked_at = _looked_at(collection, {human_name} - {""})
    return RoutingSources(
        tuple(names),
        *_as_one(each),
        human_name,
        human,
        weights,
        looked_at,
        collection=collection,
        notes=tuple(notes),
    )


def _of_files(files: Sequence[str], people: str | None) -> RoutingSources:
    each = [shares_of(source_of_file(Path(name), name)) for name in files]
    notes: list[str] = []
    human = None if people is None else people_of_file(Path(people), notes.append)
    looked_at = frozenset(Pair(q, d) for q, row in (human or {}).items() for d in row)
    return RoutingSources(
        tuple(files), *_as_one(each), people or "", human, None, looked_at, notes=tuple(notes)
    )


def _as_one(each: Sequence[GradeShares]) -> tuple[GradeShares, Integers]:
    """All shares as one's, and the grade that the first gives each pair."""
    shares, first = combined(each), each[0]
    rows = np.array([first.row[pair] for pair in shares.pairs])
    return shares, np.array(first.grades)[first.matrix[rows].argmax(axis=1)]


def _looked_at(collection: Collection, names: set[str]) -> frozenset[Pair]:
    """The pairs that any people's qrels of the collection hold."""
    folder = collection.folder
    by_people = [n for n in collection.qrels_names() if people_path(folder, n).is_file()]
    pairs: set[Pair] = set()
    for name in {*by_people, *names}:
        qrels = read_qrels(collection.qrels(name))
        pairs |= {Pair(q, d) for q, row in qrels.items() for d in row}
    return frozenset(pairs)
