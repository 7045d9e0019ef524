"""Qrels and runs from whatever a program holds them in: a path, a dict, a DataFrame or rows.

What comes out can be written to a TREC file as it stands: an id is a text without white space, a
grade is an integer, a score is finite, and no pair stands there twice. All pairs are checked at
once; where one is wrong, or only unusual, a second look at pair after pair says which.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from labeler.errors import BadInput, Misuse
from labeler.messages import Note, quiet
from labeler.trec.columns import Fields, Ids, Irregular, Small, joined_texts, keys, mixed
from labeler.trec.files import gathered, read_qrels, read_run
from labeler.trec.pairs import PairColumns, factorised
from labeler.trec.rows import LARGEST_GRADE, LONGEST_ID
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
"""A path, `{query: {document: value}}`, a DataFrame of pandas or polars, Arrow's, or rows."""

Row = tuple[str, str, str, Any]
"""Where it stands (`qrels, row 3`), the query's id, the document's, and the value, unchecked."""

Columns = tuple[tuple[str, str], tuple[str, str], tuple[str, str]]

_QUERY = ("query_id", "qid")
_DOCUMENT = ("doc_id", "docno")
_GRADE: Columns = (_QUERY, _DOCUMENT, ("relevance", "label"))
_SCORE: Columns = (_QUERY, _DOCUMENT, ("score", "score"))
"""The names of the three columns: ir_measures' first, then PyTerrier's."""


def as_qrels(source: Source, warn: Note = quiet, *, name: str = "qrels") -> PairColumns[int]:
    """The grades that a path, a dict, a DataFrame or rows of (query, document, grade) hold.

    A DataFrame has the columns `query_id`, `doc_id`, `relevance` (ir_measures) or `qid`, `docno`,
    `label` (PyTerrier), or others that files have, as `corpus-id`; a row is a tuple, or an object
    with the first of these as attributes. A grade of 2.0 is 2.
    `BadInput` says which row has no integer grade, no id, or a second grade for its pair; a pair
    that is repeated with the same grade is counted in a warning. Messages call the source `name`.

    >>> as_qrels([("q1", "d1", 2), ("q1", "d2", 0.0)]).as_dict()
    {'q1': {'d1': 2, 'd2': 0}}
    """
    if isinstance(source, str | os.PathLike):
        return read_qrels(Path(source), warn)
    if isinstance(source, PairColumns) and source.labels is None:
        return source
    held = _held(source, name, _GRADE)
    with suppress(Irregular):
        return held.in_bulk(_grades)
    graded = (
        (where, query_id, doc_id, grade_of(f"{where}: {query_id} {doc_id}", value))
        for where, query_id, doc_id, value in held.checked(name)
    )
    return PairColumns.of(gathered(graded, name, warn), np.int32)


def as_run(source: Source, *, name: str = "run") -> PairColumns[float]:
    """The scores that a path, a dict, a DataFrame or rows of (query, document, score) hold.

    A DataFrame has the columns `query_id`, `doc_id` (or `qid`, `docno`) and `score`; a row is a
    tuple, or an object with such attributes. `BadInput` says which row has no finite score, no id,
    or a document that its query retrieved already. Messages call the source `name`.

    Documents by query without scores, best first, have one over the rank.

    >>> as_run({"q1": {"d1": 3, "d2": 2.5}}).as_dict()
    {'q1': {'d1': 3.0, 'd2': 2.5}}
    >>> as_run({"q1": ["d1", "d2"]}).as_dict()
    {'q1': {'d1': 1.0, 'd2': 0.5}}
    """
    if isinstance(source, str | os.PathLike):
        return read_run(Path(source))
    if isinstance(source, PairColumns) and source.labels is None:
        return source
    held = _held(by_rank(source), name, _SCORE)
    with suppress(Irregular):
        return held.in_bulk(_numbers)
    run: dict[str, dict[str, float]] = {}
    for where, query_id, doc_id, value in held.checked(name):
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput(f"{where}: {query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score_of(f"{where}: {query_id} {doc_id}", value)
    return PairColumns.of(run, np.float64)


def by_rank(source: Any) -> Any:
    """Lists of documents by query with one over the rank as scores; any other source as it is.

    `BadInput` of a document that stands in a list twice.
    """
    if not isinstance(source, Mapping) or not holds_lists(source):
        return source
    run = {}
    for query, docs in source.items():
        run[query] = {doc: 1 / rank for rank, doc in enumerate(docs, 1)}
        if len(run[query]) < len(docs):
            twice = next(doc for doc in docs if docs.count(doc) > 1)
            raise BadInput(f"run: {query} retrieves {twice} a second time")
    return run


def holds_lists(source: Mapping[Any, Any]) -> bool:
    """Whether all values of a dict are lists of ids."""
    return bool(source) and all(
        isinstance(docs, list | tuple) and all(isinstance(doc, str | int) for doc in docs)
        for docs in source.values()
    )


@dataclass(frozen=True)
class _Held:
    """Pairs as a program holds them, unchecked: the ids and the values of `n` pairs.

    `queries` are ids, of which `query` says where each pair's stands. A mapping's pairs are of one
    query after another, each once; others are `numbered` rows.
    """

    queries: Sequence[Any]
    query: Small
    documents: Sequence[Any]
    values: Sequence[Any]
    numbered: bool

    def in_bulk(self, checked: Callable[[Sequence[Any]], Any]) -> PairColumns[Any]:
        """The columns; `Irregular` where anything is not as usual."""
        if not len(self.documents):
            raise Irregular
        queries, _ = _plain_ids(self.queries)
        values, ids = checked(self.values), keys(_plain_ids(self.documents)[1], 0)
        if self.numbered:
            marks = np.sort(ids.hashes + mixed(self.query))
            if (marks[1:] == marks[:-1]).any():
                raise Irregular
        if any(query_id.startswith("#") for query_id in queries):
            raise Irregular
        places = np.arange(len(values), dtype=np.int32)
        return PairColumns.of_places(queries, self.query, Ids(ids), places, values)

    def checked(self, name: str) -> Iterator[Row]:
        """Pair by pair, with checked ids; `BadInput` where there is none."""
        columns = self.query.tolist(), self.documents, self.values
        number = 0
        for number, (at, document, value) in enumerate(zip(*columns, strict=True), start=1):
            where = f"{name}, row {number:,}" if self.numbered else name
            yield where, *ids_of(where, self.queries[at], document), value
        if not number:  # as of a file without a line
            raise BadInput(f"{name}: no pair of a query and a document in it")


def _plain_ids(ids: Sequence[Any]) -> tuple[Sequence[str], Fields]:
    """Ids as texts; `Irregular` where one is neither that nor an integer, or not plain."""
    if ids and type(ids[0]) is not str and set(map(type, ids)) == {int}:
        ids = list(map(str, ids))
    part = joined_texts(ids)
    lengths = part.ends - part.starts
    spaces = (part.text[: part.ends[-1, 0] + 1] <= ord(" ")).sum()
    if spaces > len(ids) or lengths.min() < 1 or lengths.max() > LONGEST_ID:
        raise Irregular
    if int(part.text.max()) > 127 and "\n".join(ids).split() != list(ids):  # of any script
        raise Irregular
    return ids, part


def _numbers(values: Sequence[Any]) -> Any:
    """Values as finite doubles; `Irregular` where one is no number."""
    kinds = set(map(type, values))
    if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        raise Irregular
    try:
        numbers = np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError) as error:
        raise Irregular from error
    if not np.isfinite(numbers).all():
        raise Irregular
    return numbers


