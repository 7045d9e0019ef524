"""Pair human grades and an assessor's labels up, and account for every pair left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import numpy as np

from labeler.agreement.statistics import GradedPairs
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.judged_set import Distributions
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.options import GRADE, option
from labeler.report.finding import Finding, Setting
from labeler.report.result import Hidden
from labeler.trec.labels import number
from labeler.trec.pairs import PairColumns, taken

PEOPLE = "people"
"""What those are called whose grades an assessor's stand beside, where nobody names them."""
MOST_GRADES = 50
USUAL = (0, 1, 2, 3)
"""The scale where nobody names one and human grades lie within it: TREC's, and our prompts'."""

Label = int | str
Labels = Mapping[str, Mapping[str, Label]]
"""Query id to document id to a label as its file has it: `2`, `"2"`, `"2.5"`, `"ERROR"`."""


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


# The labels beside each human grade, in columns.

NO_LABEL = -1
_FIRST_STATUS = -2


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """What an assessor says of each pair with a human grade, in parallel columns.

    `query`, `grade` and `label` are places in `queries`, `grades` and `labels`. A label of -1 is
    none, and -2, -3, ... are the `statuses` of pairs that failed. `only_assessor` counts the pairs
    without a human grade, whose labels stand in `labels` too; `weight` is one over each pair's
    inclusion probability, if it was drawn.
    """

    queries: Sequence[str]
    grades: Sequence[int]
    labels: Sequence[Label]
    statuses: Sequence[str]
    query: Integers
    grade: Integers
    label: Integers
    only_assessor: int = 0
    weight: Floats | None = None

    @property
    def meets(self) -> bool:
        """Whether any pair has both a human grade and a label."""
        return bool((self.label >= 0).any())

    def label_counts(self, of: Flags | None = None) -> Counter[Label]:
        """How many pairs have each label, by first appearance; `of` those rows alone."""
        rows = self.label >= 0 if of is None else of & (self.label >= 0)
        return _counted(self.labels, self.label[rows])

    def status_counts(self, of: Flags) -> Counter[str]:
        """How many pairs of those rows failed with each status, by first appearance."""
        failed = self.label[of & (self.label <= _FIRST_STATUS)]
        return _counted(self.statuses, _FIRST_STATUS - failed)


def _counted(values: Sequence[Any], places: Integers) -> Counter[Any]:
    """How often each value stands at some places, by first appearance."""
    distinct, first, counts = np.unique(places, return_index=True, return_counts=True)
    return Counter({values[distinct[at]]: int(counts[at]) for at in np.argsort(first)})


def label_columns(
    human: Qrels, assessor: AssessorLabels, weights: Mapping[Pair, float] | None = None
) -> LabelColumns:
    """The assessor's labels beside the human grades, which are in the order of `human`."""
    people, given = PairColumns.of(human, np.int64), PairColumns.of(assessor.labels)
    labels, code = given.coded
    label = taken(code, people.rows_in(given), NO_LABEL)
    only_assessor = given.size - int((label >= 0).sum())
    failed = PairColumns.of_pairs(assessor.failures)
    if assessor.failures:
        status = people.beside(failed, NO_LABEL)
        label = np.where((label == NO_LABEL) & (status >= 0), _FIRST_STATUS - status, label)
    grades, grade = people.coded
    weight = None
    if weights is not None:
        weight = people.beside(PairColumns.of_pairs(weights, np.float64), 0.0)
    return LabelColumns(
        people.queries,
        grades,
        labels,
        tuple(map(str, failed.labels or ())),
        people.query.astype(np.int64),
        grade,
        label,
        only_assessor,
        weight,
    )


def drawn_weights(pairs: PairColumns[Any], weights: Mapping[Pair, float] | None) -> Floats:
    """One over the chance of each pair to be drawn: 1 where none was, `nan` of one not drawn."""
    if weights is None:
        return np.ones(pairs.size)
    return np.asarray(pairs.beside(PairColumns.of_pairs(weights, np.float64), np.nan))


