"""What makes a row of a file a document, and which of its columns is the text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.contents import objects
from labeler.exchange.fields import FieldNames
from labeler.exchange.tables import QUERY_TEXT, has_column, in_words, names_a_pair
from labeler.files.jsonl import RowValues
from labeler.trec.values import QUERY_ID

USUAL = FieldNames()
"""The fields of rows by their usual names."""

IDS = (
    *("_id", "id", "objectid", "doc_id", "docid", "document_id", "docno"),
    *("corpus_id", "passage_id", "pid", "product_id", "item_id"),
)
TEXTS = ("text", "contents", "content", "body", "passage", "segment", "abstract")
TITLES = ("title", "name", "headline")
_ASKED = ("input", "inputs", "userinput", "inputquestion", "inputquery", "inputinput")
_LISTED = 12
_WORDS = 4
"""Words; a name of a column that has more is a text, where no column is called as texts are."""

_PHRASE = 120
"""Characters; a single column of less, that nothing calls a text, may as well hold queries."""

ALL = "*"
"""The name of the field of texts that takes all columns together, each with its name."""


def takes_all_columns(row: RowValues, fields: FieldNames = USUAL) -> bool:
    """Whether no column is called as texts or titles are, and none is named."""
    is_named = any(name.casefold() in (*TEXTS, *TITLES) for name in row)
    return not (is_named or fields.text_field or fields.title_field)


def check_has_text(path: Path, row: RowValues, fields: FieldNames = USUAL) -> None:
    """`BadInput` of a row of a query or of a pair, and where no column may be the text.

    Where all columns would be the text, none may be nested but `metadata`, and one has to look like
    a text: codes and numbers make no document.
    """
    if fields.text_field or not row:
        return
    names = {name.casefold(): value for name, value in row.items()}
    text = next((names[name] for name in (*TEXTS, *TITLES) if name in names), "")
    takes_all = takes_all_columns(row, fields)
    others = {name: value for name, value in names.items() if name not in (*IDS, "metadata")}
    nested = {name: value for name, value in others.items() if _is_nested(value)}
    sentence = next((name for name in row if takes_all and len(name.split()) > _WORDS), None)
    texts = (value.strip() for value in others.values() if isinstance(value, str))
    phrases = [text for text in texts if " " in text]
    if takes_all and has_column(row, QUERY_TEXT, QUERY_ID, _ASKED):
        what = "queries and documents" if names_a_pair(list(row)) else "queries"
        columns = f"(columns {in_words(row)}), and no column of texts"
        problem = f"a table of {what} {columns}; expected documents"
    elif _is_nested(text) or (takes_all and nested):
        problem = f"the text is nested, in {', '.join(paths_of(nested))}; which is it?"
    elif sentence is not None:
        problem = (
            f"expected the names of the columns, as id and text; found {sentence[:40]!r}; write "
            "such a row above it"
        )
    elif takes_all and (not phrases or (len(others) == 1 and len(phrases[0]) < _PHRASE)):
        columns = ", ".join(paths_of(row))
        problem = f"which column is the text? there are {columns}; '{ALL}' takes them all"
    else:
        return
    raise BadInput(f"{path}: {problem}", parameter="text_field")


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or bool(objects(value))


def paths_of(row: RowValues, above: str = "", depth: int = 3) -> list[str]:
    """The fields of a row, nested ones with dots, as far as a message lists them."""
    paths = []
    for name, value in row.items():
        inner = isinstance(value, Mapping) and value and depth > 1
        path = f"{above}{name}"
        paths += paths_of(value, f"{path}.", depth - 1) if inner else [path]
    return paths[:_LISTED]