def _grades(values: Sequence[Any]) -> Any:
    numbers = _numbers(values)
    if ((np.abs(numbers) > LARGEST_GRADE) | (np.trunc(numbers) != numbers)).any():
        raise Irregular
    return numbers.astype(np.int32)


# Each form as ids and values.


def _held(source: Source, name: str, columns: Columns) -> _Held:
    """The pairs of any source but a path."""
    if isinstance(source, Mapping):
        return _of_mapping(source, name)
    table: Any = source
    if hasattr(table, "columns") and not hasattr(table, "column_names"):  # pandas, polars
        return _of_frame(table.columns, table.__getitem__, name, columns)
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        table = pyarrow.table(table)
        return _of_frame(table.column_names, table.column, name, columns)
    if isinstance(source, Iterable):
        rows: Sequence[Any] = list(source)
        if not (set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) <= {len(columns)}):
            rows = [_cells(row, f"{name}, row {n:,}", columns) for n, row in enumerate(rows, 1)]
        return _of_rows(*map(list, zip(*rows, strict=True))) if rows else _of_rows((), (), ())
    raise Misuse(f"{name}: {_EXPECTED}, found {source!r:.40}")


_EXPECTED = "expected a path, a dict, a DataFrame or rows of (query, document, value)"


def hold_mappings(source: Mapping[Any, Any]) -> bool:
    """Whether all values are mappings."""
    return all(issubclass(kind, Mapping) for kind in set(map(type, source.values())))


def _of_mapping(source: Mapping[Any, Any], name: str) -> _Held:
    if not hold_mappings(source):
        odd = next(query for query, row in source.items() if not isinstance(row, Mapping))
        raise Misuse(
            f"{name}, query {odd!r:.40}: expected {{document: value}}, found {source[odd]!r:.40}"
        )
    rows = {query_id: values for query_id, values in source.items() if values}
    query = np.repeat(np.arange(len(rows), dtype=np.int32), list(map(len, rows.values())))
    documents = list(chain.from_iterable(rows.values()))
    values = list(chain.from_iterable(row.values() for row in rows.values()))
    return _Held(list(rows), query, documents, values, numbered=False)


def _of_rows(queries: Sequence[Any], documents: Sequence[Any], values: Sequence[Any]) -> _Held:
    """Three columns of one length."""
    try:
        return _Held(*factorised(queries), documents, values, numbered=True)
    except TypeError:  # what cannot be in a dict is no id, and is named later
        places = np.arange(len(queries), dtype=np.int32)
        return _Held(queries, places, documents, values, numbered=True)


def _of_frame(
    names: Iterable[Any], column: Callable[[str], Any], name: str, columns: Columns
) -> _Held:
    """The three columns of a table, which `column` gives by their names."""
    present = list(map(str, names))
    headers = [_header(present, name, usual) for usual in columns]
    if not all(headers):
        has = f"has the columns {', '.join(present) or 'none'}"
        raise Misuse(f"{name}: the DataFrame {has}; expected {_expected_columns(columns)}")
    return _of_rows(*(np.asarray(column(header)).tolist() for header in headers))


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


def _cells(row: Any, where: str, columns: Columns) -> Sequence[Any]:
    """The query, the document and the value of a row."""
    attributes = [next((n for n in names if hasattr(row, n)), "") for names in columns]
    if all(attributes):
        return [getattr(row, attribute) for attribute in attributes]
    if any(attributes) or not isinstance(row, tuple | list) or len(row) != len(columns):
        problem = f"expected a tuple of three or an object with {_expected_columns(columns)}"
        raise Misuse(f"{where}: {problem}, found {row!r:.80}")
    return row


def _expected_columns(columns: Columns) -> str:
    """How the columns may be called, in words."""
    ir_measures, pyterrier = map(", ".join, zip(*columns, strict=True))
    return f"{ir_measures} (as ir_measures has them) or {pyterrier} (PyTerrier)"
