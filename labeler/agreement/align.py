"""Pair human grades and an assessor's labels up, and account for every pair left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.statistics.contingency import GradedPairs
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.labels import number

Labels = Mapping[str, Mapping[str, "int | str"]]
"""Query id to document id to a label as its file has it: `2`, `"2"`, `"2.5"`, `"ERROR"`."""

PEOPLE = "people"
"""What those are called whose grades an assessor's stand beside, where nobody names them."""
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale where nobody names one and human grades lie within it: TREC's, and our prompts'."""


@dataclass(frozen=True)
class AssessorLabels:
    """An assessor's labels, a status for each pair on which it has none, and what to call it.

    `human` is what those are called whose grades stand beside.
    """

    labels: Labels
    failures: Mapping[Pair, str] = field(default_factory=dict)
    name: str = "the other"
    human: str = PEOPLE


@dataclass(frozen=True)
class Rules:
    """How grades are read: the scale (`scale_of` says which where `None`), maps, clipping, a cut.

    In this order: human grades and the assessor's integers are mapped, the assessor's numbers are
    clipped into the scale, then both sides become 0 below `cut` and 1 from there on.
    """

    scale: Sequence[int] | None = None
    clip: bool = False
    map_human: Mapping[int, int] = field(default_factory=dict)
    map_assessor: Mapping[int, int] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """The pairs that no statistic counts, by the reason.

    `outside` counts labels that are no grade of the scale as they stand in the file; `missing`
    counts, by human grade, the pairs that people graded and the assessor did not. Where people
    graded a sample, they skipped some pairs, and others were `not_drawn`; none is `only_assessor`.
    """

    only_human: int
    only_assessor: int
    unjudged_by_human: int
    outside: Mapping[str, int]
    failures: Mapping[str, int]
    clipped: int
    missing: Floats
    skipped_by_human: int = 0
    not_drawn: int = 0


@dataclass(frozen=True)
class Aligned:
    """The pairs that both sides graded, and what was left out."""

    pairs: GradedPairs
    left_out: LeftOut


def scale_of(human: Qrels, rules: Rules) -> tuple[int, ...]:
    """The rules' scale; else 0 to 3 where people's grades lie within it, else people's range.

    People who happen to use no 3 do not make an assessor's 3 any less of a grade.
    Negative grades mean "in the pool, not judged" unless the named scale holds them.
    """
    if rules.scale is not None:
        return tuple(rules.scale)
    used = {
        rules.map_human.get(grade, grade)
        for row in human.values()
        for grade in set(row.values())
        if grade >= 0
    }
    if not used:
        raise BadInput("the human qrels hold no grade of 0 or more, so there is nothing to compare")
    low, high = min(used), max(used)
    if USUAL[0] <= low and high <= USUAL[-1]:
        return USUAL
    if high - low >= MOST_GRADES:
        many = f"the human qrels' grades run from {low} to {high}"
        raise Misuse(f"{many}, more than {MOST_GRADES}; map them to fewer", parameter="maps")
    return tuple(range(low, high + 1))


class _Position(NamedTuple):
    """Where a label stands in the scale, `None` outside it, and whether it was clipped to there."""

    at: int | None
    clipped: bool


@dataclass
class _Ledger:
    """The counts and rows that `align` collects, one human pair after another."""

    missing: Floats
    rows: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    queries: dict[str, int] = field(default_factory=dict)
    only_human: int = 0
    clipped: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def graded(self, row: int, query_id: str, human: int, assessor: int, weight: float) -> None:
        query = self.queries.setdefault(query_id, len(self.queries))
        self.rows.append((row, query, human, assessor, weight))

    def ungraded(self, label: int | str | None, status: str | None) -> None:
        if label is not None:
            self.outside[str(label)] += 1
        elif status is not None:
            self.failures[status] += 1
        else:
            self.only_human += 1


def align(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    weights: Mapping[Pair, float] | None = None,
) -> Aligned:
    """Pair the grades up; `weights` are one over the inclusion probabilities of sampled pairs."""
    scale = scale_of(human, rules)
    grades = _indices_of_grades(human, scale, rules)
    labels = _positions_of_labels(assessor.labels, scale, rules)
    ledger, unjudged = _Ledger(np.zeros(len(scale))), 0
    for row, (pair, grade, label) in enumerate(_joined(human, assessor.labels)):
        index = grades[grade]
        if index is None:
            unjudged += 1
            continue
        weight = 1.0 if weights is None else weights.get(pair, 0.0)
        position = labels[label] if label is not None else _Position(None, False)
        if position.at is not None:
            ledger.graded(row, pair.query_id, index, position.at, weight)
            ledger.clipped += position.clipped
        else:
            ledger.missing[index] += weight
            ledger.ungraded(label, assessor.failures.get(pair))
    pairs = _paired(ledger, scale, weighted=weights is not None)
    left_out = LeftOut(
        ledger.only_human,
        sum(len(r.keys() - human.get(q, {}).keys()) for q, r in assessor.labels.items()),
        unjudged,
        dict(ledger.outside.most_common()),
        dict(ledger.failures.most_common()),
        ledger.clipped,
        ledger.missing,
    )
    return _cut(Aligned(pairs, left_out), rules.cut)


def grades_of_human(human: Qrels, scale: tuple[int, ...], rules: Rules) -> Qrels:
    """The human grades as the rules read them; those left unjudged are left out."""
    indices = _indices_of_grades(human, scale, rules)
    return _graded(human, indices, scale, rules.cut)


def grades_of_assessor(labels: Labels, scale: tuple[int, ...], rules: Rules) -> Qrels:
    """The assessor's usable grades as the rules read them."""
    indices = {label: p.at for label, p in _positions_of_labels(labels, scale, rules).items()}
    return _graded(labels, indices, scale, rules.cut)


