"""What the marks of a chart stand for: a sample of each with its name, on as few lines as fit."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.report.charts.svg import dot, fitted, length, line, path, rectangle, words

Entry = tuple[str, str]
"""A mark's class and what it stands for."""
_LINE, _SAMPLE, _GAP = 20.0, 22.0, 18.0


def legend(entries: Sequence[Entry], start: float, end: float, top: float) -> tuple[str, float]:
    """The legend between two pixels of the width, and the pixel where it ends below."""
    parts, x, y = [], start, top + 8
    for kind, name in entries:
        text = fitted(name, end - start - _SAMPLE)
        if x > start and x + _SAMPLE + length(text) > end:
            x, y = start, y + _LINE
        parts += [sample(kind, x, y), words("name", (x + _SAMPLE, y + 4), text, name)]
        x += _SAMPLE + length(text) + _GAP
    return "".join(parts), y + _LINE - 4 if entries else top


def sample(kind: str, x: float, y: float) -> str:
    """A mark as it stands in the chart, in 16 pixels from `x` on."""
    shape = kind.partition(" ")[0]
    if shape == "dot":
        return dot(kind, (x + 8, y), 4.5)
    if shape == "out":
        return triangle((x + 8, y))
    if shape in {"line", "limit", "reference", "whisker", "median"}:
        return line(kind, (x, y), (x + 16, y))
    if shape == "other":
        return rectangle(kind, (x + 4, y - 4), (8, 8), "")
    return rectangle(kind, (x + 1, y - 6), (14, 12), "")


def triangle(at: tuple[float, float], tip: str = "") -> str:
    """What lies outside its limits."""
    x, y = at
    return path("out", [(x - 6, y + 5), (x + 6, y + 5), (x, y - 6), (x - 6, y + 5)], tip)