GRADES = "Reading grades"
_SCALE = re.compile(r"(-?[0-9]{1,9}):(-?[0-9]{1,9})")


def parse_scale(text: str | None) -> Sequence[int] | None:
    """`0:3` as `(0, 1, 2, 3)`."""
    if text is None:
        return None
    match = _SCALE.fullmatch(text.strip())
    if not match or int(match[1]) >= int(match[2]) or int(match[2]) - int(match[1]) >= 50:
        problem = f"expected LOW:HIGH, such as 0:3 (at most 50 grades); got {text!r:.80}"
        raise Misuse(problem, parameter="scale")
    return tuple(range(int(match[1]), int(match[2]) + 1))


@dataclass(frozen=True)
class Rules:
    """How grades are read: the scale (`scale_of` says which where `None`), maps, clipping, a cut.

    In this order: human grades and the assessor's integers are mapped, the assessor's numbers are
    clipped into the scale, then both sides become 0 below `cut` and 1 from there on.
    """

    scale: Sequence[int] | None = option(
        None,
        "The grades, as LOW:HIGH; else 0:3, or the human range beyond it.",
        panel=GRADES,
        read=parse_scale,
    )
    clip: bool = option(
        False, "Clip the other's numbers into the scale first.", panel=GRADES, rare=True
    )
    map_human: Mapping[int, int] = field(default_factory=dict)
    map_assessor: Mapping[int, int] = field(default_factory=dict)
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
    clipped: int
    missing: Hidden[Floats]
    skipped_by_people: int = 0
    not_drawn: int = 0


@dataclass(frozen=True)
class Aligned:
    """The pairs that both sides graded, what was left out, and the labels as they were given."""

    pairs: GradedPairs
    left_out: LeftOut
    columns: LabelColumns


def scale_of(human: Qrels, rules: Rules) -> Sequence[int]:
    """The rules' scale; else 0 to 3 where people's grades lie within it, else people's range.

    People who happen to use no 3 do not make an assessor's 3 any less of a grade.
    Negative grades mean "in the pool, not judged" unless the named scale holds them.
    """
    return scale_of_grades(PairColumns.of(human, np.int64).coded[0], rules)


def scale_of_grades(grades: Iterable[int], rules: Rules) -> Sequence[int]:
    """The same from the human grades that are used."""
    if rules.scale is not None:
        return tuple(rules.scale)
    used = {rules.map_human.get(grade, grade) for grade in grades if grade >= 0}
    if not used:
        raise BadInput("the human qrels hold no grade of 0 or more, so there is nothing to compare")
    return usual_scale(used, "maps")


def usual_scale(used: Set[int], parameter: str) -> Sequence[int]:
    """0 to 3 where these grades lie within it, else from the lowest of them to the highest.

    `parameter` is what would help where that are too many.
    """
    low, high = min(used), max(used)
    if USUAL[0] <= low and high <= USUAL[-1]:
        return USUAL
    if high - low >= MOST_GRADES:
        many = f"grades run from {low} to {high}, which are more than {MOST_GRADES}"
        raise Misuse(f"{many}; map them to fewer, or name the scale", parameter=parameter)
    return tuple(range(low, high + 1))


