"""Charts of rows, a name for each: names at the left where there is room, else above their row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labeler.report.charts.drawing import Axis, Canvas
from labeler.report.charts.svg import fitted, length, line, words
from labeler.report.charts.ticks import Scale, scale

NAMED_BESIDE = 560
"""From this width on, names stand beside their rows."""
_MOST_NAME = 0.34
_MARGIN, _HEAD, _FOOT, _GROUP = 24.0, 8.0, 40.0, 26.0
_MANY = 18
"""Charts of more rows have the numbers of their axis above them, too."""


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart: its name, its numbers as text, and the heading that it stands under."""

    name: str
    figures: str
    group: str = ""


@dataclass(frozen=True)
class Frame:
    """Where the rows of a chart stand: their middles, the scale below them, and all words."""

    scale: Scale
    middles: tuple[float, ...]
    height: float
    parts: str

    def canvas(self, marks: Iterable[str]) -> Canvas:
        """The chart with its marks, which lie over lines and under no words."""
        return Canvas(self.height, self.parts + "".join(marks))


@dataclass(frozen=True)
class RowSpace:
    """How the width of a chart is shared, and the height of what is drawn in a row."""

    width: int
    names: float
    figures: float
    row: float

    @property
    def beside(self) -> bool:
        """Whether names stand beside their rows."""
        return self.width >= NAMED_BESIDE

    @property
    def ends(self) -> tuple[float, float]:
        """Where the drawing begins and ends."""
        if not self.beside:
            return _MARGIN, self.width - _MARGIN
        return max(self.names + 14, _MARGIN), self.width - max(self.figures + 14, _MARGIN)

    @property
    def pitch(self) -> float:
        """The height from one row to the next."""
        return self.row + 4 if self.beside else self.row + 22


def row_space(rows: Sequence[ChartRow], width: int, row: float = 18) -> RowSpace:
    """The space for rows: names and figures as wide as they are, within a third each."""
    names = max((length(row.name) for row in rows), default=0)
    figures = max((length(row.figures) for row in rows), default=0)
    return RowSpace(
        width, min(names, _MOST_NAME * width) + 2, min(figures, _MOST_NAME * width) + 2, row
    )


def frame(
    rows: Sequence[ChartRow], space: RowSpace, axis: Axis, values: Iterable[float | None]
) -> Frame:
    """The names, figures, lines and numbers of a chart of rows, on the scale of its axis."""
    made = scale(axis, values, *space.ends)
    top = _HEAD + (22 if len(rows) > _MANY else 0)
    middles, parts, y, group = [], [], top, ""
    for row in rows:
        if row.group != group:
            group, y = row.group, y + _GROUP
            parts.append(words("group", (0, y - 9), fitted(group, space.width)))
        middles.append(y + space.pitch - space.row / 2 - 2)
        parts.append(_words_of(row, space, y, middles[-1]))
        y += space.pitch
    lines = _grid(made, (top, y), axis, both=len(rows) > _MANY)
    lines += label_across(axis.label, made, y + 33, space.width)
    return Frame(made, tuple(middles), y + _FOOT, lines + "".join(parts))


def _words_of(row: ChartRow, space: RowSpace, top: float, middle: float) -> str:
    """A row's name and its figures, beside its middle or on a line above it."""
    base = middle + 4 if space.beside else top + 15
    figures = fitted(row.figures, space.figures)
    room = space.names if space.beside else space.width - length(figures) - 12
    name = words("name", (0, base), fitted(row.name, room), row.name)
    return name + words("figures end", (space.width, base), figures, row.figures)


def _grid(made: Scale, ends: tuple[float, float], axis: Axis, *, both: bool) -> str:
    """A line for each tick with its number, the reference, and the axis's label below all."""
    top, bottom = ends
    parts = [line("grid", (made(tick), top), (made(tick), bottom)) for tick in made.ticks]
    for y in (bottom + 16, top - 8)[: 2 if both else 1]:
        parts += numbers_across(made, y)
    if axis.reference is not None:
        x = made(axis.reference)
        parts.append(line("reference", (x, top), (x, bottom)))
    return "".join(parts)


def numbers_across(made: Scale, y: float) -> list[str]:
    """The numbers of the ticks along a horizontal axis."""
    labels = zip(made.ticks, made.labels, strict=True)
    return [words("tick middle", (made(tick), y), label) for tick, label in labels]


def label_across(label: str, made: Scale, y: float, width: float) -> str:
    """What a horizontal axis measures, below its middle, within a chart of that width."""
    middle = (made.start + made.end) / 2
    room = 2 * min(middle, width - middle)
    return words("axis middle", (middle, y), fitted(label, room), label)


def chart_of_rows(
    rows: Sequence[ChartRow],
    axis: Axis,
    values: Sequence[float | None],
    marks: Callable[[Frame], Iterable[str]],
    row: float = 18,
) -> Callable[[int], Canvas]:
    """What draws a chart of rows in any width; `marks` draws into the frame that is made for it."""

    def draw(width: int) -> Canvas:
        made = frame(rows, row_space(rows, width, row), axis, values)
        return made.canvas(marks(made))

    return draw
