"""Scales: values to pixels, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from labeler.report.charts.drawing import Axis, is_number
from labeler.report.charts.svg import length
from labeler.report.table import number_text

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
GAP = 14
"""Pixels between the labels of two ticks."""
_LONG = 1e9
"""From this number on, ticks are written with a power of ten."""


@dataclass(frozen=True)
class Scale:
    """Values from `least` to `most` on pixels from `start` to `end`, with ticks between."""

    least: float
    most: float
    start: float
    end: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def __call__(self, value: float) -> float:
        """The pixel of a value; one beyond the scale lies at its end."""
        share = (min(max(value, self.least), self.most) - self.least) / (self.most - self.least)
        return self.start + share * (self.end - self.start)


def scale(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """The scale on which all values can be drawn, and the ends that the axis asks for."""
    reached = [value for value in values if value is not None and is_number(value)]
    reached += [v for v in (axis.least, axis.most, axis.reference) if v is not None]
    low, high = min(reached, default=0.0), max(reached, default=1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = _around(low, axis)
    room, vertical = abs(end - start), end < start
    for most_ticks in range(7 if room > 400 else 5, 1, -1):
        made = _scale(axis, (low, high), (start, end), most_ticks)
        if _fits(made, room, vertical=vertical) or most_ticks == 2:
            break
    return made


def _around(value: float, axis: Axis) -> tuple[float, float]:
    """Some room on both sides of a single value, within what the axis allows."""
    margin = abs(value) / 10 or 1.0
    least = axis.least if axis.least is not None else value - margin
    most = axis.most if axis.most is not None else value + margin
    return (least, most) if least < most else (value - margin, value + margin)


def _scale(
    axis: Axis, reach: tuple[float, float], pixels: tuple[float, float], most_ticks: int
) -> Scale:
    step = round_step((reach[1] - reach[0]) / most_ticks)
    first, last = math.floor(reach[0] / step + 1e-9), math.ceil(reach[1] / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    labels = tuple(tick_text(tick, step, axis.format) for tick in ticks)
    return Scale(ticks[0], ticks[-1], *pixels, ticks, labels)


def _fits(made: Scale, room: float, *, vertical: bool) -> bool:
    if vertical:
        return room / len(made.ticks) >= 2 * GAP
    return sum(map(length, made.labels)) + GAP * (len(made.labels) - 1) <= room


def round_step(least: float) -> float:
    """The least of 1, 2, 2.5, 5 times a power of ten that is no less.

    >>> round_step(0.13), round_step(3), round_step(0.22)
    (0.2, 5.0, 0.25)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in _ROUND if factor * power >= least * (1 - 1e-9))


def tick_text(value: float, step: float, spec: str) -> str:
    """A tick's number with the decimals that its step needs, as percent or money where it is."""
    percent, sign = spec.endswith("%"), "+" if "+" in spec else ""
    size = step * (100 if percent else 1)
    decimals = next((n for n in range(12) if abs(round(size, n) - size) <= 1e-6 * size), 12)
    if spec == "$":
        amount = f"${abs(value):,.{max(decimals, 2) if decimals else 0}f}"
        return f"-{amount}" if value < 0 else amount
    if abs(value) >= _LONG or 0 < step < 1 / _LONG:
        return format(value, f"{sign}.3g")
    return number_text(value, f"{sign},.{decimals}{'%' if percent else 'f'}")