def align(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    weights: Mapping[Pair, float] | None = None,
) -> Aligned:
    """Pair the grades up; `weights` are one over the inclusion probabilities of sampled pairs."""
    columns = label_columns(human, assessor, weights)
    scale = scale_of_grades(columns.grades, rules)
    grades = _indices_of_grades(columns.grades, scale, rules)
    positions = [_position(label, scale, rules) for label in columns.labels]
    # of each row: the grades' places in the scale, -1 where there is none
    cut = _cut_place(scale, rules.cut)
    human_at = _places([grades[grade] for grade in columns.grades], cut)[columns.grade]
    label = np.maximum(columns.label, NO_LABEL)
    assessor_at = _places([at for at, _ in positions], cut)[label]
    scale = (0, 1) if cut else scale
    clipped = np.array([*(is_clipped for _, is_clipped in positions), False])[label]
    judged, has_grade = human_at >= 0, assessor_at >= 0
    graded, ungraded = judged & has_grade, judged & ~has_grade
    mass = None if columns.weight is None else columns.weight[ungraded]
    left_out = LeftOut(
        int((ungraded & (columns.label == NO_LABEL)).sum()),
        columns.only_assessor,
        int((~judged).sum()),
        _by_text(columns.label_counts(ungraded)),
        dict(columns.status_counts(ungraded).most_common()),
        int((graded & clipped).sum()),
        np.bincount(human_at[ungraded], mass, len(scale)).astype(np.float64),
    )
    # the queries that have any row that both graded, in their order
    used, query = np.unique(columns.query[graded], return_inverse=True)
    pairs = GradedPairs(
        tuple(columns.queries[at] for at in used.tolist()),
        scale,
        query.astype(np.int64),
        human_at[graded],
        assessor_at[graded],
        np.flatnonzero(graded),
        None if columns.weight is None else columns.weight[graded],
    )
    return Aligned(pairs, left_out, columns)


def _places(places: Sequence[int | None], cut: int) -> Integers:
    """Places in the scale, -1 for none, and one more -1 for what has no value at all.

    With a cut, 0 below it and 1 from there on.
    """
    each = [-1 if at is None else int(at >= cut) if cut else at for at in places]
    return np.array([*each, -1], dtype=np.int64)


def _by_text(counts: Mapping[Label, int]) -> dict[str, int]:
    """Labels by their texts, the most frequent first."""
    texts: Counter[str] = Counter()
    for label, count in counts.items():
        texts[str(label)] += count
    return dict(texts.most_common())


def grades_of_human(human: Qrels, scale: Sequence[int], rules: Rules) -> PairColumns[int]:
    """The human grades as the rules read them; those left unjudged are left out."""
    people = PairColumns.of(human, np.int64)
    return people.replaced(
        _as_read(_indices_of_grades(people.coded[0], scale, rules), scale, rules)
    )


def grades_of_assessor(labels: Labels, scale: Sequence[int], rules: Rules) -> PairColumns[int]:
    """The assessor's usable grades as the rules read them."""
    given = PairColumns.of(labels)
    places = {label: _position(label, scale, rules)[0] for label in given.coded[0]}
    return given.replaced(_as_read(places, scale, rules))


def _as_read(
    places: Mapping[Any, int | None], scale: Sequence[int], rules: Rules
) -> dict[Any, int | None]:
    """The grade of each label, of which the places in the scale are known; after a cut 0 or 1."""
    cut = rules.cut
    return {
        label: None if at is None else scale[at] if cut is None else int(scale[at] >= cut)
        for label, at in places.items()
    }


def _indices_of_grades(
    grades: Iterable[int], scale: Sequence[int], rules: Rules
) -> dict[int, int | None]:
    indices: dict[int, int | None] = {}
    for grade in set(grades):
        mapped = rules.map_human.get(grade, grade)
        indices[grade] = scale.index(mapped) if mapped in scale else None
        if indices[grade] is None and mapped >= 0:
            raise BadInput(
                f"the human qrels hold the grade {grade}, outside the scale {scale[0]}:{scale[-1]}"
            )
    return indices


def _position(label: Label, scale: Sequence[int], rules: Rules) -> tuple[int | None, bool]:
    """Where a label stands in the scale, `None` outside it, and whether it was clipped to there."""
    value = number(label)
    if value is None:
        return None, False
    if value.is_integer():
        value = float(rules.map_assessor.get(int(value), int(value)))
    inside = float(min(max(value, scale[0]), scale[-1])) if rules.clip else value
    if not inside.is_integer() or int(inside) not in scale:
        return None, False
    return scale.index(int(inside)), inside != value


