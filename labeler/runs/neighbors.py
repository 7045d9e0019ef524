"""The documents that are most like others, by their terms and by their vectors."""

from __future__ import annotations

from collections.abc import Iterable

from labeler.collection.search.bm25 import bm25_run
from labeler.collection.search.dense import dense_run
from labeler.collection.search.searched import Searched
from labeler.data import Document, Query, Run
from labeler.messages import Progress, no_progress
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encoder
from labeler.trec.order import ranking


def neighbors(
    searched: Searched,
    seeds: Iterable[Document],
    count: int,
    encoder: Encoder | None = None,
    progress: Progress = no_progress,
) -> dict[str, dict[str, int]]:
    """Of each seed the `count` nearest documents by BM25, and by an encoder, with their best rank.

    A seed is searched for as if its text were a query, and is no neighbor of its own. What shares
    no term with it, or has a cosine of 0 or less, is none either.
    """
    asked = [Query(seed.id, text_to_search(seed)) for seed in seeds]
    runs = [bm25_run(searched, asked, count + 1, progress)]
    if encoder is not None:
        alike = encoder._replace(queries=encoder.documents)  # both sides are documents
        runs.append(dense_run(searched, asked, alike, count + 1, progress))
    return {query.id: _ranks(query.id, runs, count) for query in asked}


def _ranks(seed: str, runs: Iterable[Run], count: int) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for run in runs:
        alike = {doc_id: score for doc_id, score in run[seed].items() if score > 0}
        others = [doc_id for doc_id in ranking(alike) if doc_id != seed]
        for rank, doc_id in enumerate(others[:count], start=1):
            ranks[doc_id] = min(rank, ranks.get(doc_id, rank))
    return ranks
