"""Blocks of rows as a log has them, column by column, each value held once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Integers
from labeler.errors import BadInput
from labeler.exchange.columns import in_words, part_of
from labeler.exchange.fields import EventFields, has_field
from labeler.exchange.log_columns import EVENT_PARTS


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column: its different values, and for each row which of them it holds."""

    values: Sequence[Any]
    codes: Integers

    @classmethod
    def of(cls, cells: Sequence[Any]) -> CodedColumn:
        """The column of these cells; lists and objects are no values, and become None."""
        numbers: dict[Any, int] = {}
        codes = [
            numbers.setdefault(None if isinstance(cell, list | dict) else cell, len(numbers))
            for cell in cells
        ]
        return cls(list(numbers), np.array(codes, dtype=np.int64))

    def mapped(self, value_of: Callable[[Any], Any], dtype: Any) -> Any:
        """An array of what a function makes of each row's value, called once a value."""
        return np.array([value_of(value) for value in self.values], dtype=dtype)[self.codes]


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some rows of a log: their lines, their columns by part, and the lines that are no rows.

    `hits` are the documents that a row returned, by the row's place in the block.
    """

    lines: Integers
    columns: Mapping[str, CodedColumn]
    bad: Sequence[tuple[int, str]] = ()
    hits: Mapping[int, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log as it is read: what kind of file, which column holds each part, and its blocks.

    `others` are columns that could have held a part, too, by part.
    """

    kind: str
    columns: Mapping[str, str]
    blocks: Iterator[RawBlock]
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)


def columns_of(
    path: Path, names: Sequence[str], fields: EventFields
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The column of each part that these columns hold, and the others that could have held it."""
    columns, others = {}, {}
    for what, (setting, alike) in EVENT_PARTS.items():
        own = getattr(fields, setting)
        if own and not has_field(names, own):
            problem = f"no column {own!r:.60} among {in_words(names[:40])}"
            raise BadInput(f"{path}: {problem}", parameter=setting)
        usual = part_of(names, alike, what, setting)
        if own or usual:
            columns[what] = own or usual.column if usual else own
        if usual and not own and usual.alike(names):
            others[what] = usual.alike(names)
    if "query" not in columns:
        problem = f"no column of queries among {in_words(names[:40])}; name it"
        raise BadInput(f"{path}: {problem}", parameter="query_field")
    return columns, others
