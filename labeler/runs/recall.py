"""What an approximate index misses: a sample of queries, searched for exactly, too."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labeler.errors import CallFailed
from labeler.messages import Progress, count_of
from labeler.models.loop import run_to_end
from labeler.runs.asking import AskingLimits, retried_search
from labeler.runs.engines.answers import Hit
from labeler.runs.engines.databases.engine import VectorEngine

QUERIES = 20
"""Queries that are searched for exactly, too, unless somebody says otherwise."""

LOW = 0.95
_SAME_SCORE = 1e-5
"""Far more than 32-bit sums of unit vectors differ, and far less than two documents do."""


@dataclass(frozen=True, slots=True)
class IndexRecall:
    """Which share of the nearest documents an index gave, by query of a sample.

    `depth` is how many it was asked for. A document that is as near as the last one counts.
    """

    depth: int
    by_query: Mapping[str, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean share."""
        return sum(self.by_query.values()) / len(self.by_query)

    @property
    def is_low(self) -> bool:
        """Whether so much is missing that scores of the run, and a pool of it, mislead."""
        return self.mean < LOW

    def as_json(self) -> dict[str, Any]:
        """The mean, the lowest share, and of how many queries."""
        return {
            "mean": self.mean,
            "lowest": min(self.by_query.values()),
            "queries": len(self.by_query),
            "depth": self.depth,
        }

    def __str__(self) -> str:
        lowest = min(self.by_query.values())
        queries = count_of(len(self.by_query), "query", "queries")
        return (
            f"the index gave {self.mean:.1%} of the {self.depth:,} nearest documents, as an exact "
            f"search of {queries} shows (the lowest share: {lowest:.1%})"
        )


class RecallSample(NamedTuple):
    """How many queries are searched for exactly, which ones by the seed, and how they are asked."""

    queries: int = QUERIES
    seed: int = 0
    asking: AskingLimits = AskingLimits()


def measured_recall(
    engine: VectorEngine,
    texts: Mapping[str, str],
    depth: int,
    sample: RecallSample,
    progress: Progress,
) -> IndexRecall | None:
    """Search for a sample of queries with and without the index; None where no query was answered.

    An exact search looks at every vector. One that fails, as it takes too long, is left out.
    """
    names = sorted(texts)
    drawn = random.Random(sample.seed).sample(names, min(sample.queries, len(names)))
    shares: dict[str, float] = {}

    async def compare() -> None:
        asking = sample.asking
        async with (
            engine.open(asking.seconds) as indexed,
            engine.exactly().open(asking.seconds) as exact,
        ):
            pair = [retried_search(search, asking.tries) for search in (indexed, exact)]
            with progress("measuring what the index misses") as advance:
                for number, query_id in enumerate(drawn, 1):
                    try:
                        given, nearest = [await ask(texts[query_id], depth) for ask in pair]
                    except CallFailed:
                        continue
                    if nearest:
                        shares[query_id] = share_of(nearest, given)
                    advance(number, len(drawn))

    run_to_end(lambda _stop: compare())
    return IndexRecall(depth, shares) if shares else None


def share_of(nearest: Sequence[Hit], given: Sequence[Hit]) -> float:
    """The share of the nearest documents that was given, counting what is as near as the last.

    >>> share_of([Hit("a", 0.9), Hit("b", 0.5)], [Hit("a", 0.9), Hit("c", 0.5)])
    1.0
    """
    ids = {hit.id for hit in nearest}
    scores = [hit.score for hit in nearest if hit.score is not None]
    falls = len(scores) > 1 and scores[0] > scores[-1]
    last = min(scores) - _SAME_SCORE if falls else float("inf")
    as_near = sum(hit.id in ids or (hit.score or float("-inf")) >= last for hit in given)
    return min(1.0, as_near / len(nearest))
