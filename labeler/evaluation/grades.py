"""Whose grades score systems: those of one set, or with another set's grades in its holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from labeler.collection.layout import Collection, collection_of_qrels
from labeler.errors import BadInput, about
from labeler.evaluation.inputs import (
    AnyQrels,
    changed_since,
    pool_from,
    qrels_from,
    qrels_path,
    short_name,
    without_pairs,
)
from labeler.exchange.qrels import read_qrels
from labeler.messages import Note
from labeler.metrics import JudgedPairs
from labeler.trec.pairs import PairColumns


@dataclass(frozen=True)
class GradesUsed:
    """Whose grades a set of qrels holds, and which other sets lie beside it.

    `models` graded where `whose` is not people. `others` are the collection's other sets by name.
    Of the pairs of a model, people graded `checked` too. Another set may be `filling` the holes;
    `counts` is then how many grades each of both gave.
    """

    name: str = ""
    whose: str = ""
    models: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    checked: int = 0
    folder: str = ""
    filling: GradesUsed | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def assessor(self) -> GradesUsed | None:
        """The assessor among those who graded; None where people did alone, or nobody knows."""
        return self.filling if self.filling else self if self.whose == "model" else None

    @property
    def is_unchecked(self) -> bool:
        """Whether a model gave grades among these, and people graded hardly a pair of its own."""
        assessor = self.assessor
        return assessor is not None and assessor.whose == "model" and not assessor.is_checked

    @property
    def is_checked(self) -> bool:
        """Whether people graded enough pairs of these, too."""
        return self.checked >= ENOUGH_CHECKED

    @property
    def giver(self) -> str:
        """By whose grades: `people's grades (human)`, `gpt's grades, unchecked`."""
        own = (
            f"people's grades ({self.name})" if self.whose == "people" else f"{self.name}'s grades"
        )
        filled = f", with {self.filling.name}'s in the holes" if self.filling else ""
        return f"{own}{filled}{', unchecked' if self.is_unchecked else ''}"

    def __str__(self) -> str:
        if not self.name:
            return ""
        counted = "; ".join(f"{n:,} of {name}" for name, n in self.counts.items())
        counted = f": {counted}" if counted else ""
        listed = " and ".join(self.others)
        beside = f"; there is also {listed}" if self.others else ""
        return f"by {self.giver}{counted}{beside}"


ENOUGH_CHECKED = 25
"""An assessor of whose pairs people graded fewer is one that nobody checked."""


def grades_used(path: Path) -> GradesUsed:
    """Whose grades a file of qrels holds, as far as its collection tells."""
    where = collection_of_qrels(path)
    if where is None:
        return GradesUsed(short_name(path.name))
    from labeler.collection.whose import made_by, whose  # takes long to load

    collection, name = where
    folder = str(path.parent.parent)  # as it was given, fit for a command
    others = tuple(other for other in collection.qrels_names() if other != name)
    holder = whose(path)
    if holder != "model":
        return GradesUsed(name, holder, (), others, folder=folder)
    models = made_by(collection, name).models
    checked = _checked_by_people(collection, path, others)
    return GradesUsed(name, holder, models, others, checked, folder)


def _checked_by_people(collection: Collection, path: Path, others: Sequence[str]) -> int:
    """Of how many of a model's pairs people's qrels of the collection hold a grade."""
    from labeler.collection.whose import is_of_people  # takes long to load

    people = [other for other in others if is_of_people(collection, other)]
    if not people:
        return 0
    judged = read_qrels(path)
    pairs = {
        (query, doc)
        for other in people
        for query, row in read_qrels(collection.qrels(other)).items()
        for doc, grade in row.items()
        if grade >= 0 and doc in judged.get(query, ())
    }
    return len(pairs)


# Holes of a set, filled with the grades of another.

COMPARED = ".compared"
"""What is behind an assessor's name in that of its grades for pairs that a comparison asked for."""


def filled_pool(
    qrels: AnyQrels, fill: str, warn: Note, name: str = "the qrels", stale: str = "drop"
) -> tuple[JudgedPairs, GradesUsed]:
    """The pool of any qrels, with another set's grades where they have none; and whose these are.

    `fill` is a set of the same collection, or a file. Pairs that a comparison had that assessor
    judge beyond its own count as its own. `BadInput` where the two have other scales.
    """
    path = qrels_path(qrels)
    used = GradesUsed() if path is None else grades_used(path)
    if not fill:
        return pool_from(qrels, warn, name, stale), used
    layers = grade_layers(qrels, fill, warn, name, stale)
    whole: dict[str, dict[str, int]] = {}
    for grades in layers:
        for query, row in grades.items():
            whole[query] = {**row, **whole.get(query, {})}
    graded, every = (sum(map(len, grades.values())) for grades in (layers[0], whole))
    paths = fill_paths(path, fill)
    filling = grades_used(paths[0])
    rest = tuple(name for name in used.others if name not in [path.stem for path in paths])
    counts = {used.name: graded, filling.name: every - graded}
    filled = replace(used, others=rest, filling=filling, counts=counts)
    columns = PairColumns.of(whole, np.int32)
    return JudgedPairs.of(columns, name if path is None else str(path)), filled


def grade_layers(
    qrels: AnyQrels, fill: str, warn: Note, name: str = "the qrels", stale: str = "drop"
) -> list[Mapping[str, Mapping[str, int]]]:
    """The grades of any qrels, then those of the set that fills their holes; no negative ones."""
    path, layers = qrels_path(qrels), [qrels_from(qrels, warn, name)]
    paths = fill_paths(path, fill) if fill else []
    if path is not None and paths:
        _check_scales(path, paths[0])
    layers += [without_pairs(read_qrels(p, warn), changed_since(p, warn, stale)) for p in paths]
    return [
        {
            query: {doc: grade for doc, grade in row.items() if grade >= 0}
            for query, row in of.items()
        }
        for of in layers
    ]


def fill_paths(qrels: Path | None, fill: str) -> list[Path]:
    """The files of a set that fills holes: of the collection that the qrels are of, or a file."""
    origin = collection_of_qrels(qrels) if qrels else None
    if origin is None or Path(fill).is_file():
        return [Path(fill)]
    paths = [
        path for name in (fill, f"{fill}{COMPARED}") if (path := origin[0].qrels(name)).exists()
    ]
    with about("fill"):
        return paths or [origin[0].existing_qrels(fill)]


def _check_scales(first: Path, second: Path) -> None:
    from labeler.collection.scale import top_grade_of  # takes long to load

    tops = [top_grade_of(path) for path in (first, second)]
    if None not in tops and tops[0] != tops[1]:
        problem = f"{first} grades up to {tops[0]}, {second} up to {tops[1]}: not one scale"
        raise BadInput(f"{problem}; map one: labeler qrels map", parameter="fill")
