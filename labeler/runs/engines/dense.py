"""Vectors and their cosine as a retrieval engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labeler.data import Document, Query, Run
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encoder
from labeler.trec.order import best

BATCH = 1024


def dense_run(
    documents: Sequence[Document],
    queries: Sequence[Query],
    encoder: Encoder,
    depth: int,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Rank by the cosine of the vectors that `encoder` gives; `advance` counts documents."""
    texts = [text_to_search(document) for document in documents]
    vectors = []
    for start in range(0, len(texts), BATCH):
        vectors.append(encoder.documents(texts[start : start + BATCH]))
        advance(min(start + BATCH, len(texts)), len(texts))
    matrix = np.concatenate(vectors) if vectors else encoder.documents([])
    vectors_of_queries = encoder.queries([query.text for query in queries])
    ids = [document.id for document in documents]
    return {
        query.id: best(matrix @ vector, ids, depth)
        for query, vector in zip(queries, vectors_of_queries, strict=True)
    }
