"""What an assessor says of each pair, as one probability a grade, and how unsure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.agreement.align import AssessorLabels, GradeMatrix, PairWeights, grade_matrix
from labeler.agreement.compare import RARE
from labeler.agreement.sources import (
    people_of_file,
    source_of_collection,
    source_of_file,
    weights_of_people,
)
from labeler.arrays import Floats, Integers
from labeler.collection.judged_set import Distributions
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path
from labeler.data import Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.files import read_qrels
from labeler.trec.labels import whole
from labeler.trec.pairs import PairColumns


def graded_together(sources: Sequence[AssessorLabels]) -> tuple[GradeMatrix, list[str]]:
    """The grades and distributions of the pairs that all assessors graded, and what is left out.

    Those are labels that are no grade, and grades that next to no pair has. `BadInput` where
    nothing is left.
    """
    columns, every, left_out = dict[str, PairColumns[int]](), set[int](), 0
    for source in sources:
        labels = PairColumns.of(source.labels)
        graded = labels.replaced({label: whole(label) for label in labels.coded[0]})
        if not graded.size:
            raise BadInput(f"{source.name}: no pair has a grade")
        used = _used(graded, source.distributions)
        columns[source.name] = graded.keep(np.isin(graded.value, sorted(used)))
        every |= used
        left_out += labels.size - columns[source.name].size
    matrix = grade_matrix(columns, sorted(every), fewest=len(columns))
    if not matrix.pairs.size:
        raise BadInput("the assessors have no graded pair in common")
    text = f"{left_out} labels are no grade, or one that next to no pair has: left out"
    matrix = matrix.with_distributions([source.distributions for source in sources])
    return matrix, [text] if left_out else []


def _used(graded: PairColumns[int], given: Distributions | None) -> set[int]:
    """The grades that more than next to no pair has, or that a distribution holds."""
    distinct, counts = np.unique(graded.value, return_counts=True)
    usual = distinct[counts >= RARE * graded.size]
    used = set((usual if len(usual) else distinct).tolist())
    if given is not None:
        used |= set(np.array(given.grades)[(given.shares > 0).any(axis=0)].tolist())
    # a rare grade beyond all others is a slip
    return used | {grade for grade in distinct.tolist() if min(used) <= grade <= max(used)}


def spread(matrix: GradeMatrix) -> Floats:
    """The standard deviation of each pair's grade, in grades."""
    shares = matrix.mean_shares
    variance = shares @ matrix.scale**2 - (shares @ matrix.scale) ** 2
    # those that are equal but for the order of their sums are equal
    return np.asarray(np.round(np.sqrt(np.maximum(variance, 0.0)), 9))


# What routing reads: assessors' grades of a pool, and people's grades of some of its pairs.


@dataclass(frozen=True, eq=False)
class RoutingSources:
    """Assessors' grades of the pairs that all of them graded, and people's.

    People's grades replace those of the first assessor; `looked_at` are theirs of any other pairs.
    `human` are grades of pairs drawn by chance, with `weights` one over these chances where a
    sample was drawn.
    """

    matrix: GradeMatrix
    human_name: str = ""
    human: Qrels | None = None
    weights: PairWeights = None
    looked_at: Sequence[Qrels] = ()
    collection: Collection | None = None
    notes: Sequence[str] = ()

    @property
    def tells_disagreement(self) -> bool:
        """Whether there are distributions, or several assessors."""
        return self.matrix.has_distributions or len(self.matrix.assessors) > 1

    @property
    def grades(self) -> Integers:
        """The first assessor's grade of each pair: of a distribution the likeliest."""
        matrix = self.matrix
        first = matrix.values[:, 0] if matrix.shares is None else matrix.shares[:, 0].argmax(axis=1)
        return np.array(matrix.grades)[first]


def open_routing(sources: Sequence[str], people: str | None) -> RoutingSources:
    """A collection and names of sets in it, or files of grades; `people` names human qrels."""
    if not sources:
        raise Misuse("expected grades to route by: a collection and a name in it, or a file")
    first, *names = sources
    if not Path(first).is_dir():
        read = [source_of_file(Path(name), name) for name in sources]
        return _routing(read, people or "", Path(people) if people else None)
    if not names:
        raise Misuse(f"expected a name after {first}: whose grades are in doubt?")
    collection = open_collection(first)
    every = collection.qrels_names()
    name = people or ("human" if "human" in every else "")
    by_people = [each for each in every if people_path(collection.folder, each).is_file()]
    return _routing(
        [source_of_collection(collection, each) for each in names],
        name,
        collection.existing_qrels(name) if name else None,
        weights=weights_of_people(collection, name) if name else None,
        looked_at=[read_qrels(collection.qrels(each)) for each in {*by_people, name} - {""}],
        collection=collection,
    )


def _routing(
    assessors: Sequence[AssessorLabels], name: str, people: Path | None, **more: Any
) -> RoutingSources:
    """What assessors and people say of pairs; notes say which labels are left out."""
    matrix, notes = graded_together(assessors)
    human = people_of_file(people, notes.append) if people else None
    return RoutingSources(matrix, name, human, notes=notes, **more)
