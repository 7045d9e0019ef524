"""What the columns of other tools' tables mean, by their usual names.

The column with the most usual name holds a part of each row. Where another column has a name of the
same meaning, both must hold the same in every row: else nobody can tell which is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.trec.values import DOCUMENT_ID, GRADE, QUERY_ID, SCORE, key_of

__all__ = [
    "DOCUMENT_ID",
    "GRADE",
    "QUERY_ID",
    "QUERY_TEXT",
    "RANK",
    "RATING",
    "SCORE",
    "RowPart",
    "checked",
    "column_of",
    "has_column",
    "in_words",
    "is_of_a_pair",
    "names_a_pair",
    "part_of",
]

QUERY_TEXT = ("query", "querytext", "queryterms", "userquery", "searchquery", "searchterm")
RATING = ("rating", "judgement", "judgment")
RANK = ("rank", "position", "docposition")
"""Names of columns as `key_of` spells them, the usual ones first."""


@dataclass(frozen=True, slots=True)
class RowPart:
    """The column that holds a part of each row: `what` says which, as in "query's id".

    A column with another of `names` means the same; there are none where the user named the column.
    `parameter` is the setting that names it.
    """

    column: str
    what: str
    names: Sequence[str] = ()
    parameter: str = ""

    def alike(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The other columns that mean the same; names as `_id` are a program's own."""
        key = key_of(self.column)
        means_one_thing = key in self.names
        return tuple(
            other
            for other in columns
            if other != self.column
            and self.names
            and (
                key_of(other) == key
                or (means_one_thing and other[:1] != "_" and key_of(other) in self.names)
            )
        )

    def ambiguity(self, columns: Iterable[str], other: str) -> str:
        """What is wrong where two columns hold different values, and what would work."""
        first, second = sorted((self.column, other), key=list(columns).index)
        remedy = "rename or remove one" + (", or say which" if self.parameter else "")
        return f"{first!r} and {second!r} could each be the {self.what}; {remedy}"


def part_of(
    columns: Sequence[str], names: Sequence[str], what: str, parameter: str = ""
) -> RowPart | None:
    """The part of a row that the column with the most usual of these names holds."""
    column = column_of(columns, names)
    return None if column is None else RowPart(column, what, names, parameter)


def column_of(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column with the most usual of these names; the first of several."""
    by_key: dict[str, str] = {}
    for column in columns:
        by_key.setdefault(key_of(column), column)
    return next((by_key[name] for name in names if name in by_key), None)


def checked(
    path: Path, rows: Iterable[tuple[int, dict[str, Any]]], parts: Sequence[RowPart]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows; `BadInput` at one where two columns of one meaning hold different values."""
    alike: dict[tuple[str, ...], list[tuple[RowPart, str]]] = {}
    for number, row in rows:
        columns = tuple(row)
        if columns not in alike:
            pairs = ((part, other) for part in parts for other in part.alike(columns))
            alike[columns] = [(part, other) for part, other in pairs if part.column in row]
        for part, other in alike[columns]:
            if _differ(row, part.column, other):
                problem = part.ambiguity(columns, other)
                raise BadInput.at(path, number, problem, parameter=part.parameter)
        yield number, row


def _differ(row: Mapping[str, Any], column: str, other: str) -> bool:
    """Whether the other column holds something, and something else."""
    return row[other] not in (row[column], None, "")


def has_column(columns: Iterable[str], *names: Sequence[str]) -> bool:
    """Whether one of the columns has one of these names."""
    return any(key_of(column) in alike for column in columns for alike in names)


def names_a_pair(cells: Sequence[str]) -> bool:
    """Whether these are the names of columns, among them those of a query and a document."""
    return has_column(cells, QUERY_ID, QUERY_TEXT) and has_column(cells, DOCUMENT_ID)


def is_of_a_pair(name: str) -> bool:
    """Whether a name is usual for the query or the document of a pair."""
    return has_column([name], QUERY_ID, QUERY_TEXT, DOCUMENT_ID)


def in_words(columns: Iterable[str]) -> str:
    """The names of columns for a message."""
    return ", ".join(f"{column:.40}" for column in columns) or "none"
