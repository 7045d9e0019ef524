"""Ids that people name, and the ids that a collection knows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.collection.corpus import corpus_lines
from labeler.collection.layout import open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, Misuse
from labeler.files.read import numbered_lines
from labeler.messages import count_of
from labeler.trec.blocks import Batch
from labeler.trec.index import Index

_PART = 100_000
_SHOWN = 3


def named_ids(option: str, text: str | None) -> dict[str, str] | None:
    """Ids with commas, or a file with one a line: each with the place where it stands."""
    if text is None:
        return None
    path = Path(text)
    if path.is_file():
        lines = ((n, line.split()) for n, line in numbered_lines(path))
        found = {words[0]: f"{path}:{n}" for n, words in lines if words and words[0][0] != "#"}
    else:
        found = dict.fromkeys(filter(None, (part.strip() for part in text.split(","))), option)
    if not found:
        raise Misuse(f"{option} {text!r} names no id")
    return found


@dataclass(frozen=True)
class KnownIds:
    """The ids of a collection's queries and documents, sorted."""

    folder: Path
    queries: NDArray[np.bytes_]
    documents: NDArray[np.bytes_]

    @classmethod
    def of(cls, folder: Path) -> KnownIds:
        """Those in the files of a collection."""
        collection = open_collection(folder)
        queries = [query_id.encode() for query_id in read_queries(collection.queries)]
        documents = (document.id.encode() for _, document in corpus_lines(collection.corpus))
        parts = [np.array([], dtype=np.bytes_)]
        while part := list(islice(documents, _PART)):
            parts.append(np.array(part))
        return cls(folder, np.unique(np.array(queries)), np.unique(np.concatenate(parts)))


@dataclass
class Unknown:
    """How many lines of a file name a query or a document that is not known, and the first."""

    known: KnownIds
    lines: int = 0
    first: tuple[bytes, bytes] | None = None

    def look(self, batch: Batch) -> None:
        """Look at some of the file's lines."""
        queries = np.isin(np.array(batch.names), self.known.queries)[batch.query]
        texts = batch.texts(np.arange(len(batch.query)))
        unknown = ~(queries & np.isin(np.array(texts), self.known.documents))
        self.lines += int(unknown.sum())
        if self.first is None and unknown.any():
            line = int(np.flatnonzero(unknown)[0])
            self.first = batch.names[int(batch.query[line])], texts[line]

    def finish(self, index: Index) -> None:
        """`BadInput` names the first of the lines, and says what the collection has."""
        if self.first is None:
            return
        for number, columns in index.numbered():
            if (columns[0], columns[2]) == self.first:
                raise BadInput.at(index.path, number, self._problem(*self.first))

    def _problem(self, query: bytes, document: bytes) -> str:
        is_query = query not in self.known.queries
        what, found = ("query", query) if is_query else ("document", document)
        there = self.known.queries if is_query else self.known.documents
        shown = ", ".join(text.decode() for text in there[:_SHOWN].tolist())
        lines = count_of(self.lines, "line names", "lines name")
        return (
            f"the {what} {found.decode()!r} is not in {self.known.folder}, whose ids are as"
            f" {shown}; {lines} unknown ids"
        )
