"""Pools: the pairs to judge, as the union of the first documents of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from labeler.data import Pair, Pooled, Run
from labeler.trec.order import ranking


def pool_runs(runs: Mapping[str, Run], depth: int) -> list[Pooled]:
    """The first `depth` documents of each query in each run, with who found them and where."""
    found: dict[Pair, dict[str, int]] = {}
    for name, run in runs.items():
        for query_id, scores in run.items():
            for rank, doc_id in enumerate(ranking(scores)[:depth], start=1):
                found.setdefault(Pair(query_id, doc_id), {})[name] = rank
    return [Pooled(pair, tuple(ranks), min(ranks.values())) for pair, ranks in found.items()]


def merge_pools(old: Sequence[Pooled], new: Iterable[Pooled]) -> list[Pooled]:
    """`old` with `new` added: no pair is dropped, runs are united, the better rank is kept.

    Old pairs keep their place; new ones follow, sorted by query and best rank.
    """
    merged = {entry.pair: entry for entry in old}
    added: dict[Pair, Pooled] = {}
    for entry in new:
        home = merged if entry.pair in merged else added
        known = home.get(entry.pair)
        home[entry.pair] = entry if known is None else _united(known, entry)
    order = sorted(added.values(), key=lambda e: (e.pair.query_id, e.best_rank or 0, e.pair.doc_id))
    return [*merged.values(), *order]


def _united(one: Pooled, other: Pooled) -> Pooled:
    runs = tuple(dict.fromkeys((*one.runs, *other.runs)))
    ranks = [rank for rank in (one.best_rank, other.best_rank) if rank is not None]
    return Pooled(one.pair, runs, min(ranks, default=None))
