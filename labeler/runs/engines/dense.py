"""Vectors and their cosine as a retrieval engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from labeler.data import Query, Run
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.messages import Progress, no_progress
from labeler.runs.engines.nearest import Nearest
from labeler.runs.searched import Searched
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
    if searched.kept is None or encoder.documents is not encode:
        ids: Sequence[str] = _search_unkept(searched, encoder.documents, nearest, progress)
    else:
        settings = {"vectors": 1, "encoder": encoder.id}

        def write(out: ArraysWriter) -> None:
            new: list[str] = []
            out.add("vectors", _encoded(searched, encoder.documents, new, progress))
            out.add_texts("ids", new)

        arrays = searched.kept.opened("vectors", settings, write)
        ids = _search_kept(arrays, nearest, progress)
    return dict(zip((query.id for query in queries), nearest.found(ids), strict=True))


def _search_unkept(
    searched: Searched, encode: Encode, nearest: Nearest, progress: Progress
) -> Sequence[str]:
    """Search each batch of vectors as soon as it is encoded; the ids of all documents."""
    ids: list[str] = []
    first = 0
    for vectors in _encoded(searched, encode, ids, progress):
        nearest.add(first, vectors)
        first += len(vectors)
    return ids


def _search_kept(arrays: Arrays, nearest: Nearest, progress: Progress) -> Sequence[str]:
    """Search an index of vectors a block at a time; the ids of all documents."""
    rows = arrays.shape("vectors")[0]
    with progress("searching, dense") as advance:
        for first in range(0, rows, ROWS_AT_ONCE):
            nearest.add(first, arrays.rows("vectors", first, first + ROWS_AT_ONCE))
            advance(min(first + ROWS_AT_ONCE, rows), rows)
    return arrays.texts("ids")


def _encoded(
    searched: Searched, encode: Encode, ids: list[str], progress: Progress
) -> Iterator[Vectors]:
    """The vectors of the documents, a batch at a time; their ids are added to `ids`."""
    with progress("encoding") as advance:
        documents = searched.counted(advance)
        while batch := list(islice(documents, BATCH)):
            ids += [document.id for document in batch]
            yield encode([*map(text_to_search, batch)])
