"""Rank fusion: several runs into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from labeler.data import Run


def ranking(scores: Mapping[str, float]) -> list[str]:
    """The documents as trec_eval orders them: score descending, then document id descending.

    Ids compare by their UTF-8 bytes, which is the order of their code points.
    """
    return sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)


def cut(scores: Mapping[str, float], depth: int) -> dict[str, float]:
    """The first `depth` documents of `scores`, in order."""
    return {doc_id: scores[doc_id] for doc_id in ranking(scores)[:depth]}


def rrf(runs: Sequence[Run], k: float = 60, depth: int = 1000) -> Run:
    """Reciprocal rank fusion: a document's score is the sum of 1/(k + rank) over the runs.

    Ranks count from 1; at most `depth` documents of a query are kept. Runs that lack a query add
    nothing to it. After Cormack, Clarke and Buettcher (SIGIR 2009).
    """
    fused: dict[str, dict[str, float]] = {}
    for run in runs:
        for query_id, scores in run.items():
            sums = fused.setdefault(query_id, defaultdict(float))
            for rank, doc_id in enumerate(ranking(scores), start=1):
                sums[doc_id] += 1 / (k + rank)
    return {query_id: cut(sums, depth) for query_id, sums in fused.items()}
