"""BM25 as a retrieval engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from labeler.data import Query, Run
from labeler.files.arrays import ArraysWriter
from labeler.messages import Progress, no_progress
from labeler.runs.searched import Searched
from labeler.text.bm25 import Bm25, bm25_name, index_settings, write_index
from labeler.text.terms import text_to_search
from labeler.trec.order import best


def bm25_tag() -> str:
    """The name of the engine, with what it depends on."""
    return bm25_name()


def bm25_run(
    searched: Searched, queries: Sequence[Query], depth: int, progress: Progress = no_progress
) -> Run:
    """Rank by BM25 (Lucene's variant); documents without a query term are left out."""
    index, ids = _index(searched, progress)
    run: Run = {}
    with progress("searching, BM25") as advance:
        for number, query in enumerate(queries, start=1):
            scores = index.scores(query.text)
            run[query.id] = best(np.where(scores > 0, scores, -np.inf), ids, depth)
            advance(number, len(queries))
    return run


def _index(searched: Searched, progress: Progress) -> tuple[Bm25, Sequence[str]]:
    """The index of the documents, and their ids: kept in a file, or made in the memory."""
    if searched.indexes is None:
        ids: list[str] = []
        return Bm25.of(_texts(searched, ids, progress)), ids

    def write(out: ArraysWriter) -> None:
        new: list[str] = []
        write_index(out, _texts(searched, new, progress), progress)
        out.add_texts("ids", new)

    arrays = searched.indexes.opened("bm25", index_settings(), write)
    return Bm25.within(arrays), arrays.texts("ids")


def _texts(searched: Searched, ids: list[str], progress: Progress) -> Iterator[str]:
    """The texts of the documents; their ids are added to `ids`."""
    with progress("indexing, BM25") as advance:
        for document in searched.counted(advance):
            ids.append(document.id)
            yield text_to_search(document)
