"""A value for each of many pairs of a query and a document, as columns.

This is what qrels, runs and labels are in memory, from wherever they came: each query and each
document is one number, its id stands once, and the values are one array. Read like a dict,
`columns[query_id][document_id]`, it gives plain values; several are joined by numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Integers, Places
from labeler.data import Pair
from labeler.errors import BadInput
from labeler.files.boundary import needing, reading
from labeler.files.read import rereadable
from labeler.trec.blocks import Batch, Kind
from labeler.trec.columns import (
    Codes,
    Fields,
    Ids,
    Irregular,
    Keys,
    Small,
    Stretches,
    Words,
    fields,
    id_ranks,
    ids_at,
    joined_texts,
    joined_words,
    keys_of,
    numbered,
    plain_values,
    words_of,
)
from labeler.trec.rows import QRELS_COLUMNS

if TYPE_CHECKING:
    from pandas import DataFrame

Value = TypeVar("Value")

NONE = -1
"""The row of a pair in a set that does not hold it."""

_BLOCK = 1 << 22
BATCH = 1 << 15


@dataclass(frozen=True, eq=False, repr=False)
class PairColumns(Mapping[str, dict[str, Value]], Generic[Value]):
    """Values of `n` pairs of a query and a document, those of one query in a row.

    `queries` are `q` distinct ids; the pairs of query `i` are those from `edges[i]` up to
    `edges[i + 1]`, `(q + 1,)`. `documents` are ids, each once where they were numbered in reading;
    `document` is the place of each pair's document, `(n,)`. `value` is an array of numbers,
    `(n,)`; or, where there are `labels`, each pair's place among these.
    """

    queries: tuple[str, ...]
    edges: Integers
    documents: Sequence[str]
    document: Small
    value: NDArray[Any]
    labels: tuple[Value, ...] | None = None

    @classmethod
    def of(cls, table: Mapping[str, Mapping[str, Value]], dtype: Any = None) -> PairColumns[Value]:
        """The columns of a dict of dicts, whose queries without a document stay.

        `dtype` is the type of number that the values are; without one they are labels of any kind.
        """
        if isinstance(table, PairColumns):
            return table
        rows = table.values()
        documents, document = factorised(chain.from_iterable(rows))
        values = chain.from_iterable(row.values() for row in rows)
        edges = np.cumsum([0, *map(len, rows)])
        if dtype is not None:
            value = np.fromiter(values, dtype=dtype, count=len(document))
            return cls(tuple(table), edges, documents, document, value)
        labels, value = factorised(values)
        return cls(tuple(table), edges, documents, document, value, tuple(labels))

    @classmethod
    def of_places(
        cls,
        queries: Iterable[str],
        query: Small,
        documents: Sequence[str],
        document: Small,
        value: NDArray[Any],
    ) -> PairColumns[Any]:
        """Pairs in any order, each once, whose `query` and `document`, `(n,)`, are places of ids.

        Those of a query come to stand together, in their order.
        """
        if (query[1:] < query[:-1]).any():
            order = np.argsort(query, kind="stable")
            query, document, value = query[order], document[order], value[order]
        names = tuple(queries)
        edges = np.searchsorted(query, np.arange(len(names) + 1))
        return cls(names, edges, documents, document, value)

    @classmethod
    def of_pairs(cls, values: Mapping[Pair, Value], dtype: Any = None) -> PairColumns[Value]:
        """The columns of a dict by pairs; `dtype` is as of `of`."""
        table: dict[str, dict[str, Value]] = {}
        for pair, value in values.items():
            table.setdefault(pair.query_id, {})[pair.doc_id] = value
        return cls.of(table, dtype)

    @cached_property
    def query(self) -> Small:
        """The place of each pair's query, `(n,)`, ascending."""
        return np.repeat(np.arange(len(self.queries), dtype=np.int32), np.diff(self.edges))

    @cached_property
    def place_of_query(self) -> dict[str, int]:
        """The place of each query's id."""
        return {query_id: at for at, query_id in enumerate(self.queries)}

    @cached_property
    def document_keys(self) -> Keys:
        """The keys of the `documents`."""
        return keys_of(self.documents)

    def batches(self) -> Iterator[Batch]:
        """About `BATCH` pairs at a time, no query in two batches, as lines of a file are held."""
        starts = self.edges[:-1] // BATCH
        firsts = np.flatnonzero(np.diff(starts, prepend=-1)) if len(starts) else np.zeros(1, int)
        firsts = np.append(firsts, len(starts))
        for first, last in pairwise(firsts.tolist()):
            pairs = slice(int(self.edges[first]), int(self.edges[last]))
            names = [query_id.encode() for query_id in self.queries[first:last]]
            query = self.query[pairs].astype(np.int64) - first
            documents = self.document_keys.take(self.document[pairs])
            yield Batch(names, query, documents, self.value[pairs])

    def ranks(self) -> Small:
        """The rank of each pair in its query, `(n,)`, from 1, as trec_eval orders scores."""
        return np.concatenate([batch.ranks.astype(np.int32) for batch in self.batches()])

    @property
    def size(self) -> int:
        """How many pairs."""
        return len(self.document)

    @cached_property
    def _last_row(self) -> dict[str, dict[str, Value]]:
        """The query that was asked for last: who asks for one document asks for the next one."""
        return {}

    def __getitem__(self, query_id: str) -> dict[str, Value]:
        row = self._last_row.get(query_id)
        if row is None:
            at = self.place_of_query[query_id]
            row = self._row(int(self.edges[at]), int(self.edges[at + 1]))
            self._last_row.clear()
            self._last_row[query_id] = row
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.place_of_query

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.queries):,} queries, {self.size:,} pairs)"

    def _row(self, first: int, last: int) -> dict[str, Value]:
        documents = ids_at(self.documents, self.document[first:last])
        return dict(zip(documents, self._plain(self.value[first:last]), strict=True))

    def _plain(self, values: NDArray[Any]) -> list[Value]:
        plain = values.tolist()
        return plain if self.labels is None else [self.labels[code] for code in values.tolist()]

    def as_dict(self) -> dict[str, dict[str, Value]]:
        """Plain dicts of plain values, as pytrec_eval, ranx and ir_measures take them."""
        edges = pairwise(self.edges.tolist())
        return {q: self._row(*ends) for q, ends in zip(self.queries, edges, strict=True)}

    def pairs(self) -> Iterator[Pair]:
        """The pairs, in their order."""
        documents = ids_at(self.documents, self.document)
        return map(Pair, map(self.queries.__getitem__, plain_values(self.query)), documents)

    @cached_property
    def coded(self) -> tuple[tuple[Value, ...], Integers]:
        """The distinct values, and each pair's place among them, `(n,)`."""
        if self.labels is not None:
            return self.labels, self.value
        distinct, code = np.unique(self.value, return_inverse=True)
        return tuple(distinct.tolist()), code

    def used(self) -> list[Value]:
        """The distinct values that any pair has."""
        distinct, code = self.coded
        return [distinct[at] for at in np.unique(code).tolist()]

    def holding(
        self, value: NDArray[Any], labels: tuple[Any, ...] | None = None
    ) -> PairColumns[Any]:
        """The same pairs with other values."""
        return replace(self, value=value, labels=labels)

    def replaced(self, of_value: Mapping[Value, Any]) -> PairColumns[Any]:
        """Integers in place of values, as a dict from these says; without those of None."""
        distinct, code = self.coded
        to = [of_value[value] for value in distinct]
        numbers = np.array([0 if each is None else each for each in to], dtype=np.int64)
        has_one = np.array([each is not None for each in to], dtype=np.bool_)
        whole = self.holding(numbers[code])
        return whole if has_one.all() else whole.keep(has_one[code])

    def by_query_id(self) -> tuple[tuple[str, ...], Integers]:
        """The ids of queries that have a pair, in their order, and each pair's place among them."""
        used, query = np.unique(self.query, return_inverse=True)
        names = [self.queries[at] for at in used.tolist()]
        return tuple(sorted(names)), id_ranks(names)[query].astype(np.int64)

    def rows_in(self, other: PairColumns[Any]) -> Small:
        """Where each of these pairs stands in another set, `(n,)`; -1 where it does not."""
        if not (self.size and other.size):
            return np.full(self.size, NONE, dtype=np.int32)
        _, _, numbers = pair_numbers([self, other])
        return _rows_of(*numbers)

    def outside(self, others: Set[Pair]) -> Flags:
        """Which pairs are none of some others, `(n,)`."""
        rows = self.rows_in(PairColumns.of_pairs(dict.fromkeys(others, 0), np.int8))
        return np.asarray(rows == NONE)

    def beside(self, other: PairColumns[Any], missing: Any) -> NDArray[Any]:
        """Another set's numbers, or places in its labels, of these pairs; else `missing`."""
        return taken(other.value, self.rows_in(other), missing)

    def pair(self, row: int) -> Pair:
        """One of the pairs."""
        return Pair(self.queries[self.query[row]], self.documents[self.document[row]])

    def by_pair(self) -> Iterator[tuple[Pair, Value]]:
        """Each pair with its value."""
        values = plain_values(self.value)
        each = values if self.labels is None else map(self.labels.__getitem__, values)
        return zip(self.pairs(), each, strict=True)

    def keep(self, mask: Flags) -> PairColumns[Value]:
        """The pairs of a mask, `(n,)`, alone, and the queries that have any of them."""
        if mask.all() and np.diff(self.edges).all():
            return self
        sizes = np.bincount(self.query[mask], minlength=len(self.queries))
        left = np.flatnonzero(sizes)
        return replace(
            self,
            queries=tuple(self.queries[at] for at in left.tolist()),
            edges=np.append(0, np.cumsum(sizes[left])),
            document=self.document[mask],
            value=self.value[mask],
        )

    def by_id(self) -> PairColumns[Value]:
        """The same pairs in the order of their queries' ids, and then of their documents'."""
        rank, names = id_ranks(self.queries)[self.query], tuple(sorted(self.queries))
        order = np.lexsort((id_ranks(self.documents)[self.document], rank))
        edges = np.append(0, np.cumsum(np.bincount(rank, minlength=len(names))))
        return replace(
            self, queries=names, edges=edges, document=self.document[order], value=self.value[order]
        )

    def frame(self, value: str = "relevance") -> DataFrame:
        """The columns `query_id`, `doc_id` and one for the value, as ir_measures calls them."""
        import pandas as pd

        columns = {
            "query_id": np.array(self.queries, dtype=object)[self.query],
            "doc_id": np.array(list(self.documents), dtype=object)[self.document],
            value: self.value if self.labels is None else self._plain(self.value),
        }
        return pd.DataFrame(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same three columns in Arrow's form, ids as dictionaries; needs `pyarrow`."""
        with needing("Arrow's form needs pyarrow: pip install 'ir-labeler[parquet]'"):
            import pyarrow as pa
        columns = {
            "query_id": pa.DictionaryArray.from_arrays(self.query, pa.array(self.queries)),
            "doc_id": pa.DictionaryArray.from_arrays(self.document, pa.array(list(self.documents))),
            "value": pa.array(self.value if self.labels is None else self._plain(self.value)),
        }
        return pa.table(columns).__arrow_c_stream__(requested_schema)


def factorised(values: Iterable[Any]) -> tuple[list[Any], Small]:
    """Distinct values in the order in which they first appear, and the place of each of all."""
    codes = Codes()
    codes.extend(values)
    return list(codes.place), codes.code


# Several sets over one numbering of their pairs.


@dataclass(frozen=True, eq=False)
class Joined:
    """All pairs that any of `s` sets holds, and where each set has them.

    Queries are ordered by their first appearance, the first set's first, and so are the pairs of a
    query. `query` and `document`, `(n,)`, are places in `queries` and `documents`; `row`,
    `(n, s)`, is where the pair stands in each set, -1 where it does not.
    """

    queries: tuple[str, ...]
    documents: Sequence[str]
    query: Small
    document: Small
    row: Small

    def pairs(self, rows: Places) -> Iterator[Pair]:
        """Some of the pairs."""
        documents = ids_at(self.documents, self.document[rows])
        return map(Pair, map(self.queries.__getitem__, plain_values(self.query[rows])), documents)

    def by_id(self, mask: Flags) -> Integers:
        """The rows of a mask, in the order of their queries' ids and then of their documents'."""
        rows = np.flatnonzero(mask)
        keys = (
            id_ranks(self.documents)[self.document[rows]],
            id_ranks(self.queries)[self.query[rows]],
        )
        return np.asarray(rows[np.lexsort(keys)])

    def columns(self, rows: Places) -> PairColumns[int]:
        """Some rows, those of a query behind one another, as pairs with their places among all."""
        query = self.query[rows]
        edges = np.append(np.flatnonzero(np.diff(query, prepend=-1)), len(query))
        names = tuple(self.queries[at] for at in query[edges[:-1]].tolist())
        return PairColumns(names, edges, self.documents, self.document[rows], rows)

    def values(self, column: int, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """The values, `(pairs of the set,)`, of one set for all pairs; `missing` where it has none.

        `column` is the set's.
        """
        return taken(values, self.row[:, column], missing)


def taken(values: NDArray[Any], rows: Places, missing: Any) -> NDArray[Any]:
    """The values of some rows; `missing` where a row is -1."""
    if not len(values):
        return np.full(len(rows), missing)
    return np.where(rows == NONE, missing, values[rows])


def joined_pairs(sets: Sequence[PairColumns[Any]]) -> Joined:
    """Sets of pairs side by side. No set holds a pair twice."""
    queries, documents, parts = pair_numbers(sets)
    every = parts[0]
    for part in parts[1:]:
        every = np.append(every, part[_rows_of(part, every) == NONE])
    size = max(len(documents), 1)
    query = (every // size).astype(np.int32)
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        every, query = every[order], query[order]
    row = np.stack([_rows_of(every, part) for part in parts], axis=1)
    return Joined(queries, documents, query, (every % size).astype(np.int32), row)


def _rows_of(own: Integers, theirs: Integers) -> Small:
    """Where each of some numbers stands among others; -1 where it does not."""
    if np.array_equal(own, theirs):
        return np.arange(len(own), dtype=np.int32)
    rows = np.full(len(own), NONE, dtype=np.int32)
    if len(theirs):
        order = np.argsort(theirs, kind="stable")
        at = order[np.minimum(np.searchsorted(theirs, own, sorter=order), len(theirs) - 1)]
        is_in = theirs[at] == own
        rows[is_in] = at[is_in]
    return rows


def pair_numbers(
    sets: Sequence[Any],
) -> tuple[tuple[str, ...], Sequence[str], list[Integers]]:
    """All queries and documents of sets of pairs, and a number for each pair: its query's place,
    then its document's.
    """
    queries, of_query = _one_numbering([own.queries for own in sets])
    documents, of_document = _one_numbering([own.documents for own in sets])
    numbers = []
    for i, own in enumerate(sets):
        number = of_query[i][own.query]
        number *= len(documents)
        number += of_document[i][own.document]
        numbers.append(number)
    return tuple(queries), documents, numbers


def _one_numbering(ids: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[Integers]]:
    """All distinct ids by first appearance, and the new place of each of every list's."""
    every: Sequence[str]
    try:
        words = [
            own.keys.words if isinstance(own, Ids) else words_of(joined_texts(own), 0, evenly=True)
            for own in ids
        ]
        every, code = numbered(joined_words(words))
    except Irregular:  # ids that stand in no file of lines, or a few long ones
        every, code = factorised(chain.from_iterable(ids))
    return every, np.split(code.astype(np.int64), np.cumsum(list(map(len, ids)))[:-1])


# Columns of a file whose lines are plain; the slow readers judge others.


def numbers_in_file(path: Path, kind: Kind, block: int = _BLOCK) -> PairColumns[Any]:
    """The grade or score of each pair of a file, in the file's order but for scattered queries.

    Raises `Irregular` or `BadInput` where a line is not plain, or names a pair a second time.
    """
    blocks = fields(path, kind.columns, block)
    return _gathered(blocks, lambda part: kind.values(part).astype(kind.dtype))


def read_numbers(
    path: Path, kind: Kind, by_line: Callable[[Path], Mapping[str, Mapping[str, Any]]]
) -> PairColumns[Any]:
    """The same of any file: `by_line` reads one that is not plain, or says what is wrong."""
    with rereadable():
        try:
            with reading(path):
                return numbers_in_file(path, kind)
        except (Irregular, BadInput):
            return PairColumns.of(by_line(path), kind.dtype)


def labels_in_file(path: Path, block: int = _BLOCK) -> PairColumns[str]:
    """The same of the fourth column's texts, whatever they are."""
    blocks = fields(path, QRELS_COLUMNS, block)
    pairs = _gathered(blocks, lambda part: np.array(part.cells(slice(None), 3), object))
    labels, code = factorised(pairs.value.tolist())
    return pairs.holding(code, tuple(label.decode() for label in labels))


def _gathered(
    blocks: Iterator[Fields], values_of: Callable[[Fields], NDArray[Any]]
) -> PairColumns[Any]:
    queries: dict[bytes, int] = {}
    parts: list[tuple[Small, Words, NDArray[Any]]] = []  # of each block of lines
    for part in blocks:
        stretches = Stretches.of(part)
        numbers = [queries.setdefault(name, len(queries)) for name in stretches.names]
        query = np.array(numbers, dtype=np.int32)[stretches.of_line]
        parts.append((query, words_of(part, 2, evenly=True), values_of(part)))
    documents, document = numbered(joined_words([words for _, words, _ in parts]))
    query, value = (np.concatenate([part[at] for part in parts]) for at in (0, 2))
    key = np.sort(query.astype(np.int64) * len(documents) + document)
    if (key[1:] == key[:-1]).any():  # a pair stands there twice
        raise Irregular
    names = [name.decode() for name in queries]
    return PairColumns.of_places(names, query, documents, document, value)
