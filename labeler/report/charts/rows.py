"""Charts of rows, a name for each: names at the left where there is room, else above their row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labeler.report.charts.drawing import WIDE, Axis, Canvas
from labeler.report.charts.legend import Entry, legend
from labeler.report.charts.svg import fitted, length, uprights, words
from labeler.report.charts.ticks import Scale, scale

_NAMES, _FIGURES = 0.34, 0.36
"""The shares of a wide chart that names and figures take at most."""
_MARGIN, _HEAD, _FOOT, _GROUP = 24.0, 8.0, 42.0, 28.0
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
    """Where the rows of a chart stand: their middles, and the scale below them, in a width."""

    scale: Scale
    middles: tuple[float, ...]
    width: int


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
        return self.width >= WIDE

    @property
    def ends(self) -> tuple[float, float]:
        """Where the drawing begins and ends."""
        if not self.beside:
            return _MARGIN, self.width - _MARGIN
        return max(self.names + 14, _MARGIN), self.width - max(self.figures + 14, _MARGIN)

    @property
    def pitch(self) -> float:
        """The height from one row to the next."""
        return self.row + 4 if self.beside else self.row + 20


@dataclass(frozen=True)
class RowChart:
    """A chart of rows on one axis, which holds all `values`; a row's mark is `height` high."""

    rows: Sequence[ChartRow]
    axis: Axis
    values: Sequence[float | None]
    entries: Sequence[Entry] = ()
    height: float = 18

    def draw(self, width: int, marks: Callable[[Frame], Iterable[str]]) -> Canvas:
        """The chart in a width; `marks` draws into the frame that is made for it."""
        space = self._space(width)
        start = space.ends[0] if space.beside else 0.0
        head, below = legend(self.entries, start, width, _HEAD)
        top = below + (20 if len(self.rows) > _MANY else 0)
        made = scale(self.axis, self.values, *space.ends)
        middles, names, bottom = self._names(space, top)
        half = space.row / 2 + 1
        spans = [(top, bottom)] if space.beside else [(y - half, y + half) for y in middles]
        parts = [head, _grid(made, spans, self.axis), *marks(Frame(made, middles, width)), names]
        for y in (bottom + 16, top - 8)[: 2 if len(self.rows) > _MANY else 1]:
            parts += numbers_across(made, y, width)
        parts.append(label_across(self.axis.label, made, bottom + 34, width))
        return Canvas(bottom + _FOOT, "".join(parts))

    def _space(self, width: int) -> RowSpace:
        """Names and figures get as much as they need, of a wide chart within limits."""
        names = max((length(row.name) for row in self.rows), default=0)
        figures = max((length(row.figures) for row in self.rows), default=0)
        if width >= WIDE:
            names, figures = min(names, _NAMES * width), min(figures, _FIGURES * width)
        return RowSpace(width, names + 2, min(figures, width) + 2, self.height)

    def _names(self, space: RowSpace, top: float) -> tuple[tuple[float, ...], str, float]:
        """The middle of each row, all names and figures, and where the last row ends."""
        middles, parts, y, group = [], [], top, ""
        for row in self.rows:
            if row.group != group:
                group, y = row.group, y + _GROUP
                parts.append(words("group", (0, y - 8), fitted(group, space.width), group))
            middles.append(y + space.pitch - space.row / 2 - 2)
            parts.append(_words_of(row, space, y, middles[-1]))
            y += space.pitch
        return tuple(middles), "".join(parts), y


def _words_of(row: ChartRow, space: RowSpace, top: float, middle: float) -> str:
    """A row's name and its figures, beside its middle or on a line above it."""
    base = middle + 4 if space.beside else top + 15
    figures = fitted(row.figures, space.figures)
    room = space.names if space.beside else space.width - length(figures) - 12
    name = words("name", (0, base), fitted(row.name, room), row.name)
    return name + words("figures end", (space.width, base), figures, row.figures)


def _grid(made: Scale, spans: Sequence[tuple[float, float]], axis: Axis) -> str:
    """A line for each tick and one for the reference, in pieces that run through no name."""
    reference = [] if axis.reference is None else [made(axis.reference)]
    lines = uprights("grid", map(made, made.ticks), spans)
    return lines + uprights("reference", reference, spans)


def numbers_across(made: Scale, y: float, width: float) -> list[str]:
    """The numbers of the ticks along a horizontal axis, none beyond the chart's width."""
    parts = []
    for tick, label in zip(made.ticks, made.labels, strict=True):
        half = length(label) / 2
        parts.append(words("tick middle", (min(max(made(tick), half), width - half), y), label))
    return parts


def label_across(label: str, made: Scale, y: float, width: float) -> str:
    """What a horizontal axis measures, below its middle, within a chart of that width."""
    middle = (made.start + made.end) / 2
    room = 2 * min(middle, width - middle)
    return words("axis middle", (middle, y), fitted(label, room), label)
