"""BM25 as a retrieval engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np

from labeler.data import Document, Query, Run
from labeler.text.terms import K1, B, terms, text_to_search
from labeler.trec.order import best


def bm25_tag() -> str:
    """The name and version of the engine."""
    return f"bm25s-{version('bm25s')}"


def bm25_run(
    documents: Sequence[Document],
    queries: Sequence[Query],
    depth: int,
    _advance: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Rank by BM25 (Lucene's variant, by bm25s); documents without a query term are left out."""
    import bm25s

    if not documents:
        return {query.id: {} for query in queries}
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([terms(text_to_search(d)) for d in documents], show_progress=False)
    ids = [document.id for document in documents]
    run: Run = {}
    for query in queries:
        indexed = [term for term in terms(query.text) if term in index.vocab_dict]
        scores = index.get_scores(indexed) if indexed else np.zeros(len(ids), dtype=np.float32)
        run[query.id] = best(np.where(scores > 0, scores, -np.inf), ids, depth)
    return run
