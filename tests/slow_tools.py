"""Fusion and re-ranking the slow, obvious way, on dicts: what the fast way must equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labeler.data import Run
from labeler.trec.files import ranking


def scaled(scores: Mapping[str, float], norm: str) -> dict[str, float]:
    low, high = min(scores.values()), max(scores.values())
    start, spread = {"none": (0.0, 1.0), "min-max": (low, high - low)}[norm]
    return {d: (score - start) / spread if spread > 0 else 0.0 for d, score in scores.items()}


def fused(
    runs: Sequence[Run], method: str, norm: str = "min-max", weights: Sequence[float] = ()
) -> Run:
    """The fused scores of all documents, unsorted."""
    found: dict[str, dict[str, float]] = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        lists = [run.get(query, {}) for run in runs]
        row = found[query] = {}
        for doc in dict.fromkeys(doc for scores in lists for doc in scores):
            parts = []
            for number, scores in enumerate(lists):
                if doc not in scores:
                    continue
                if method == "rrf":
                    parts.append(1 / (60 + ranking(scores).index(doc) + 1))
                else:
                    factor = weights[number] if weights else 1
                    parts.append(factor * scaled(scores, norm)[doc])
            row[doc] = sum(parts) * (len(parts) if method == "combmnz" else 1)
    return found


def diverse(
    scores: Mapping[str, float], similar: Mapping[tuple[str, str], float], balance: float
) -> list[str]:
    """Maximal marginal relevance as its paper defines it, each maximum looked up anew."""
    low, high = min(scores.values()), max(scores.values())
    left, taken = ranking(scores), list[str]()

    def gain(doc: str) -> float:
        relevance = (scores[doc] - low) / (high - low) if high > low else 0.0
        nearest = max((similar[doc, other] for other in taken), default=0.0)
        return balance * relevance - (1 - balance) * nearest

    while left:
        best = max(left, key=gain)
        left.remove(best)
        taken.append(best)
    return taken
