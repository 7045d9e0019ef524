"""BM25 as a retrieval engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.collection.search.best_rows import BestRows
from labeler.collection.search.ids_in_parts import IdsInParts
from labeler.collection.search.searched import IndexFolder, Searched
from labeler.data import Document, Query, Run
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.messages import Progress, no_progress
from labeler.text.bm25 import Bm25, Bm25Part, bm25_name, index_settings, write_part
from labeler.text.terms import text_to_search


def bm25_tag() -> str:
    """The name of the engine, with what it depends on."""
    return bm25_name()


def bm25_run(
    searched: Searched, queries: Sequence[Query], depth: int, progress: Progress = no_progress
) -> Run:
    """Rank by BM25 (Lucene's variant); documents without a query term are left out."""
    return Bm25Index.of(searched, progress).run(queries, depth, progress)


@dataclass(frozen=True)
class Bm25Index:
    """The index of documents in parts, and their ids: kept in files, or made in the memory."""

    parts: Sequence[Bm25Part]
    ids: Sequence[str]

    @classmethod
    def of(cls, searched: Searched, progress: Progress = no_progress) -> Bm25Index:
        """The index of documents; what is missing of it is made first."""
        if searched.indexes is not None:
            indexed = _kept_parts(searched.indexes, progress)
            return cls(_PartsInFiles(indexed), IdsInParts(indexed))
        ids: list[str] = []
        with progress("indexing, BM25") as advance:
            return cls([Bm25Part.of(_texts(searched.counted(advance), ids))], ids)

    def run(self, queries: Sequence[Query], depth: int, progress: Progress = no_progress) -> Run:
        """The ranking of each query, part by part for all queries."""
        index = Bm25.of(self.parts, [query.text for query in queries])
        several = [BestRows(depth, self.ids) for _ in queries]
        first, steps = 0, len(self.parts) * len(queries)
        with progress("searching, BM25") as advance:
            for part in range(len(self.parts)):
                scorer = index.scorer(part)
                for number, (query, best) in enumerate(zip(queries, several, strict=True), start=1):
                    scores = scorer.scores(query.text)
                    rows = np.flatnonzero(scores >= best.floor if best.floor > 0 else scores > 0)
                    best.add(rows + first, scores[rows])
                    advance(part * len(queries) + number, steps)
                first += len(scorer)
        return {query.id: best.ranked() for query, best in zip(queries, several, strict=True)}


def _kept_parts(folder: IndexFolder, progress: Progress) -> list[Arrays]:
    def write(out: ArraysWriter, documents: Iterator[Document]) -> None:
        ids: list[str] = []
        write_part(out, _texts(documents, ids))
        out.add_texts("ids", ids)

    with progress("indexing, BM25") as advance:
        return folder.parts("bm25", index_settings(), write, advance)


class _PartsInFiles(Sequence[Bm25Part]):
    """Parts of an index, each opened when it is looked at: a process may open few files."""

    def __init__(self, parts: Sequence[Arrays]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: int) -> Bm25Part:  # type: ignore[override]  # none asks for slices
        return Bm25Part.within(self._parts[number])


def _texts(documents: Iterator[Document], ids: list[str]) -> Iterator[str]:
    """The texts of documents; their ids are added to `ids`."""
    for document in documents:
        ids.append(document.id)
        yield text_to_search(document)
