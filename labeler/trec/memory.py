"""Qrels and runs from whatever a program holds them in: a path, a dict, a DataFrame or rows.

What comes out can be written to a TREC file as it stands: an id is a text without white space, a
grade is an integer, a score is finite, and no pair stands there twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.trec.qrels import gathered, read_qrels
from labeler.trec.runs import read_run
from labeler.trec.values import (
    DOCUMENT_ID,
    GRADE,
    QUERY_ID,
    SCORE,
    grade_of,
    ids_of,
    key_of,
    score_of,
)

Source = str | os.PathLike[str] | Mapping[str, Mapping[str, Any]] | Iterable[Any]
"""A path, `{query: {document: value}}`, a DataFrame of pandas or polars, or rows."""

Row = tuple[str, str, str, Any]
"""Where it stands (`qrels, row 3`), the query's id, the document's, and the value, unchecked."""

Columns = tuple[tuple[str, str], tuple[str, str], tuple[str, str]]
Table = TypeVar("Table", Qrels, Run)

_QUERY = ("query_id", "qid")
_DOCUMENT = ("doc_id", "docno")
_GRADE: Columns = (_QUERY, _DOCUMENT, ("relevance", "label"))
_SCORE: Columns = (_QUERY, _DOCUMENT, ("score", "score"))
"""The names of the three columns: ir_measures' first, then PyTerrier's."""


def as_qrels(
    source: Source, warn: Callable[[str], None] = lambda _message: None, *, name: str = "qrels"
) -> Qrels:
    """The grades that a path, a dict, a DataFrame or rows of (query, document, grade) hold.

    A DataFrame has the columns `query_id`, `doc_id`, `relevance` (ir_measures) or `qid`, `docno`,
    `label` (PyTerrier), or others that files have, as `corpus-id`; a row is a tuple, or an object
    with the first of these as attributes. A grade of 2.0 is 2.
    `BadInput` says which row has no integer grade, no id, or a second grade for its pair; a pair
    that is repeated with the same grade is counted in a warning. Messages call the source `name`.

    >>> as_qrels([("q1", "d1", 2), ("q1", "d2", 0.0)])
    {'q1': {'d1': 2, 'd2': 0}}
    """
    if isinstance(source, str | os.PathLike):
        return read_qrels(Path(source), warn)
    graded = (
        (where, query_id, doc_id, grade_of(f"{where}: {query_id} {doc_id}", value))
        for where, query_id, doc_id, value in _rows(source, name, _GRADE)
    )
    return _or_empty(gathered(graded, name, warn), name)


def as_run(source: Source, *, name: str = "run") -> Run:
    """The scores that a path, a dict, a DataFrame or rows of (query, document, score) hold.

    A DataFrame has the columns `query_id`, `doc_id` (or `qid`, `docno`) and `score`; a row is a
    tuple, or an object with such attributes. `BadInput` says which row has no finite score, no id,
    or a document that its query retrieved already. Messages call the source `name`.

    >>> as_run({"q1": {"d1": 3, "d2": 2.5}})
    {'q1': {'d1': 3.0, 'd2': 2.5}}
    """
    if isinstance(source, str | os.PathLike):
        return read_run(Path(source))
    run: dict[str, dict[str, float]] = {}
    for where, query_id, doc_id, value in _rows(source, name, _SCORE):
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput(f"{where}: {query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score_of(f"{where}: {query_id} {doc_id}", value)
    return _or_empty(run, name)


def _rows(source: Source, name: str, columns: Columns) -> Iterator[Row]:
    """The rows of any source but a path, their ids checked."""
    if isinstance(source, Mapping):
        rows = _rows_of_mapping(source, name)
    elif hasattr(source, "columns") and hasattr(source, "__getitem__"):
        rows = _rows_of_frame(source, name, columns)
    elif isinstance(source, Iterable):
        rows = _rows_of_iterable(source, name, columns)
    else:
        raise Misuse(f"{name}: {_EXPECTED}, found {source!r:.40}")
    for where, query_id, doc_id, value in rows:
        yield where, *ids_of(where, query_id, doc_id), value


_EXPECTED = "expected a path, a dict, a DataFrame or rows of (query, document, value)"


def _rows_of_mapping(source: Mapping[Any, Any], name: str) -> Iterator[Row]:
    for query_id, values in source.items():
        if not isinstance(values, Mapping):
            where = f"{name}, query {query_id!r:.40}"
            raise Misuse(f"{where}: expected {{document: value}}, found {values!r:.40}")
        for doc_id, value in values.items():
            yield name, query_id, doc_id, value


def _rows_of_frame(frame: Any, name: str, columns: Columns) -> Iterator[Row]:
    present = [str(column) for column in frame.columns]
    headers = [_header(present, name, names) for names in columns]
    if not all(headers):
        has = f"has the columns {', '.join(present) or 'none'}"
        raise Misuse(f"{name}: the DataFrame {has}; expected {_expected_columns(columns)}")
    rows = zip(*(frame[column] for column in headers), strict=True)
    for number, row in enumerate(rows, start=1):
        yield f"{name}, row {number:,}", *row


_USUAL = {"query_id": (QUERY_ID,), "doc_id": (DOCUMENT_ID,), "relevance": (GRADE, SCORE)}
"""What columns are called in files, where the DataFrame has none of its own names."""


def _header(present: Sequence[str], name: str, names: Sequence[str]) -> str:
    """The column with one of these names, or with a usual one; empty where there is none."""
    alike = [column for column in present if column in names]
    for usual in _USUAL.get(names[0], ()):
        alike = alike or [column for column in present if key_of(column) in usual]
    if len(alike) > 1:
        both = " and ".join(map(repr, alike))
        raise Misuse(f"{name}: the DataFrame has {both}, of which one alone can be read")
    return alike[0] if alike else ""


def _rows_of_iterable(source: Iterable[Any], name: str, columns: Columns) -> Iterator[Row]:
    for number, row in enumerate(source, start=1):
        where = f"{name}, row {number:,}"
        attributes = [next((n for n in names if hasattr(row, n)), "") for names in columns]
        if all(attributes):
            yield where, *(getattr(row, attribute) for attribute in attributes)
        elif not any(attributes) and isinstance(row, tuple | list) and len(row) == len(columns):
            yield where, *row
        else:
            problem = f"expected a tuple of three or an object with {_expected_columns(columns)}"
            raise Misuse(f"{where}: {problem}, found {row!r:.80}")


def _expected_columns(columns: Columns) -> str:
    """How the columns may be called, in words."""
    ir_measures, pyterrier = (", ".join(names[index] for names in columns) for index in (0, 1))
    return f"{ir_measures} (as ir_measures has them) or {pyterrier} (PyTerrier)"


def _or_empty(table: Table, name: str) -> Table:
    """The table; `BadInput` where nothing is in it, as of a file without a line."""
    if not table:
        raise BadInput(f"{name}: no pair of a query and a document in it")
    return table
