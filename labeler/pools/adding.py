"""Runs that join a collection's pool: their files, their pairs, and what the card says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.layout import Collection
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.provenance import making
from labeler.data import Pair, Pooled, Run
from labeler.messages import Progress, no_progress
from labeler.pools.own_runs import with_standing
from labeler.runs.retrieve import BUILT_IN, tag_of
from labeler.text.vectors import Encoder
from labeler.trec.order import ranking
from labeler.trec.write import write_run


def pool_runs(runs: Mapping[str, Run], depth: int) -> list[Pooled]:
    """The first `depth` documents of each query in each run, with the runs and the best rank."""
    ranks: dict[Pair, dict[str, int]] = {}
    for name, run in runs.items():
        for query_id, scores in run.items():
            for rank, doc_id in enumerate(ranking(scores)[:depth], start=1):
                ranks.setdefault(Pair(query_id, doc_id), {})[name] = rank
    return [Pooled(pair, tuple(by_run), min(by_run.values())) for pair, by_run in ranks.items()]


class Added(NamedTuple):
    """Pairs that join a pool, the depth that the card will tell, and an encoder of the runs.

    `progress` is that of writing the runs.
    """

    pairs: list[Pooled]
    depth: int
    encoder: Encoder | None = None
    progress: Progress = no_progress


def add_pairs(
    collection: Collection, runs: Mapping[str, Run], added: Added, *, force: bool = False
) -> tuple[list[Pooled], int]:
    """Write the runs whole, add the pairs to the pool; the pool and how many pairs are new.

    The card names these runs and those that were pooled before. A run of a user's own that stands
    there already is the same; it only gains the queries that it was pooled without.
    """
    tags = {name: tag_of(name, added.encoder) for name in runs}
    paths = {name: collection.run(name) for name in runs}
    own = {n: with_standing(path, runs[n]) for n, path in paths.items() if n not in BUILT_IN}
    runs = {**runs, **{name: run for name, run in own.items() if run is not None}}
    new_paths = {n: path for n, path in paths.items() if n in BUILT_IN or own[n] is not None}
    with making(collection, new_paths.values(), force=force):
        for name, path in new_paths.items():
            with added.progress(f"writing the run {name}") as advance:
                write_run(path, runs[name], tags[name], advance)
    old = read_pool(collection.pool) if collection.pool.exists() else []
    merged = merge_pools(old, added.pairs)
    write_pool(collection.pool, merged)
    section = card_section(read_card(collection), "pool")
    all_runs = {**card_section(section, "runs"), **tags}
    earlier = {k: value for k, value in section.items() if k != "encoder" or "dense" not in runs}
    encoder = {"encoder": added.encoder.id} if added.encoder else {}
    entry = {**earlier, "depth": added.depth, "runs": all_runs, "pairs": len(merged), **encoder}
    update_card(collection, "pool", entry)
    return merged, len(merged) - len(old)
