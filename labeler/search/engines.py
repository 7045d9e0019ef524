"""The retrievers behind `labeler pool`: documents and queries in, a run out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labeler.data import Document, Query, Run
from labeler.search.dense import Encode
from labeler.search.ranking import best
from labeler.terms import K1, B, terms

BATCH = 1024


def text_to_search(document: Document) -> str:
    """What a retriever indexes of a document: its title, then its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text


def bm25_run(documents: Sequence[Document], queries: Sequence[Query], depth: int) -> Run:
    """Rank by BM25 (Lucene's variant, by bm25s); documents without a query term are left out."""
    import bm25s

    if not documents:
        return {query.id: {} for query in queries}
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([terms(text_to_search(d)) for d in documents], show_progress=False)
    ids = [document.id for document in documents]
    run: Run = {}
    for query in queries:
        known = [term for term in terms(query.text) if term in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(ids), dtype=np.float32)
        run[query.id] = best(np.where(scores > 0, scores, -np.inf), ids, depth)
    return run


def dense_run(
    documents: Sequence[Document],
    queries: Sequence[Query],
    encode: Encode,
    depth: int,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Rank by the cosine of the vectors that `encode` gives; `advance` counts documents."""
    texts = [text_to_search(document) for document in documents]
    vectors = []
    for start in range(0, len(texts), BATCH):
        vectors.append(encode(texts[start : start + BATCH]))
        advance(min(start + BATCH, len(texts)), len(texts))
    matrix = np.concatenate(vectors) if vectors else encode([])
    wanted = encode([query.text for query in queries])
    ids = [document.id for document in documents]
    return {
        query.id: best(matrix @ vector, ids, depth)
        for query, vector in zip(queries, wanted, strict=True)
    }
