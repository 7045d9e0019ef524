"""Signs that two sets of labels do not mean the same by their grades, or not the same pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, floor

from labeler.agreement.align import PEOPLE, LabelColumns, Rules
from labeler.report.finding import Finding, Setting
from labeler.trec.labels import number

SHARE_OUTSIDE = 0.05
"""From this share of labels outside the scale on, the scale is suspicious."""
RARE = 0.005
"""Grades of a smaller share say nothing about a scale: a stray 10 is a slip."""


def suspicions(
    labels: LabelColumns, people: str, rules: Rules, scale: tuple[int, ...], order: float | None
) -> list[Finding]:
    """What looks wrong, each with the setting that would mend it; nothing is mended here.

    `order` is the rank correlation of the labels, where that is low enough to mean something.
    Nothing is said where no pair has both.
    """
    if not labels.meets:
        return []
    ours = {rules.map_human.get(grade, grade) for grade in labels.grades if grade >= 0}
    numbers = _numbers_on_shared_pairs(labels, rules)
    findings = list(_of_constant_grades(ours, numbers, people))
    if numbers and rules.cut is None:
        findings += [] if rules.clip else _another_scale(ours, numbers, scale, rules, people)
        if not any(finding.settings for finding in findings):
            findings += _binary_human(ours, _usual(numbers), people)
    if order is not None and numbers:
        findings.append(_reversed(order, ours, numbers, scale, rules))
    return findings


def _numbers_on_shared_pairs(labels: LabelColumns, rules: Rules) -> Counter[float]:
    """The other's numbers on people's pairs, mapped, with how often each stands there."""
    numbers: Counter[float] = Counter()
    for label, count in labels.label_counts().items():
        value = number(label)
        if value is not None:
            numbers[rules.map_assessor.get(int(value), value) if value % 1 == 0 else value] += count
    return numbers


def _of_constant_grades(ours: set[int], numbers: Counter[float], people: str) -> Iterator[Finding]:
    """A finding for each side that gives every pair the same grade."""
    for side, grades in ((people, ours), ("the other", set(numbers))):
        if len(grades) == 1 and (len(ours) > 1 or len(numbers) > 1):
            verb = _give(side)
            only = f"{next(iter(grades)):g}"
            every = f"{side} {verb} the grade {only} to every pair"
            yield Finding(f"{every}: kappa is then 0 or undefined")


def _give(side: str) -> str:
    return "give" if side == PEOPLE else "gives"


def _ranges(ours: set[int], usual: set[float], people: str) -> str:
    """From where to where the grades of both sides go, in words."""
    theirs = f"the other's {min(usual):g} to {max(usual):g}"
    return f"{people}'s grades are {min(ours)} to {max(ours)}, {theirs}"


def _usual(numbers: Counter[float]) -> set[float]:
    """The numbers that are no mere slips."""
    return {value for value, n in numbers.items() if n >= RARE * numbers.total()} or set(numbers)


def _used(ours: set[int], numbers: Counter[float], scale: tuple[int, ...]) -> tuple[int, ...]:
    """The grades of the scale from the lowest to the highest that either side uses."""
    both = ours | {int(value) for value in _usual(numbers) if value in scale}
    return tuple(range(min(both), max(both) + 1))


def _another_scale(
    ours: set[int], numbers: Counter[float], scale: tuple[int, ...], rules: Rules, people: str
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
        fractions = f"{used}, mostly fractions: scores, it seems"
        yield Finding(f"{fractions}, which have to be cut into grades first")
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
    order: float, ours: set[int], numbers: Counter[float], scale: tuple[int, ...], rules: Rules
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
