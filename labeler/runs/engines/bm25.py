"""BM25 as a retrieval engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np

from labeler.data import Document, Query, Run
from labeler.text.bm25 import Bm25
from labeler.text.terms import text_to_search
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
    index = Bm25([text_to_search(document) for document in documents])
    ids = [document.id for document in documents]
    run: Run = {}
    for query in queries:
        scores = index.scores(query.text)
        run[query.id] = best(np.where(scores > 0, scores, -np.inf), ids, depth)
    return run
