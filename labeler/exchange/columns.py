"""What the columns of other tools' tables mean, by their usual names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from labeler.errors import BadInput
from labeler.trec.names import DOCUMENT_ID, GRADE, QUERY_ID, SCORE, key_of

__all__ = [
    "DOCUMENT_ID",
    "GRADE",
    "QUERY_ID",
    "QUERY_TEXT",
    "RANK",
    "RATING",
    "SCORE",
    "column_of",
    "has_column",
    "in_words",
    "is_of_a_pair",
    "names_a_pair",
]

QUERY_TEXT = ("query", "querytext", "queryterms", "userquery", "searchquery", "searchterm")
RATING = ("rating", "judgement", "judgment")
RANK = ("rank", "position", "docposition")
"""Names of columns as `key_of` spells them, the usual ones first."""


def column_of(path: Path, columns: Sequence[str], names: Sequence[str], what: str) -> str | None:
    """The column that has one of these names; `BadInput` where two could be `what`."""
    alike = [column for column in columns if key_of(column) in names]
    if len(alike) > 1:
        both = " and ".join(map(repr, alike[:2]))
        raise BadInput(f"{path}: the columns {both} could each be the {what}; rename one of them")
    return alike[0] if alike else None


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
