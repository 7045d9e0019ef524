"""`queries.jsonl` as BEIR writes it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags
from labeler.collection.corpus import corpus_lines
from labeler.collection.layout import open_collection
from labeler.collection.lock import check_locked
from labeler.collection.rows import Row, records, repeated_id
from labeler.data import Query
from labeler.errors import BadInput, Misuse
from labeler.files.jsonl import write_rows
from labeler.files.read import numbered_lines
from labeler.messages import count_of
from labeler.trec.index import Batch, Index


def read_queries(path: Path) -> dict[str, Query]:
    """The queries of a `queries.jsonl` by id, in the file's order."""
    queries: dict[str, Query] = {}
    for number, query in records(path, lambda row: (row.number, query_in(row))):
        if query.id in queries:
            raise repeated_id(path, number, query.id)
        queries[query.id] = query
    return queries


def query_in(row: Row) -> Query:
    """The query of a row."""
    return Query(row.id("_id"), row.text("text", None), row.object("metadata"))


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write a `queries.jsonl`; it reads back as the same queries."""
    check_locked(path.parent)
    rows = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in queries)
    write_rows(path, rows, check=read_queries)


# The ids of a collection, ids that people name, and lines whose ids the collection has not.

_PART = 100_000
_SHOWN = 3


def parse_ids(text: str | None, parameter: str) -> dict[str, str] | None:
    """Ids with commas, or a file with one a line; None where nothing was named.

    Each id comes with the place where it stands, `FILE:LINE` or nothing. `parameter` is the one
    that the text was given for.
    """
    if text is None:
        return None
    path = Path(text)
    if os.path.isfile(text):  # which says no of a list that is too long for a name
        lines = ((n, line.split()) for n, line in numbered_lines(path))
        origins = {words[0]: f"{path}:{n}" for n, words in lines if words and words[0][0] != "#"}
    else:
        origins = dict.fromkeys(filter(None, (part.strip() for part in text.split(","))), "")
    if not origins:
        raise Misuse(f"{text!r} names no id", parameter=parameter)
    return origins


def files_of_ids(*texts: str | None) -> tuple[Path, ...]:
    """Those of the texts that name files of ids."""
    return tuple(Path(text) for text in texts if text and os.path.isfile(text))


@dataclass(frozen=True)
class CollectionIds:
    """The ids of a collection's queries and documents, sorted."""

    folder: Path
    queries: NDArray[np.bytes_]
    documents: NDArray[np.bytes_]

    @classmethod
    def of(cls, folder: Path) -> CollectionIds:
        """Read the ids of the collection in a directory."""
        collection = open_collection(folder)
        queries = [query_id.encode() for query_id in read_queries(collection.queries)]
        documents = (document.id.encode() for _, document in corpus_lines(collection.corpus))
        parts = [np.array([], dtype=np.bytes_)]
        while part := list(islice(documents, _PART)):
            parts.append(np.array(part))
        return cls(folder, np.unique(np.array(queries)), np.unique(np.concatenate(parts)))


def _are_among(texts: NDArray[np.bytes_], ids: NDArray[np.bytes_]) -> Flags:
    """Whether each text is one of some sorted ids, of which no copy is made for it."""
    if not len(ids):
        return np.zeros(len(texts), dtype=np.bool_)
    as_wide = texts.astype(ids.dtype)  # what is longer is cut, and equals none
    nearest = ids[np.minimum(np.searchsorted(ids, as_wide), len(ids) - 1)]
    are_among: Flags = nearest == texts
    return are_among


@dataclass
class UnknownIds:
    """The lines of a file that name a query or a document that a collection has not.

    `lines` counts them; `first` is the pair of the first one.
    """

    ids: CollectionIds
    lines: int = 0
    first: tuple[bytes, bytes] | None = None

    def add(self, batch: Batch) -> None:
        """Count those among some of the file's lines."""
        queries = _are_among(np.array(batch.names), self.ids.queries)[batch.query]
        texts = batch.texts(np.arange(len(batch.query)))
        unknown = ~(queries & _are_among(np.array(texts), self.ids.documents))
        self.lines += int(unknown.sum())
        if self.first is None and unknown.any():
            line = int(np.flatnonzero(unknown)[0])
            self.first = batch.names[int(batch.query[line])], texts[line]

    def refuse(self, index: Index) -> None:
        """`BadInput` names the first of the lines, and says what the collection has."""
        if self.first is None:
            return
        for number, columns in index.numbered():
            if (columns[0], columns[2]) == self.first:
                raise BadInput.at(index.path, number, self._problem(*self.first))

    def _problem(self, query: bytes, document: bytes) -> str:
        is_query = query not in self.ids.queries
        kind, unknown = ("query", query) if is_query else ("document", document)
        ids = self.ids.queries if is_query else self.ids.documents
        examples = ", ".join(text.decode() for text in ids[:_SHOWN].tolist())
        has = f"whose ids are as {examples}" if examples else f"which has no {kind}"
        lines = count_of(self.lines, "line names", "lines name")
        return (
            f"the {kind} {unknown.decode()!r} is not in {self.ids.folder}, {has};"
            f" {lines} unknown ids"
        )
