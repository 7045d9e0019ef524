"""The one base of what library functions return: it makes their JSON, frame and Markdown.

A result declares its figures as fields; what is derived from them is a property by `shown` where it
belongs to the JSON, too. Everything else is made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from labeler.report.finding import Finding, merged
from labeler.report.neutral import html_text
from labeler.report.table import Table, shown

if TYPE_CHECKING:
    from pandas import DataFrame

Held = TypeVar("Held")
Hidden = Annotated[Held, "hidden"]
"""The type of a field that no JSON shows: `rows: Hidden[Mapping[Pair, Row]]`."""
Merged = Annotated[Held, "merged"]
"""The type of a field whose own figures stand among the others: `judging: Merged[JudgeResult]`."""


class Result:
    """What a library function returns; a subclass is a frozen dataclass.

    Its JSON has all fields but `Hidden` ones, then what `shown` properties give; of a `Merged`
    field, that one's own. `sentences` say
    what the figures mean, `findings` what a reader of them should know, `tables` show them.
    """

    @property
    def findings(self) -> Sequence[Finding]:
        """What a reader of the figures should know."""
        return tuple(self._findings())

    def _findings(self) -> Iterator[Finding]:
        """The same, one after another, as a subclass says them."""
        yield from ()

    @property
    def sentences(self) -> Sequence[str]:
        """What the figures mean, in words."""
        return ()

    @property
    def warnings(self) -> list[str]:
        """The texts of the findings that are warnings."""
        return [finding.text for finding in self.findings if finding.level == "warning"]

    def tables(self) -> Sequence[Table]:
        """The figures as tables, the first of them the one that `frame` gives."""
        return ()

    def as_json(self) -> dict[str, Any]:
        """The figures by name, as JSON has them."""
        return _spread(type(self), self.picked(*figure_names(type(self))))

    def picked(self, *names: str, **computed: object) -> dict[str, Any]:
        """Some figures by name, and others that are computed here; `findings` are `warnings`."""
        own = {name: getattr(self, name) for name in names if name != "findings"}
        last = {"warnings": self.warnings} if "findings" in names else {}
        return {name: as_plain(value) for name, value in (own | computed | last).items()}

    def frame(self) -> DataFrame:
        """The first table as a pandas DataFrame."""
        return self.tables()[0].frame()

    def markdown(self) -> str:
        """Sentences, tables and findings as Markdown."""
        from labeler.report.render import rendered_all

        findings = (f"{each.level.capitalize()}: {each.text}" for each in self.findings)
        return rendered_all([*self.sentences, *self.tables(), *findings], "markdown")

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in figure_names(type(self)))
        parts = (f"{name}={value!r}" for name, value in values if isinstance(value, str | int))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        tables = "".join(table.as_html() for table in self.tables())
        lines = (html_text(str(line)) for line in chain(self.sentences, merged(self.findings)))
        listed = "".join(f"<li>{line}</li>\n" for line in lines)
        return f"{tables}<ul>\n{listed}</ul>\n" if listed else tables


def figure_names(of: type) -> Iterator[str]:
    """The names of what a dataclass shows of itself: its fields, then its `shown` properties."""
    for own in fields(of):
        if not str(own.type).startswith("Hidden["):
            yield own.name
    for above in reversed(of.__mro__):
        yield from (name for name, value in vars(above).items() if type(value) is shown)


def _spread(of: type, figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of a dataclass by name, with those of its `Merged` fields among them, last."""
    for own in fields(of):
        if str(own.type).startswith("Merged["):
            figures |= figures.pop(own.name)
    return figures


def as_plain(value: object) -> Any:
    """A value as JSON can say it.

    Records are objects, sets sorted lists, enums their values, paths, exceptions and keys texts; a
    number that is not finite is `None`, a finding its text. `TypeError` of anything else.
    """
    if hasattr(value, "as_json"):
        return value.as_json()
    if is_dataclass(value) and not isinstance(value, Finding):
        of = type(value)
        return _spread(of, {name: as_plain(getattr(value, name)) for name in figure_names(of)})
    for method in ("_asdict", "tolist"):  # of a NamedTuple, and of numpy's arrays and numbers
        if hasattr(value, method):
            return as_plain(getattr(value, method)())
    if isinstance(value, Mapping):
        return {str(key): as_plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(map(as_plain, sorted(value) if isinstance(value, Set) else value))
    return _plain_scalar(value)


def _plain_scalar(value: object) -> str | int | float | None:
    if isinstance(value, Enum):
        return _plain_scalar(value.value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Path | BaseException | Finding):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"no JSON for {type(value).__name__}")