def _graded(
    labels: Labels, indices: Mapping[Any, int | None], scale: tuple[int, ...], cut: int | None
) -> Qrels:
    graded: Qrels = {}
    for query_id, row in labels.items():
        inside = {doc_id: p for doc_id, label in row.items() if (p := indices[label]) is not None}
        if inside:
            graded[query_id] = {
                doc_id: scale[p] if cut is None else int(scale[p] >= cut)
                for doc_id, p in inside.items()
            }
    return graded


def _joined(human: Qrels, labels: Labels) -> Iterator[tuple[Pair, int, int | str | None]]:
    for query_id, graded in human.items():
        row = labels.get(query_id, {})
        for doc_id, grade in graded.items():
            yield Pair(query_id, doc_id), grade, row.get(doc_id)


def _indices_of_grades(human: Qrels, scale: tuple[int, ...], rules: Rules) -> dict[int, int | None]:
    indices: dict[int, int | None] = {}
    for grade in {grade for row in human.values() for grade in row.values()}:
        mapped = rules.map_human.get(grade, grade)
        indices[grade] = scale.index(mapped) if mapped in scale else None
        if indices[grade] is None and mapped >= 0:
            scale_ends = f"{scale[0]}:{scale[-1]}"
            raise BadInput(
                f"the human qrels hold the grade {grade}, outside the scale {scale_ends}"
            )
    return indices


def _positions_of_labels(
    labels: Labels, scale: tuple[int, ...], rules: Rules
) -> dict[int | str, _Position]:
    distinct = {label for row in labels.values() for label in row.values()}
    return {label: _position(label, scale, rules) for label in distinct}


def _position(label: int | str, scale: tuple[int, ...], rules: Rules) -> _Position:
    value = number(label)
    if value is None:
        return _Position(None, False)
    if value.is_integer():
        value = float(rules.map_assessor.get(int(value), int(value)))
    inside = float(min(max(value, scale[0]), scale[-1])) if rules.clip else value
    if not inside.is_integer() or int(inside) not in scale:
        return _Position(None, False)
    return _Position(scale.index(int(inside)), inside != value)


def _paired(ledger: _Ledger, scale: tuple[int, ...], *, weighted: bool) -> GradedPairs:
    columns = np.array(ledger.rows, dtype=np.float64).reshape(-1, 5)
    row, query, human, assessor = columns[:, :4].astype(np.int64).T
    weight = columns[:, 4] if weighted else None
    return GradedPairs(tuple(ledger.queries), scale, query, human, assessor, row, weight)


def _cut(aligned: Aligned, grade: int | None) -> Aligned:
    """Both sides as 0 below `grade` and 1 from there on."""
    if grade is None:
        return aligned
    pairs, left_out = aligned.pairs, aligned.left_out
    if grade not in pairs.grades[1:]:
        cuts = ", ".join(map(str, pairs.grades[1:]))
        raise Misuse(f"cannot cut at {grade}; this scale's cuts: {cuts}", parameter="cut")
    at = pairs.grades.index(grade)
    binary = replace(
        pairs,
        grades=(0, 1),
        human=(pairs.human >= at).astype(np.int64),
        assessor=(pairs.assessor >= at).astype(np.int64),
    )
    missing = np.array([left_out.missing[:at].sum(), left_out.missing[at:].sum()])
    return Aligned(binary, replace(left_out, missing=missing))
