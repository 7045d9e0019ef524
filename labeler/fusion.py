"""Rank fusion: several runs into one."""

from __future__ import annotations

import math
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


def rescaled(scores: Mapping[str, float], norm: str) -> dict[str, float]:
    """One query's scores on a scale that runs share: `min-max`, `zscore` or `none`.

    Where all scores are equal, there is nothing to tell apart and each becomes 0.
    """
    if norm == "none":
        return dict(scores)
    values = scores.values()
    low, spread = min(values, default=0.0), max(values, default=0.0) - min(values, default=0.0)
    if norm == "zscore":
        low = sum(values) / max(len(values), 1)
        spread = math.sqrt(sum((score - low) ** 2 for score in values) / max(len(values), 1))
    return {doc: (score - low) / spread if spread else 0.0 for doc, score in scores.items()}


def combine(
    runs: Sequence[Run],
    method: str,
    norm: str = "min-max",
    weights: Sequence[float] | None = None,
    depth: int = 1000,
) -> Run:
    """Fuse by scores: `combsum` adds them, `combmnz` also multiplies by how many runs found the
    document, `wsum` adds them weighted. After Fox and Shaw (TREC-2, 1994).
    """
    factors = [1.0] * len(runs) if method != "wsum" or weights is None else list(weights)
    fused: dict[str, dict[str, float]] = {}
    found: dict[str, dict[str, int]] = {}
    for run, factor in zip(runs, factors, strict=True):
        for query_id, scores in run.items():
            sums = fused.setdefault(query_id, defaultdict(float))
            times = found.setdefault(query_id, defaultdict(int))
            for doc_id, score in rescaled(scores, norm).items():
                sums[doc_id] += factor * score
                times[doc_id] += 1
    if method == "combmnz":
        for query_id, sums in fused.items():
            for doc_id in sums:
                sums[doc_id] *= found[query_id][doc_id]
    return {query_id: cut(sums, depth) for query_id, sums in fused.items()}


def mmr(
    scores: Mapping[str, float], similarity: Sequence[Sequence[float]], balance: float, depth: int
) -> list[str]:
    """Maximal marginal relevance: the order of the first `depth` documents of `scores`.

    Each next one maximises `balance` times its score, scaled to 0 … 1, less 1 - `balance` times its
    highest similarity to those chosen. `similarity` is square, in the order of `scores`. Ties go to
    trec_eval's order. After Carbonell and Goldstein (SIGIR 1998).
    """
    ids = list(scores)
    place = {doc_id: i for i, doc_id in enumerate(ids)}
    scaled = rescaled(scores, "min-max")
    left, chosen = ranking(scores), list[str]()
    nearest = dict.fromkeys(ids, 0.0)
    while left and len(chosen) < depth:
        best = max(left, key=lambda doc: balance * scaled[doc] - (1 - balance) * nearest[doc])
        left.remove(best)
        chosen.append(best)
        row = similarity[place[best]]
        for doc_id in left:
            nearest[doc_id] = max(nearest[doc_id], row[place[doc_id]])
    return chosen
