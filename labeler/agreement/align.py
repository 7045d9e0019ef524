"""Pair people's grades and another rater's labels up, and account for every pair left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.tables import Paired
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.labels import number

Labels = Mapping[str, Mapping[str, "int | str"]]
"""Query id to document id to a label as it was found: `2`, `"2"`, `"2.5"`, `"ERROR"`."""

MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale where nobody names one and people's grades lie within it: TREC's, and our prompts'."""


@dataclass(frozen=True)
class Other:
    """Another rater's labels, a status for each pair on which it has none, and what to call it."""

    labels: Labels
    failures: Mapping[Pair, str] = field(default_factory=dict)
    name: str = "the other"


@dataclass(frozen=True)
class Rules:
    """How grades are read: the scale (`scale_of` says which where `None`), maps, clipping, a cut.

    In this order: people's grades and the other's integers are mapped, the other's numbers are
    clipped into the scale, then both sides become 0 below `cut` and 1 from there on.
    """

    scale: tuple[int, ...] | None = None
    clip: bool = False
    map_people: Mapping[int, int] = field(default_factory=dict)
    map_other: Mapping[int, int] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """What no statistic saw, and why.

    `outside` counts labels that are no grade of the scale as they stand in the file; `missing`
    counts, by people's grade, the pairs that people graded and the other did not. Where people
    graded a sample, they skipped some pairs, and others were `not_drawn`; none is `only_other`.
    """

    only_people: int
    only_other: int
    unjudged_by_people: int
    outside: Mapping[str, int]
    failures: Mapping[str, int]
    clipped: int
    missing: Floats
    skipped_by_people: int = 0
    not_drawn: int = 0


@dataclass(frozen=True)
class Aligned:
    """The pairs that both sides graded, and what was left out."""

    pairs: Paired
    left_out: LeftOut


def scale_of(people: Qrels, rules: Rules) -> tuple[int, ...]:
    """The rules' scale; else 0 to 3 where people's grades lie within it, else people's range.

    People who happen to use no 3 do not make another rater's 3 any less of a grade.
    Negative grades mean "in the pool, not judged" unless the named scale holds them.
    """
    if rules.scale is not None:
        return rules.scale
    used = {
        rules.map_people.get(grade, grade)
        for row in people.values()
        for grade in set(row.values())
        if grade >= 0
    }
    if not used:
        raise BadInput("people's labels hold no grade of 0 or more, so there is nothing to compare")
    low, high = min(used), max(used)
    if USUAL[0] <= low and high <= USUAL[-1]:
        return USUAL
    if high - low >= MOST_GRADES:
        many = f"people's grades run from {low} to {high}"
        raise Misuse(f"{many}, more than {MOST_GRADES}; map them to fewer with --map people:…")
    return tuple(range(low, high + 1))


class _Placed(NamedTuple):
    """Where a label stands in the scale, `None` outside it, and whether it was clipped to there."""

    place: int | None
    clipped: bool


@dataclass
class _Ledger:
    """What `align` writes down as it goes through people's pairs."""

    missing: Floats
    rows: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    queries: dict[str, int] = field(default_factory=dict)
    only_people: int = 0
    clipped: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def graded(self, row: int, query_id: str, place: int, found: int, weight: float) -> None:
        query = self.queries.setdefault(query_id, len(self.queries))
        self.rows.append((row, query, place, found, weight))

    def lacking(self, place: int, label: int | str | None, status: str | None) -> None:
        if label is not None:
            self.outside[str(label)] += 1
        elif status is not None:
            self.failures[status] += 1
        else:
            self.only_people += 1


def align(
    people: Qrels,
    other: Other,
    rules: Rules,
    weights: Mapping[Pair, float] | None = None,
) -> Aligned:
    """Pair the grades up; `weights` are one over the inclusion probabilities of sampled pairs."""
    scale = scale_of(people, rules)
    grades = _places_of_grades(people, scale, rules)
    labels = _places_of_labels(other.labels, scale, rules)
    ledger, unjudged = _Ledger(np.zeros(len(scale))), 0
    for row, (pair, grade, label) in enumerate(_joined(people, other.labels)):
        place = grades[grade]
        if place is None:
            unjudged += 1
            continue
        weight = 1.0 if weights is None else weights.get(pair, 0.0)
        found = labels[label] if label is not None else _Placed(None, False)
        if found.place is not None:
            ledger.graded(row, pair.query_id, place, found.place, weight)
            ledger.clipped += found.clipped
        else:
            ledger.missing[place] += weight
            ledger.lacking(place, label, other.failures.get(pair))
    pairs = _paired(ledger, scale, weighted=weights is not None)
    left_out = LeftOut(
        ledger.only_people,
        sum(len(r.keys() - people.get(q, {}).keys()) for q, r in other.labels.items()),
        unjudged,
        dict(ledger.outside.most_common()),
        dict(ledger.failures.most_common()),
        ledger.clipped,
        ledger.missing,
    )
    return _cut(Aligned(pairs, left_out), rules.cut)


