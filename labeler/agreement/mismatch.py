"""Signs that two sets of labels do not mean the same by their grades, or not the same pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from labeler.agreement.align import USUAL, AssessorLabels, Labels, Rules
from labeler.data import Qrels
from labeler.messages import no_pair_in_common
from labeler.trec.labels import number

SHARE_OUTSIDE = 0.05
"""From this share of labels outside the scale on, the scale is suspicious."""
RARE = 0.005
"""Grades of a smaller share say nothing about a scale: a stray 10 is a slip."""


def suspicions(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    scale: tuple[int, ...],
    order: float | None,
) -> list[str]:
    """What looks wrong, each with the option that would mend it; nothing is mended here.

    `order` is the rank correlation of the labels, where that is low enough to mean something.
    """
    labels = assessor.labels
    if not share_a_pair(human, labels):
        return [no_pair_in_common("people", human, assessor.name, labels)]
    ours = {
        rules.map_human.get(grade, grade)
        for row in human.values()
        for grade in set(row.values())
        if grade >= 0
    }
    found = _numbers_on_shared_pairs(human, labels, rules)
    warnings = [*_astray(human, rules), *_of_one_grade(ours, found)]
    if found and rules.cut is None:
        warnings += [] if rules.clip else _another_scale(ours, found, scale, rules)
        warnings += (
            [] if any("--" in one for one in warnings) else _binary_human(ours, _usual(found))
        )
    if order is not None and found:
        warnings.append(_reversed(order, _turned(ours, found, scale, rules)))
    return warnings


def share_a_pair(human: Qrels, labels: Labels) -> bool:
    """Whether any pair stands on both sides, whatever its labels."""
    return any(row.keys() & human.get(q, {}).keys() for q, row in labels.items())


def _numbers_on_shared_pairs(human: Qrels, labels: Labels, rules: Rules) -> Counter[float]:
    """The other's numbers on people's pairs, mapped, with how often each stands there."""
    found: Counter[int | str] = Counter()
    for query_id, graded in human.items():
        row = labels.get(query_id, {})
        found.update(row[doc_id] for doc_id in graded if doc_id in row)
    numbers: Counter[float] = Counter()
    for label, count in found.items():
        value = number(label)
        if value is not None:
            numbers[rules.map_assessor.get(int(value), value) if value % 1 == 0 else value] += count
    return numbers


def _of_one_grade(ours: set[int], found: Counter[float]) -> Iterator[str]:
    """Of a side that tells nothing apart, whatever the other does."""
    for side, grades in (("people", ours), ("the other", set(found))):
        if len(grades) == 1 and (len(ours) > 1 or len(found) > 1):
            verb = "give" if side == "people" else "gives"
            only = f"{next(iter(grades)):g}"
            yield f"{side} {verb} the grade {only} to every pair: kappa is then 0 or undefined"


def _usual(found: Counter[float]) -> set[float]:
    """The numbers that are no mere slips."""
    return {value for value, n in found.items() if n >= RARE * found.total()} or set(found)


def _used(ours: set[int], found: Counter[float], scale: tuple[int, ...]) -> tuple[int, ...]:
    """The grades from the lowest to the highest that either side uses."""
    both = ours | {int(value) for value in _usual(found) if value in scale}
    return tuple(range(min(both), max(both) + 1))


def _another_scale(
    ours: set[int], found: Counter[float], scale: tuple[int, ...], rules: Rules
) -> Iterator[str]:
    total = found.total()
    outside = sum(n for value, n in found.items() if value not in scale)
    usual = _usual(found)
    low, high = min(usual), max(usual)
    used = f"people's grades are {min(ours)} to {max(ours)}, the other's {low:g} to {high:g}"
    shift = min(ours) - low
    whole = all(value % 1 == 0 for value in usual)
    if whole and shift and high + shift == max(ours) and (outside or rules.scale is None):
        moved = _map({int(value): int(value + shift) for value in sorted(usual)})
        yield f"{used}: the same scale moved by {shift:+g}? --map other:{moved} would mend that"
    elif not whole and outside > total / 2:
        yield f"{used}, mostly fractions: scores, it seems, which have to be cut into grades first"
    elif outside >= SHARE_OUTSIDE * total:
        wide = f"--scale {min(low, scale[0]):g}:{max(high, scale[-1]):g} would take them in"
        clip = f"--clip would clip them into {scale[0]}:{scale[-1]}"
        yield f"{used}: {outside} of {total} labels lie outside the scale; {wide}, {clip}"
    elif usual == {0.0, 1.0} and max(ours) > 1:
        graded = rules.scale or range(min(ours), max(ours) + 1)
        halves = _map({grade: int(2 * grade > graded[0] + graded[-1]) for grade in graded})
        yield (
            f"{used}: binary against graded? --cut 1 would make people's binary from 1 on, "
            f"--map people:{halves} from {1 + (graded[0] + graded[-1]) // 2} on"
        )


def _binary_human(ours: set[int], usual: set[float]) -> Iterator[str]:
    if max(ours) == 1 and max(usual) > 1 and all(value % 1 == 0 for value in usual):
        halves = _map({int(value): int(value > 1) for value in sorted(usual)})
        yield (
            f"people's grades are {min(ours)} to 1, the other's {min(usual):g} to {max(usual):g}: "
            "graded against binary? --cut 1 would make the other's binary from 1 on, "
            f"--map other:{halves} from 2 on"
        )


def _reversed(order: float, turned: Mapping[int, int]) -> str:
    return (
        f"the grades run against each other (Spearman {order:.2f}): is one scale reversed? "
        f"--map other:{_map(dict(turned))} would turn it"
    )


def _turned(
    ours: set[int], found: Counter[float], scale: tuple[int, ...], rules: Rules
) -> dict[int, int]:
    """The other's grades as they stand in its file, each to people's from the other end.

    A scale that is moved too is moved with it.
    """
    usual = _usual(found)
    low, high = int(min(usual)), int(max(usual))
    theirs = tuple(range(low, high + 1))
    moved = not usual <= set(scale) and high - low == max(ours) - min(ours)
    if not moved:
        theirs = rules.scale or _used(ours, found, scale)
    top = max(ours) + low if moved else theirs[0] + theirs[-1]
    return {g: top - rules.map_assessor.get(g, g) for g in sorted({*theirs, *rules.map_assessor})}


def _astray(human: Qrels, rules: Rules) -> Iterator[str]:
    """A grade of people's that hardly any pair has, far from all others, and widens the scale."""
    if rules.scale is not None:
        return
    counts = Counter(grade for row in human.values() for grade in row.values() if grade >= 0)
    mapped: Counter[int] = Counter()
    for grade, count in counts.items():
        mapped[rules.map_human.get(grade, grade)] += count
    grades = sorted(mapped)
    if len(grades) < 3 or grades[-1] <= USUAL[-1]:
        return
    last, before, count = grades[-1], grades[-2], mapped[grades[-1]]
    rare = count <= max(3, RARE * mapped.total()) and 10 * count <= mapped.total()
    if rare and last - before > 1:
        yield (
            f"people give the grade {last} to {count} of {mapped.total():,} pairs, the others at "
            f"most {before}: a slip? --map people:{last}={before} would mend that, "
            f"--scale {grades[0]}:{last} would say that it is none"
        )


def _map(pairs: dict[int, int]) -> str:
    return ",".join(f"{old}={new}" for old, new in pairs.items())
