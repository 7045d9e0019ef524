"""Vectors and their cosine as a retrieval engine."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.data import Document, Query, Run
from labeler.files.arrays import Arrays, ArraysWriter, TextsOnDemand
from labeler.messages import Progress, no_progress
from labeler.runs.engines.nearest import Nearest
from labeler.runs.searched import IndexFolder, Searched
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
        ids = _search_kept(
            _kept_parts(searched, searched.indexes, encoder, progress), nearest, progress
        )
    return dict(zip((query.id for query in queries), nearest.ranked(ids), strict=True))


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


def _kept_parts(
    searched: Searched, folder: IndexFolder, encoder: Encoder, progress: Progress
) -> list[Arrays]:
    """The index of vectors in parts; a kill loses none but the part that is being encoded."""

    size = folder.documents_of_a_part

    def settings(part: int) -> dict[str, Any]:
        return {"vectors": 1, "encoder": encoder.id, "part": part, "documents of a part": size}

    parts = range(-(-searched.count // size))
    by_part = [folder.find("vectors", settings(part)) for part in parts]
    whole = [arrays for arrays in by_part if arrays is not None]
    if len(whole) == len(parts):
        return whole
    with progress("encoding") as advance:
        documents = searched.counted(advance)
        for part in parts:
            some = islice(documents, size)
            if by_part[part] is None:
                by_part[part] = folder.opened(
                    "vectors", settings(part), _writer(some, encoder.documents)
                )
            deque(some, maxlen=0)  # goes to the end of the part
    return [arrays for arrays in by_part if arrays is not None]


def _writer(documents: Iterator[Document], encode_some: Encode) -> Callable[[ArraysWriter], None]:
    def write(out: ArraysWriter) -> None:
        ids: list[str] = []
        out.add("vectors", _encoded(documents, encode_some, ids))
        out.add_texts("ids", ids)

    return write


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
    return _InParts([part.texts("ids") for part in parts])


class _InParts(TextsOnDemand):
    """The texts of several files as if they stood in one."""

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self._parts = parts
        self._ends = [*accumulate(map(len, parts))]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, index: int) -> str:
        """The text of one place, from 0."""
        part = bisect_right(self._ends, index)
        return self._parts[part][index - (self._ends[part - 1] if part else 0)]


def _encoded(
    documents: Iterator[Document], encode_some: Encode, ids: list[str]
) -> Iterator[Vectors]:
    """The vectors of the documents, a batch at a time; their ids are added to `ids`."""
    while batch := list(islice(documents, BATCH)):
        ids += [document.id for document in batch]
        yield encode_some([*map(text_to_search, batch)])
