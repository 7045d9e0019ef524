"""A table of results: cells as the values they are, and columns that say how people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from labeler.messages import dollars
from labeler.report.neutral import flat, table_as_html

if TYPE_CHECKING:
    from pandas import DataFrame

    shown = property
else:

    class shown(property):  # noqa: N801 - a decorator in place of `property`
        """A property that its record shows as it shows a field: in JSON, and in tables."""


Scalar = str | int | float | None
FormName = Literal["table", "csv", "json", "jsonl", "latex", "markdown", "html", "xlsx", "parquet"]
"""The names of `FORMS` in `report/render.py`."""

_BY_SUFFIX: dict[str, FormName] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tex": "latex",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
}


class Estimated(Protocol):
    """A value with the ends of its interval, whatever else is known of it."""

    @property
    def value(self) -> float | None:
        """The value; `None` or nan is undefined."""

    @property
    def low(self) -> float | None:
        """The lower end."""

    @property
    def high(self) -> float | None:
        """The upper end."""


class Interval(NamedTuple):
    """A value with the ends of its interval; `None` or nan is undefined."""

    value: float | None
    low: float | None
    high: float | None


Cell = Scalar | Estimated
Row = Sequence[Cell]


@dataclass(frozen=True)
class Column:
    """A column: its name for programs, and how people see it.

    `title` stands in the header for people, `name` where there is none. `format` is a format spec
    of numbers, such as ".4f" or "+.1f"; a whole number is shown whole in any of them. `ends` is the
    spec of the ends of intervals, and says that the cells are `Estimated`, of which only the ends
    are shown where `format` is empty: people read `0.8552 [0.704, 1.000]`, programs `name`,
    `name low`, `name high`.
    `undefined` is what people see of nan and `None`. `widest` is how much of its words the text
    form shows at most, 0 for all that there is room for, `None` for all.
    A column is for both audiences, or `only` for one.
    """

    name: str = ""
    title: str = ""
    format: str = ".4f"
    ends: str = ""
    align: Literal["left", "right"] = "right"
    undefined: str = "-"
    widest: int | None = 0
    only: Literal["", "people", "programs"] = ""

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
        parts = _parts(cell)[-len(self.keys) :] if self.ends else _parts(cell)[:1]
        return tuple(None if is_undefined(part) else part for part in parts)

    def text(self, cell: Cell) -> str:
        """A cell for people, on one line."""
        value, low, high = _parts(cell)
        if not self.ends:
            return self._of(value, self.format)
        ends = f"[{self._of(low, self.ends)}, {self._of(high, self.ends)}]"
        if is_undefined(low) or is_undefined(high):
            ends = "" if self.format else self.undefined
        shown_value = self._of(value, self.format) if self.format else ""
        return shown_value if shown_value == self.undefined else f"{shown_value} {ends}".strip()

    def _of(self, value: Scalar, spec: str) -> str:
        if value is None or is_undefined(value):
            return self.undefined
        return flat(value) if isinstance(value, str) else number_text(value, spec)


def _parts(cell: Cell) -> tuple[Scalar, float | None, float | None]:
    """The value of a cell and its ends, where it has some."""
    if cell is None or isinstance(cell, str | int | float) or not hasattr(cell, "low"):
        return cast(Scalar, cell), None, None
    return cell.value, cell.low, cell.high


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


def interval_text(of: Estimated | float | None, spec: str = ".3f", ends: str = "") -> str:
    """A value with its interval as sentences say it; specs are those of a `Column`.

    >>> interval_text(Interval(0.8552, 0.704, 1.0)), interval_text(0.5, "+.0%")
    ('0.855 [0.704, 1.000]', '+50%')
    """
    return Column(format=spec, ends=ends or spec, undefined="undefined").text(of)


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

    def as_json(self) -> list[dict[str, Scalar]]:
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
        return frame_of(self.values(), *self.keys)

    def as_html(self) -> str:
        """A table of HTML."""
        aligned = [column.align for column in self.shown]
        return table_as_html([self.titles, *self.texts()], aligned, self.title, self.note)

    _repr_html_ = as_html


def table_of(
    name: str,
    of: type,
    records: Iterable[object],
    *,
    title: str = "",
    instead: Mapping[str, Column] | None = None,
) -> Table:
    """A table of records, with a column for each field, or `shown` property, of their class `of`.

    A field says by `Annotated[float, Column(title="standard error", format=".2f")]` what is not as
    usual: a column has the field's name, its underscores blanks, words are flush left, and numbers
    have three decimals. A field that holds neither words nor numbers nor `Estimated` has no column
    unless it says so. `instead` are columns by field, where they depend on the values.
    """
    columns = {**declared_columns(of), **(instead or {})}
    rows = [[getattr(record, field) for field in columns] for record in records]
    return Table(name, list(columns.values()), rows, title)


def frame_of(rows: Iterable[Iterable[object]], *columns: str) -> DataFrame:
    """Rows as a pandas DataFrame; pandas is loaded only here."""
    import pandas as pd

    return pd.DataFrame([tuple(row) for row in rows], columns=pd.Index(columns))


# How a table names files, and sums up counts.


def short_names(paths: Sequence[str]) -> list[str]:
    """Paths as a table shows them: without their folders, where that tells them apart."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


SPREAD_HEADER = ("fewest per query", "median", "most")


def spread(ordered: Sequence[int]) -> dict[str, int]:
    """The least, the median and the largest of some sorted counts."""
    return {"least": ordered[0], "median": ordered[len(ordered) // 2], "most": ordered[-1]}


def figure_table(name: str, figures: Mapping[str, Cell], first: str = "figure") -> Table:
    """A table of two columns: what each figure is, and its value with its interval."""
    columns = [Column(first, align="left"), Column("value", format=".3f", ends=".3f")]
    return Table(name, columns, list(figures.items()))


def declared_columns(of: type) -> Mapping[str, Column]:
    """The columns that a class of records declares, by field."""
    hints = get_type_hints(of, include_extras=True)
    for name, value in vars(of).items():
        if type(value) is shown:
            hints[name] = get_type_hints(value.fget, include_extras=True)["return"]
    return {
        name: replace(column, name=column.name or name.replace("_", " "))
        for name, hint in hints.items()
        if (column := _column(hint))
    }


def _column(hint: Any) -> Column | None:
    """What a field's type says of its column; `None` of what no cell can show."""
    for declared in getattr(hint, "__metadata__", ()):
        return declared if isinstance(declared, Column) else None
    origin = get_origin(hint)
    kinds = get_args(hint) if origin in {Union, UnionType, Literal} else (hint,)
    if str in kinds or (origin is Literal and isinstance(kinds[0], str)):
        return Column(align="left")
    if any("low" in (*vars(kind), *getattr(kind, "__dataclass_fields__", ())) for kind in kinds):
        return Column(format=".3f", ends=".3f")
    return Column(format=".3f") if int in kinds or float in kinds else None


def form_of(path: Path | None) -> FormName:
    """The form that a file's suffix says; the text form of any other, and of no file.

    >>> form_of(Path("scores.csv.gz")), form_of(Path("scores.txt")), form_of(None)
    ('csv', 'table', 'table')
    """
    name = "" if path is None else path.name.casefold().removesuffix(".gz")
    return _BY_SUFFIX.get(Path(name).suffix, "table")
