"""Signs that two sets of labels do not mean the same by their grades, or not the same pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from labeler.agreement.align import Labels, Rules, number
from labeler.data import Qrels

SHARE_OUTSIDE = 0.05
"""From this share of labels outside the scale on, the scale is suspicious."""


def suspicions(
    people: Qrels, labels: Labels, scale: tuple[int, ...], order: float | None
) -> list[str]:
    """What looks wrong, each with the option that would mend it; nothing is mended here.

    `order` is the rank correlation of the labels as they were read, `None` where there is none.
    """
    if not any(row.keys() & people.get(q, {}).keys() for q, row in labels.items()):
        return [_nothing_in_common(people, labels)]
    ours = {grade for row in people.values() for grade in row.values() if grade >= 0}
    found = _shared_numbers(people, labels)
    warnings = [*_another_scale(ours, found, scale), *_reversed(order, scale)]
    return [warning for warning in warnings if warning]


def _nothing_in_common(people: Qrels, labels: Labels) -> str:
    known, unknown = sorted(people), sorted(labels)
    if set(known) & set(unknown):
        one = next(q for q in known if q in labels)
        ours, theirs = min(people[one], default="none"), min(labels[one], default="none")
        kind = f"the queries are the same, the documents are not ({ours!r} against {theirs!r})"
    else:
        ours, theirs = (ids[0] if ids else "none" for ids in (known, unknown))
        kind = f"not one query id is shared ({ours!r} against {theirs!r})"
    return f"no pair in common: {kind}; are both files about the same collection?"


def _shared_numbers(people: Qrels, labels: Labels) -> Counter[float]:
    """The other's numbers on people's pairs, with how often each stands there."""
    found: Counter[float] = Counter()
    for query_id, graded in people.items():
        row = labels.get(query_id, {})
        found.update(v for d in graded if d in row and (v := number(row[d])) is not None)
    return found


def _another_scale(ours: set[int], found: Counter[float], scale: tuple[int, ...]) -> Iterable[str]:
    total = found.total()
    outside = sum(n for value, n in found.items() if value not in scale)
    if not total:
        return
    low, high = min(found), max(found)
    used = f"people's grades are {min(ours)}–{max(ours)}, the other's {low:g}–{high:g}"
    whole = all(value.is_integer() for value in found)
    shift = min(ours) - low
    if whole and shift and high + shift == max(ours):
        moved = ",".join(f"{g - shift:g}={g}" for g in range(min(ours), max(ours) + 1))
        yield f"{used}, which looks like the same scale moved by {shift:+g}; --map other:{moved} would mend it"
    elif not whole and len([v for v in found if not v.is_integer()]) > 1 and outside > total / 2:
        yield f"{used}, mostly no whole numbers: scores rather than grades; cut them into grades first"
    elif outside >= SHARE_OUTSIDE * total:
        yield (
            f"{used}: {outside} of {total} labels lie outside the scale and were left out; "
            f"--scale {min(low, scale[0]):g}:{max(high, scale[-1]):g} would take them in, --clip would clip them into "
            f"{scale[0]}:{scale[-1]}, --map other:… would rename them"
        )
    elif whole and set(found) <= {0.0, 1.0} and len(scale) > 2:
        halves = ",".join(f"{g}={int(g >= (scale[0] + scale[-1] + 1) / 2)}" for g in scale)
        yield f"{used}: the other's grades are binary; --map people:{halves} --scale 0:1 would bring people's to that"


def _reversed(order: float | None, scale: tuple[int, ...]) -> Iterable[str]:
    if order is not None and order < 0:
        turned = ",".join(f"{a}={b}" for a, b in zip(scale, reversed(scale), strict=True))
        yield f"the grades run against each other (Spearman {order:.2f}): a reversed scale? --map other:{turned} would turn it"