def _cut_place(scale: Sequence[int], cut: int | None) -> int:
    """The place in the scale from which on a grade counts as 1; 0 without a cut."""
    if cut is None:
        return 0
    if cut not in scale[1:]:
        cuts = ", ".join(map(str, scale[1:]))
        raise Misuse(f"cannot cut at {cut}; this scale's cuts: {cuts}", parameter="cut")
    return scale.index(cut)


# What a user writes of scales and maps, as data.

_PAIR = re.compile(r"(-?[0-9]{1,9})=(-?[0-9]{1,9})")
SIDES = HUMAN, ASSESSOR = "human", "assessor"


def parse_maps(texts: Iterable[str]) -> dict[str, dict[int, int]]:
    """`human:1=0,2=1` as maps of grades by side; where no side is named, the assessor's."""
    maps: dict[str, dict[int, int]] = {HUMAN: {}, ASSESSOR: {}}
    for text in texts:
        side, colon, pairs = text.rpartition(":")
        matches = [_PAIR.fullmatch(part.strip()) for part in pairs.split(",")]
        if (colon and side not in SIDES) or not all(matches):
            raise Misuse(
                "expected a map of grades such as human:1=0,2=1 or assessor:0=3,1=2; got "
                f"{text!r:.80}",
                parameter="maps",
            )
        maps[side or ASSESSOR].update((int(pair[1]), int(pair[2])) for pair in matches if pair)
    return maps


def parse_share(text: str) -> float:
    """`20%` or `0.2` as 0.2."""
    number_text, percent, rest = text.strip().partition("%")
    try:
        share = float(number_text) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if rest or not 0 <= share <= 1:
        raise Misuse(f"expected a share such as 20% or 0.2; got {text!r}", parameter="overlap")
    return share


# Signs that two sets of labels do not mean the same by their grades, or not the same pairs.

SHARE_OUTSIDE = 0.05
"""From this share of labels outside the scale on, the scale is suspicious."""
RARE = 0.005
"""Grades of a smaller share say nothing about a scale: a stray 10 is a slip."""


def suspicions(
    labels: LabelColumns, people: str, rules: Rules, scale: Sequence[int], order: float | None
) -> list[Finding]:
    """What looks wrong, each with the setting that would mend it; nothing is mended here.

    `order` is the rank correlation of the labels, where that is low enough to mean something.
    Nothing is said where no pair has both.
    """
    if not labels.meets:
        return []
    ours = {rules.map_human.get(grade, grade) for grade in labels.grades if grade >= 0}
    # the other's numbers on people's pairs, mapped, with how often each stands there
    numbers: Counter[float] = Counter()
    for label, count in labels.label_counts().items():
        value = number(label)
        if value is not None:
            numbers[rules.map_assessor.get(int(value), value) if value % 1 == 0 else value] += count
    findings = []
    for side, grades in ((people, ours), ("the other", set(numbers))):
        if len(grades) == 1 and (len(ours) > 1 or len(numbers) > 1):
            gives = f"{'give' if side == PEOPLE else 'gives'} the grade {next(iter(grades)):g}"
            findings.append(Finding(f"{side} {gives} to every pair: kappa is then 0 or undefined"))
    if numbers and rules.cut is None:
        findings += [] if rules.clip else _another_scale(ours, numbers, scale, rules, people)
        if not any(finding.settings for finding in findings):
            findings += _binary_human(ours, _usual(numbers), people)
    if order is not None and numbers:
        findings.append(_reversed(order, ours, numbers, scale, rules))
    return findings


def _ranges(ours: set[int], usual: set[float], people: str) -> str:
    """From where to where the grades of both sides go, in words."""
    return (
        f"{people}'s grades are {min(ours)} to {max(ours)}, the other's {min(usual):g} to "
        f"{max(usual):g}"
    )