def grades_of_people(people: Qrels, scale: tuple[int, ...], rules: Rules) -> Qrels:
    """People's grades as the rules read them; those left unjudged are left out."""
    places = _places_of_grades(people, scale, rules)
    return _graded(people, places, scale, rules.cut)


def grades_of_other(labels: Labels, scale: tuple[int, ...], rules: Rules) -> Qrels:
    """The other's usable grades as the rules read them."""
    places = {label: p.place for label, p in _places_of_labels(labels, scale, rules).items()}
    return _graded(labels, places, scale, rules.cut)


def _graded(
    labels: Labels, places: Mapping[Any, int | None], scale: tuple[int, ...], cut: int | None
) -> Qrels:
    graded: Qrels = {}
    for query_id, row in labels.items():
        found = {doc_id: p for doc_id, label in row.items() if (p := places[label]) is not None}
        if found:
            graded[query_id] = {
                doc_id: scale[p] if cut is None else int(scale[p] >= cut)
                for doc_id, p in found.items()
            }
    return graded


def _joined(people: Qrels, labels: Labels) -> Iterator[tuple[Pair, int, int | str | None]]:
    for query_id, graded in people.items():
        row = labels.get(query_id, {})
        for doc_id, grade in graded.items():
            yield Pair(query_id, doc_id), grade, row.get(doc_id)


def _places_of_grades(people: Qrels, scale: tuple[int, ...], rules: Rules) -> dict[int, int | None]:
    places: dict[int, int | None] = {}
    for grade in {grade for row in people.values() for grade in row.values()}:
        mapped = rules.map_people.get(grade, grade)
        places[grade] = scale.index(mapped) if mapped in scale else None
        if places[grade] is None and mapped >= 0:
            known = f"{scale[0]}:{scale[-1]}"
            raise BadInput(f"people's labels hold the grade {grade}, outside the scale {known}")
    return places


def _places_of_labels(
    labels: Labels, scale: tuple[int, ...], rules: Rules
) -> dict[int | str, _Placed]:
    distinct = {label for row in labels.values() for label in row.values()}
    return {label: _place(label, scale, rules) for label in distinct}


def _place(label: int | str, scale: tuple[int, ...], rules: Rules) -> _Placed:
    value = number(label)
    if value is None:
        return _Placed(None, False)
    if value.is_integer():
        value = float(rules.map_other.get(int(value), int(value)))
    inside = float(min(max(value, scale[0]), scale[-1])) if rules.clip else value
    if not inside.is_integer() or int(inside) not in scale:
        return _Placed(None, False)
    return _Placed(scale.index(int(inside)), inside != value)


def _paired(ledger: _Ledger, scale: tuple[int, ...], *, weighted: bool) -> Paired:
    columns = np.array(ledger.rows, dtype=np.float64).reshape(-1, 5)
    row, query, people, other = columns[:, :4].astype(np.int64).T
    weight = columns[:, 4] if weighted else None
    return Paired(tuple(ledger.queries), scale, query, people, other, row, weight)


def _cut(aligned: Aligned, grade: int | None) -> Aligned:
    """Both sides as 0 below `grade` and 1 from there on."""
    if grade is None:
        return aligned
    pairs, left_out = aligned.pairs, aligned.left_out
    if grade not in pairs.grades[1:]:
        cuts = ", ".join(map(str, pairs.grades[1:]))
        raise Misuse(f"cannot cut at {grade}; this scale's cuts: {cuts}")
    at = pairs.grades.index(grade)
    binary = replace(
        pairs,
        grades=(0, 1),
        people=(pairs.people >= at).astype(np.int64),
        other=(pairs.other >= at).astype(np.int64),
    )
    missing = np.array([left_out.missing[:at].sum(), left_out.missing[at:].sum()])
    return Aligned(binary, replace(left_out, missing=missing))
