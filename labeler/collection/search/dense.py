"""Vectors and their cosine as a retrieval engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from labeler.collection.search.ids_in_parts import IdsInParts
from labeler.collection.search.nearest import Nearest
from labeler.collection.search.searched import IndexFolder, Searched
from labeler.data import Document, Query, Run
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.messages import Progress, no_progress
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encode, Encoder, encode

BATCH = 1024
ROWS_AT_ONCE = 1 << 14
"""Of 256 numbers, 16 MB."""

Vectors = NDArray[np.float32]


def dense_run(
    searched: Searched,
    queries: Sequence[Query],
    encoder: Encoder,
    depth: int,
    progress: Progress = no_progress,
) -> Run:
    """Rank by the cosine of the vectors that `encoder` gives.

    Those of the embedded encoder are kept with the other indexes; a server's are kept elsewhere.
    """
    nearest = Nearest(encoder.queries([query.text for query in queries]), depth)
    if searched.indexes is None or encoder.documents is not encode:
        ids: Sequence[str] = _search_unkept(searched, encoder.documents, nearest, progress)
    else:
        ids = _search_kept(_kept_parts(searched.indexes, encoder, progress), nearest, progress)
    return dict(zip((query.id for query in queries), nearest.ranked(ids), strict=True))


class DenseIndex:
    """The vectors of documents, to be searched again and again.

    They are held where the documents are few. Those of another encoder than the embedded one are
    gone through each time.
    """

    def __init__(self, searched: Searched, encoder: Encoder, progress: Progress) -> None:
        self._searched, self._encoder = searched, encoder
        self._parts: list[Arrays] | None = None
        self._blocks: list[Vectors] | None = None
        self._ids: list[str] = []
        if searched.indexes is None:
            with progress("encoding") as advance:
                documents = searched.counted(advance)
                self._blocks = [*_encoded(documents, encoder.documents, self._ids)]
        elif encoder.documents is encode:
            self._parts = _kept_parts(searched.indexes, encoder, progress)

    def run(self, queries: Sequence[Query], depth: int, progress: Progress = no_progress) -> Run:
        """The ranking of each query."""
        nearest = Nearest(self._encoder.queries([query.text for query in queries]), depth)
        ids = self._search(nearest, progress)
        return dict(zip((query.id for query in queries), nearest.ranked(ids), strict=True))

    def _search(self, nearest: Nearest, progress: Progress) -> Sequence[str]:
        if self._parts is not None:
            return _search_kept(self._parts, nearest, progress)
        if self._blocks is None:
            return _search_unkept(self._searched, self._encoder.documents, nearest, progress)
        first = 0
        for vectors in self._blocks:
            nearest.add(first, vectors)
            first += len(vectors)
        return self._ids


def _search_unkept(
    searched: Searched, encode_some: Encode, nearest: Nearest, progress: Progress
) -> Sequence[str]:
    """Search each batch of vectors as soon as it is encoded; the ids of all documents."""
    ids: list[str] = []
    first = 0
    with progress("encoding") as advance:
        for vectors in _encoded(searched.counted(advance), encode_some, ids):
            nearest.add(first, vectors)
            first += len(vectors)
    return ids


def _kept_parts(folder: IndexFolder, encoder: Encoder, progress: Progress) -> list[Arrays]:
    """The index of vectors in parts; a kill loses none but the part that is being encoded."""

    def write(out: ArraysWriter, documents: Iterator[Document]) -> None:
        ids: list[str] = []
        out.add("vectors", _encoded(documents, encoder.documents, ids))
        out.add_texts("ids", ids)

    with progress("encoding") as advance:
        return folder.parts("vectors", {"vectors": 2, "encoder": encoder.id}, write, advance)


def _search_kept(parts: Sequence[Arrays], nearest: Nearest, progress: Progress) -> Sequence[str]:
    """Search an index of vectors a block at a time; the ids of all documents."""
    rows, done = sum(part.shape("vectors")[0] for part in parts), 0
    with progress("searching, dense") as advance:
        for part in parts:
            for first in range(0, part.shape("vectors")[0], ROWS_AT_ONCE):
                vectors = part.rows("vectors", first, first + ROWS_AT_ONCE)
                nearest.add(done, vectors)
                done += len(vectors)
                advance(done, rows)
    return IdsInParts(parts)


def _encoded(
    documents: Iterator[Document], encode_some: Encode, ids: list[str]
) -> Iterator[Vectors]:
    """The vectors of the documents, a batch at a time; their ids are added to `ids`."""
    while batch := list(islice(documents, BATCH)):
        ids += [document.id for document in batch]
        yield encode_some([*map(text_to_search, batch)])