def _usual(numbers: Counter[float]) -> set[float]:
    """The numbers that are no mere slips."""
    return {value for value, n in numbers.items() if n >= RARE * numbers.total()} or set(numbers)


def _used(ours: set[int], numbers: Counter[float], scale: Sequence[int]) -> Sequence[int]:
    """The grades of the scale from the lowest to the highest that either side uses."""
    both = ours | {int(value) for value in _usual(numbers) if value in scale}
    return tuple(range(min(both), max(both) + 1))


def _another_scale(
    ours: set[int], numbers: Counter[float], scale: Sequence[int], rules: Rules, people: str
) -> Iterator[Finding]:
    total = numbers.total()
    outside = sum(n for value, n in numbers.items() if value not in scale)
    usual = _usual(numbers)
    low, high, used = min(usual), max(usual), _ranges(ours, usual, people)
    shift = min(ours) - low
    whole = all(value % 1 == 0 for value in usual)
    if whole and shift and high + shift == max(ours) and (outside or rules.scale is None):
        mend = Setting("map_assessor", {int(value): int(value + shift) for value in sorted(usual)})
        text = f"{used}: the same scale moved by {shift:+g}? {mend} would mend that"
        yield Finding(text, settings=(mend,))
    elif not whole and outside > total / 2:
        yield Finding(
            f"{used}, mostly fractions: scores, it seems, which have to be cut into grades first"
        )
    elif outside >= SHARE_OUTSIDE * total:
        wider = range(floor(min(low, scale[0])), ceil(max(high, scale[-1])) + 1)
        widen, clip = Setting("scale", wider), Setting("clip", True)
        would = f"{widen} would take them in, {clip} would clip them into {scale[0]}:{scale[-1]}"
        text = f"{used}: {outside} of {total} labels lie outside the scale; {would}"
        yield Finding(text, settings=(widen, clip))
    elif usual == {0.0, 1.0} and max(ours) > 1:
        graded = rules.scale or range(min(ours), max(ours) + 1)
        upper = {grade: int(2 * grade > graded[0] + graded[-1]) for grade in graded}
        cut, halves = Setting("cut", 1), Setting("map_human", upper)
        middle = 1 + (graded[0] + graded[-1]) // 2
        would = f"{cut} would make {people}'s binary from 1 on, {halves} from {middle} on"
        yield Finding(f"{used}: binary against graded? {would}", settings=(cut, halves))


def _binary_human(ours: set[int], usual: set[float], people: str) -> Iterator[Finding]:
    if max(ours) == 1 and max(usual) > 1 and all(value % 1 == 0 for value in usual):
        upper = {int(value): int(value > 1) for value in sorted(usual)}
        cut, halves = Setting("cut", 1), Setting("map_assessor", upper)
        would = f"{cut} would make the other's binary from 1 on, {halves} from 2 on"
        used = _ranges(ours, usual, people)
        yield Finding(f"{used}: graded against binary? {would}", settings=(cut, halves))


def _reversed(
    order: float, ours: set[int], numbers: Counter[float], scale: Sequence[int], rules: Rules
) -> Finding:
    """The other's grades run against people's: each would have to be counted from the other end.

    A scale that is moved too is moved with it.
    """
    usual = _usual(numbers)
    low, high = int(min(usual)), int(max(usual))
    theirs: Sequence[int] = range(low, high + 1)
    moved = not usual <= set(scale) and high - low == max(ours) - min(ours)
    if not moved:
        theirs = rules.scale or _used(ours, numbers, scale)
    top = max(ours) + low if moved else theirs[0] + theirs[-1]
    own = rules.map_assessor
    turn = Setting("map_assessor", {g: top - own.get(g, g) for g in sorted({*theirs, *own})})
    against = f"the grades run against each other (Spearman {order:.2f})"
    return Finding(f"{against}: is one scale reversed? {turn} would turn it", settings=(turn,))
