"""Fields of rows, nested ones too, and rows that another program has wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from labeler.files.jsonl import JsonObject, RowValues
from labeler.options import option

ROWS = "Rows of documents and queries"
name = partial(option, section="fields", metavar="NAME", flag=True, rare=True, panel=ROWS)


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What the fields of rows are called, where not by a usual name; `a.b` is the `b` in `a`.

    Rows of documents have a text, a title and an id, those of queries a text and an id.
    """

    text_field: str = name(
        "", "What rows of documents call the text; a.b is the b in a, * all columns.", key="text"
    )
    title_field: str = name("", "What they call the title.", key="title")
    id_field: str = name("", "What they call the id; also of queries.", key="id")
    query_field: str = name("", "What rows of queries call the query.", key="query")


_column = partial(option, "", metavar="NAME", panel="Columns")


@dataclass(frozen=True, slots=True)
class LogFields:
    """What the columns of a log are called, where not by a usual name; `a.b` is the `b` in `a`."""

    query_field: str = _column("What the log calls the query; a.b is the b in a.")
    count_field: str = _column("What it calls how often a query was typed.")
    document_field: str = _column("What it calls the document that was shown.")
    session_field: str = _column("What it calls the session, in which a query counts once.")


_ACTIONS = ("index", "create", "update", "delete")


class Picked(NamedTuple):
    """The fields of a query's id and of its text; empty where there is none."""

    id: str
    text: str


def value_at(row: Any, field: str, missing: Any = None) -> Any:
    """The value of a field, `a.b` being the `b` in `a` where no column is called `a.b`.

    `a.0` is the first of the list `a`, and `a.*` the only field of `a`.
    """
    if isinstance(row, Mapping) and field in row:
        return row[field]
    value: Any = row
    for name in field.split("."):
        is_index = isinstance(value, list) and name.isdecimal() and int(name[:9]) < len(value)
        if isinstance(value, Mapping) and name == "*" and len(value) == 1:
            (value,) = value.values()
        elif is_index:
            value = value[int(name[:9])]
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return missing
    return value


def has_field(columns: Sequence[str], field: str) -> bool:
    """Whether a column, or what a column may hold, has this name."""
    return field in columns or field.partition(".")[0] in columns


def action_of(row: RowValues) -> JsonObject | None:
    """What an action of a `_bulk` file says; `None` of a row that is none."""
    if len(row) != 1:
        return None
    ((name, value),) = row.items()
    if name in _ACTIONS and isinstance(value, dict) and all(key in _PARTS for key in value):
        return value
    return None


_PARTS = {
    *("_index", "_id", "_type", "routing", "_routing", "version", "version_type", "pipeline"),
    *("op_type", "require_alias", "retry_on_conflict", "dynamic_templates", "if_seq_no"),
    "if_primary_term",
}
