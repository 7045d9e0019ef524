"""Which passages of a corpus may be asked about at all: all of them, unless they are many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from heapq import heappush, heapreplace

from labeler.data import Document

MOST_CONSIDERED = 100_000
"""Of more passages, so many are drawn, each with the same chance. Their texts are in the memory."""


def considered(
    documents: Iterable[Document], seed: int, most: int = MOST_CONSIDERED
) -> list[Document]:
    """The documents, or of more than `most` so many that the seed decides, in their order.

    >>> documents = [Document(f"d{n}", "A text.") for n in range(1000)]
    >>> [document.id for document in considered(documents, seed=0, most=3)]
    ['d554', 'd779', 'd789']
    """
    heap: list[tuple[int, int, Document]] = []
    for row, document in enumerate(documents):
        entry = -number_of(seed, document.id), row, document
        if len(heap) < most:
            heappush(heap, entry)
        elif entry > heap[0]:
            heapreplace(heap, entry)
    return [document for _, _, document in sorted(heap, key=lambda entry: entry[1])]


def number_of(*parts: object) -> int:
    """A number that a seed and names decide, of 64 bits."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])
