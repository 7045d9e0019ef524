"""`pool`: the pairs to judge, as the union of the first documents of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.choose import run_name
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import STEPS, Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.provenance import check_made, making
from labeler.collection.queries import read_queries
from labeler.data import Pair, Pooled, Run
from labeler.errors import BadInput
from labeler.files.read import file_of, file_problems, rereadable
from labeler.models.control import Control
from labeler.pools.own_runs import read_own_run
from labeler.runs.retrieve import BUILT_IN, retrieve, tag_of
from labeler.text.vectors import DENSE_EXTRA, can_encode
from labeler.trec.order import ranking
from labeler.trec.write import write_run


@dataclass(frozen=True, slots=True)
class PoolResult:
    """How many pairs the pool has and how many of them are new, and the runs that it came from."""

    pool: Path
    pairs: int
    new: int
    queries: int
    runs: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The counts, the file and the runs by name."""
        return {
            "pool": str(self.pool),
            "pairs": self.pairs,
            "new": self.new,
            "queries": self.queries,
            "runs": list(self.runs),
        }


def pool(
    collection: Collection | Path | str,
    *,
    depth: int = 10,
    runs: Iterable[Path | str] = (),
    control: Control | None = None,
    force: bool = False,
) -> PoolResult:
    """Retrieve with BM25, dense vectors and their fusion, and pool what these and `runs` find.

    `runs` are files of runs of your own. No pair leaves the pool: the first `depth` documents of
    each query in each run are added to it. A run of yours that stands where one of these is written
    is replaced with `force` alone.

    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> pool(collection, depth=1).pairs
    4
    """
    opened, control = open_collection(collection), control or Control()
    own = [Path(path) for path in runs]
    with rereadable():
        for path in own:  # a pipe is read before the lock is taken, as nobody knows how long it is
            with file_problems(path):
                file_of(path)
        with locked(opened, control.note):
            return _pool(opened, depth, own, control, force)


def _pool(
    collection: Collection, depth: int, runs: Iterable[Path], control: Control, force: bool
) -> PoolResult:
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    if not queries:
        how = STEPS["queries.jsonl"].format(collection.folder)
        raise BadInput(f"{collection.queries}: no queries; next: {how}")
    own = {run_name(path): read_own_run(path, collection, depth, control.note) for path in runs}
    if not force:
        check_made(collection, map(collection.run, BUILT_IN if can_encode() else BUILT_IN[:1]))
    if not can_encode():
        control.note(f"BM25 only: {DENSE_EXTRA}")
    with control.progress("retrieving") as advance:
        built_in = retrieve(documents, queries, advance)
    empty = [name for name, run in built_in.items() if not any(run.values())]
    for name in empty:
        control.note(f"{name} finds no document for any query; there is no run of it")
        del built_in[name]
    pooled, new = add_runs(collection, {**built_in, **own}, depth, force=force)
    return PoolResult(collection.pool, len(pooled), new, len(queries), collection.run_names())


def pool_runs(runs: Mapping[str, Run], depth: int) -> list[Pooled]:
    """The first `depth` documents of each query in each run, with the runs and the best rank."""
    ranks: dict[Pair, dict[str, int]] = {}
    for name, run in runs.items():
        for query_id, scores in run.items():
            for rank, doc_id in enumerate(ranking(scores)[:depth], start=1):
                ranks.setdefault(Pair(query_id, doc_id), {})[name] = rank
    return [Pooled(pair, tuple(by_run), min(by_run.values())) for pair, by_run in ranks.items()]


def add_runs(
    collection: Collection, runs: Mapping[str, Run], depth: int, *, force: bool = False
) -> tuple[list[Pooled], int]:
    """Write the runs, add their first `depth` to the pool; the pool and how many pairs are new.

    The card names these runs and those that were pooled before. A run of a user's own that stands
    there already is the same, and stays as it is.
    """
    tags = {name: tag_of(name) for name in runs}
    paths = {name: collection.run(name) for name in runs}
    new_paths = {n: path for n, path in paths.items() if n in BUILT_IN or not path.exists()}
    with making(collection, new_paths.values(), force=force):
        for name, path in new_paths.items():
            write_run(path, runs[name], tags[name])
    old = read_pool(collection.pool) if collection.pool.exists() else []
    merged = merge_pools(old, pool_runs(runs, depth))
    write_pool(collection.pool, merged)
    earlier = card_section(card_section(read_card(collection), "pool"), "runs")
    entry = {"depth": depth, "runs": {**earlier, **tags}, "pairs": len(merged)}
    update_card(collection, "pool", entry)
    return merged, len(merged) - len(old)
