"""Pair human grades and an assessor's labels up, and account for every pair left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.statistics.contingency import GradedPairs
from labeler.agreement.tally import NO_LABEL, GradeTally, Label, Labels, narrow, tally_of
from labeler.arrays import Flags, Floats, Integers
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.labels import number

PEOPLE = "people"
"""What those are called whose grades an assessor's stand beside, where nobody names them."""
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale where nobody names one and human grades lie within it: TREC's, and our prompts'."""


@dataclass(frozen=True)
class AssessorLabels:
    """An assessor's labels, a status for each pair on which it has none, and what to call it.

    `human` is what those are called whose grades stand beside. Where labels and human grades were
    counted together already, `tally` has the counts, and `labels` no more than ids for messages.
    """

    labels: Labels
    failures: Mapping[Pair, str] = field(default_factory=dict)
    name: str = "the other"
    human: str = PEOPLE
    tally: GradeTally | None = None


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
    return scale_of_grades((grade for row in human.values() for grade in set(row.values())), rules)


def scale_of_grades(grades: Iterable[int], rules: Rules) -> tuple[int, ...]:
    """The same from the human grades that are used."""
    if rules.scale is not None:
        return tuple(rules.scale)
    used = {rules.map_human.get(grade, grade) for grade in grades if grade >= 0}
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


def align(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    weights: Mapping[Pair, float] | None = None,
) -> Aligned:
    """Pair the grades up; `weights` are one over the inclusion probabilities of sampled pairs."""
    return align_tally(tally_of(human, assessor, weights), rules)


def align_tally(tally: GradeTally, rules: Rules) -> Aligned:
    """The pairs of a tally that both sides graded, as the rules read them, and what is left out."""
    scale = scale_of_grades(tally.grades, rules)
    grades = _indices_of_grades(tally.grades, scale, rules)
    positions = [_position(label, scale, rules) for label in tally.labels]
    # of each row: the grades' places in the scale, -1 where there is none
    human = _places([grades[grade] for grade in tally.grades])[tally.grade]
    label = np.maximum(tally.label, NO_LABEL)
    assessor = _places([position.at for position in positions])[label]
    clipped = np.array([position.clipped for position in positions] + [False])[label]
    judged, has_grade = human >= 0, assessor >= 0
    graded, ungraded = judged & has_grade, judged & ~has_grade
    mass = tally.count if tally.weight is None else tally.weight
    left_out = LeftOut(
        _sum(tally.count, ungraded & (tally.label == NO_LABEL)),
        tally.only_assessor,
        _sum(tally.count, ~judged),
        _by_text(tally.label_counts(ungraded)),
        dict(tally.status_counts(ungraded).most_common()),
        _sum(tally.count, graded & clipped),
        np.bincount(human[ungraded], mass[ungraded], len(scale)).astype(np.float64),
    )
    pairs = _graded_pairs(tally, scale, graded, (human[graded], assessor[graded]))
    return _cut(Aligned(pairs, left_out), rules.cut)


def _places(places: Sequence[int | None]) -> Integers:
    """Places in the scale, -1 for none, and one more -1 for what has no value at all."""
    return narrow(np.array([-1 if at is None else at for at in places] + [-1]))


def _sum(counts: Integers, rows: Flags) -> int:
    return int(counts[rows].sum())


def _by_text(counts: Mapping[Label, int]) -> dict[str, int]:
    """Labels by their texts, the most frequent first."""
    texts: Counter[str] = Counter()
    for label, count in counts.items():
        texts[str(label)] += count
    return dict(texts.most_common())


def _graded_pairs(
    tally: GradeTally, scale: tuple[int, ...], graded: Flags, grades: tuple[Integers, Integers]
) -> GradedPairs:
    """The rows that both graded, and the queries that have any, in their order."""
    rows = tally.query[graded]
    has_pairs = np.bincount(rows, minlength=len(tally.queries)) > 0
    is_single = tally.row is not None
    number = np.cumsum(has_pairs) - 1
    number = number if is_single else narrow(number)
    return GradedPairs(
        tuple(compress(tally.queries, has_pairs.tolist())),
        scale,
        number[rows],
        *grades,
        narrow(np.flatnonzero(graded)) if tally.row is None else tally.row[graded],
        None if tally.weight is None else tally.weight[graded],
        None if is_single else tally.count[graded],
    )


def grades_of_human(human: Qrels, scale: tuple[int, ...], rules: Rules) -> Qrels:
    """The human grades as the rules read them; those left unjudged are left out."""
    used = {grade for row in human.values() for grade in row.values()}
    indices = _indices_of_grades(used, scale, rules)
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


def _indices_of_grades(
    grades: Iterable[int], scale: tuple[int, ...], rules: Rules
) -> dict[int, int | None]:
    indices: dict[int, int | None] = {}
    for grade in set(grades):
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
