"""A random sample of what the runs found beyond a pool, with the probability of each pair.

The pairs that a pool leaves out are those of the runs' documents below its depth. A sample of them
tells, once judged, how many relevant ones the pool missed. Deep documents are seldom relevant, so
a pair is drawn with a probability in proportion to one over the square root of its best rank; each
query is given an equal share of the draws. The draw is systematic: one random start, equal steps
along the probabilities, documents of a query in random order. So every probability is exact, and
the sample has the size that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.layout import Collection
from labeler.collection.pool import merge_pools, write_pool
from labeler.data import Pair, Pooled, Run
from labeler.errors import Misuse
from labeler.trec.order import ranking

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PoolSize:
    """How large a pool becomes: at most `max_pairs` in all, and `beyond` pairs drawn by `seed`.

    0 is no limit, and no sample.
    """

    max_pairs: int = 0
    beyond: int = 0
    seed: int = 0


class BeyondSample(NamedTuple):
    """How many pairs were drawn at random, and from how many that the runs found."""

    drawn: int
    of: int

    def as_json(self) -> dict[str, int]:
        """Both counts."""
        return self._asdict()


def sampled_beyond(
    collection: Collection,
    pool: list[Pooled],
    runs: Mapping[str, Run],
    size: PoolSize,
    note: Callable[[str], None],
) -> tuple[list[Pooled], BeyondSample | None]:
    """The pool with the sample that `size` asks for, written; one that has a sample keeps it."""
    if not size.beyond:
        return pool, None
    earlier = sum(entry.inclusion is not None for entry in pool)
    if earlier:
        note(f"the pool has a random sample already, of {earlier:,} pairs; none was drawn now")
        return pool, None
    drawn, total = beyond(runs, {entry.pair for entry in pool}, size.beyond, size.seed)
    if not drawn:
        note("the runs hold nothing beyond the pool; there is nothing to sample")
        return pool, None
    merged = merge_pools(pool, drawn)
    write_pool(collection.pool, merged)
    section = card_section(read_card(collection), "pool")
    sample = BeyondSample(len(drawn), total)
    entry = {**section, "pairs": len(merged), "beyond": {**sample.as_json(), "seed": size.seed}}
    update_card(collection, "pool", entry)
    return merged, sample


def beyond(
    runs: Mapping[str, Run], pooled: Container[Pair], count: int, seed: int = 0
) -> tuple[list[Pooled], int]:
    """A sample of `count` pairs that `runs` hold and `pooled` does not; from how many it was drawn.

    Each has its `inclusion`, the probability with which it would be drawn again. With fewer pairs
    than `count`, all are drawn.
    """
    if count < 1:
        raise Misuse("a sample has one pair or more", parameter="beyond")
    rng = np.random.default_rng(seed)
    left_out = _left_out(runs, pooled)
    by_query = [[pairs[i] for i in rng.permutation(len(pairs))] for pairs in left_out.values()]
    total = sum(map(len, by_query))
    if total <= count:
        return [replace(pair, inclusion=1.0) for pairs in by_query for pair in pairs], total
    shares = equal_shares([len(pairs) for pairs in by_query], count)
    inclusion = np.concatenate(
        [
            inclusions(np.array([pair.best_rank or 1 for pair in pairs]) ** -0.5, share)
            for pairs, share in zip(by_query, shares, strict=True)
        ]
    )
    every = [pair for pairs in by_query for pair in pairs]
    drawn = systematic(inclusion, float(rng.random()))
    return [replace(every[i], inclusion=float(inclusion[i])) for i in drawn], total


def _left_out(runs: Mapping[str, Run], pooled: Container[Pair]) -> dict[str, list[Pooled]]:
    """The pairs of each query that runs hold and the pool does not, with their best ranks."""
    ranks: dict[str, dict[str, dict[str, int]]] = {}
    for name, run in runs.items():
        for query_id, scores in run.items():
            documents = ranks.setdefault(query_id, {})
            for rank, doc_id in enumerate(ranking(scores), start=1):
                if Pair(query_id, doc_id) not in pooled:
                    documents.setdefault(doc_id, {})[name] = rank
    return {
        query_id: [
            Pooled(Pair(query_id, doc_id), tuple(by_run), min(by_run.values()))
            for doc_id, by_run in sorted(documents.items())
        ]
        for query_id, documents in ranks.items()
        if documents
    }


def equal_shares(sizes: Sequence[int], count: int) -> list[float]:
    """`count` draws over queries of some sizes: equally many, or all of a query that has fewer."""
    shares = [0.0] * len(sizes)
    rest, left = float(count), len(sizes)
    for number in sorted(range(len(sizes)), key=lambda n: sizes[n]):
        shares[number] = min(float(sizes[number]), rest / left)
        rest, left = rest - shares[number], left - 1
    return shares


def inclusions(weights: Floats, share: float) -> Floats:
    """Probabilities in proportion to `weights` that add up to `share`, none above 1."""
    result = np.zeros(len(weights))
    is_open = np.ones(len(weights), dtype=np.bool_)
    while is_open.any():
        rest = share - float((~is_open).sum())
        result[is_open] = weights[is_open] * max(rest, 0.0) / weights[is_open].sum()
        above = is_open & (result > 1)
        if not above.any():
            break
        result[above], is_open = 1.0, is_open & ~above
    return np.minimum(result, 1.0)


def systematic(inclusion: Floats, start: float) -> list[int]:
    """Which of some pairs are drawn: those at which the running sum passes `start` + 0, 1, 2 …"""
    passed = np.floor(np.cumsum(inclusion) - start + 1 + _ROUNDING)
    return np.flatnonzero(np.diff(passed, prepend=0.0) > 0).tolist()
