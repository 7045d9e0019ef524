"""A table of results: cells as the values they are, and columns that say how people read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from labeler.messages import dollars
from labeler.report.printable import flat

if TYPE_CHECKING:
    from pandas import DataFrame

Scalar = str | int | float | None


class Interval(NamedTuple):
    """A value with the ends of its interval; `None` or nan is undefined."""

    value: float | None
    low: float | None
    high: float | None


class Ends(NamedTuple):
    """The ends of an interval whose value stands in another column, or that has none."""

    low: float | None
    high: float | None


Cell = Scalar | Interval | Ends
Row = Sequence[Cell]


@dataclass(frozen=True)
class Column:
    """A column: its name for programs, and how people see it.

    `title` stands in the header for people, `name` where there is none. `format` is a format spec
    of numbers, such as ".4f" or "+.1f"; a whole number is shown whole in any of them. `ends` is the
    spec of the ends of intervals, and says that the cells are `Interval` or, where `format` is
    empty, `Ends`: people read `0.8552 [0.704, 1.000]`, programs `name`, `name low`, `name high`.
    `undefined` is what people see of nan and `None`. `widest` is how much of its words the text
    form shows at most, 0 for all that there is room for, `None` for all.
    A column is for both audiences, or `only` for one. `colors` are those in which a terminal shows
    some of its cells.
    """

    name: str
    title: str = ""
    format: str = ".4f"
    ends: str = ""
    align: Literal["left", "right"] = "right"
    undefined: str = "-"
    widest: int | None = 0
    only: Literal["", "people", "programs"] = ""
    colors: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns that programs get of this one: `value`, `low` and `high`."""
        if not self.ends:
            return (self.name,)
        of = "" if self.name == "value" else self.name
        low, high = f"{of} low".strip(), f"{of} high".strip()
        return (self.name, low, high) if self.format else (low, high)

    def values(self, cell: Cell) -> tuple[Scalar, ...]:
        """A cell for programs, one value for each of `keys`; what is undefined is `None`."""
        parts = cell if isinstance(cell, Interval | Ends) else (cell,)
        return tuple(None if is_undefined(part) else part for part in parts)

    def text(self, cell: Cell) -> str:
        """A cell for people, on one line."""
        if isinstance(cell, Interval):
            value = self._of(cell.value, self.format)
            ends = self.text(Ends(cell.low, cell.high))
            return value if self.undefined in (value, ends) else f"{value} {ends}"
        if isinstance(cell, Ends):
            if is_undefined(cell.low) or is_undefined(cell.high):
                return self.undefined
            return f"[{self._of(cell.low, self.ends)}, {self._of(cell.high, self.ends)}]"
        return self._of(cell, self.format)

    def _of(self, value: Scalar, spec: str) -> str:
        if value is None or is_undefined(value):
            return self.undefined
        return flat(value) if isinstance(value, str) else number_text(value, spec)


def is_undefined(value: Scalar) -> bool:
    """Whether a value is `None` or nan."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def number_text(value: float, spec: str) -> str:
    """A number as people read it: no minus zero, and no sign where it rounds to zero.

    A whole number (`int`) has no decimals, and commas between thousands, whatever the spec says.
    The spec "$" is for costs.
    """
    if spec == "$":
        return dollars(value)
    if isinstance(value, int):
        spec = "+," if "+" in spec else ","
    text = format(value, spec)
    rounds_to_zero = math.isfinite(value) and not any(digit in "123456789" for digit in text)
    return text.lstrip("+-") if rounds_to_zero else text


@dataclass(frozen=True)
class Table:
    """A table: a name that chooses it among others, columns, and rows of a cell for each column.

    `title` is a line over it and `note` lines under it, both for people.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""

    @property
    def keys(self) -> list[str]:
        """The header for programs."""
        return [key for column in self.columns if column.only != "people" for key in column.keys]

    def values(self) -> Iterator[list[Scalar]]:
        """The rows for programs, a value for each of `keys`."""
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            parts = (column.values(cell) for column, cell in cells if column.only != "people")
            yield [value for values in parts for value in values]

    def records(self) -> list[dict[str, Scalar]]:
        """The rows for programs, each a dict."""
        return [dict(zip(self.keys, values, strict=True)) for values in self.values()]

    @property
    def shown(self) -> list[Column]:
        """The columns that people see."""
        return [column for column in self.columns if column.only != "programs"]

    @property
    def titles(self) -> list[str]:
        """The header for people."""
        return [flat(column.title or column.name) for column in self.shown]

    def texts(self) -> list[list[str]]:
        """The rows for people, a text for each of `titles`."""
        rows = (zip(self.columns, row, strict=True) for row in self.rows)
        return [[c.text(cell) for c, cell in row if c.only != "programs"] for row in rows]

    def frame(self) -> DataFrame:
        """The rows for programs as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.values()), columns=pd.Index(self.keys))

    def _repr_html_(self) -> str:
        from labeler.report.html import table_as_html  # its names of characters take long to load

        aligned = [column.align for column in self.shown]
        return table_as_html([self.titles, *self.texts()], aligned, self.title, self.note)
