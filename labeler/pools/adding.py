"""Runs that join a collection's pool: their files, their pairs, and what the card says of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labeler.collection.card import card_section, making, read_card, update_card
from labeler.collection.corpus import distinct_documents, ids_among
from labeler.collection.layout import Collection, check_name
from labeler.collection.pool import Pool, merge_pools, standing_pool, write_pool
from labeler.collection.queries import read_queries
from labeler.collection.user_files import run_name
from labeler.data import Pair, Pooled, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import read_run
from labeler.messages import Progress, count_of, no_progress, no_query_in_common
from labeler.runs.retrieve import BUILT_IN, tag_of
from labeler.text.terms import Encoder
from labeler.trec.pairs import PairColumns
from labeler.trec.runs import ranking
from labeler.trec.write import write_run

# Runs of one's own that join a collection's pool, checked against the collection.


def read_own_run(
    path: Path, collection: Collection, depth: int, warn: Callable[[str], None]
) -> PairColumns[float]:
    """A user's run, checked against the collection that it shall join, less other queries.

    Raises `Misuse` where its name is taken, `BadInput` where it shares no query with the
    collection or its first `depth` documents are not all in the corpus.
    """
    name = _own_name(path)
    whole = read_run(path)
    queries = read_queries(collection.queries)
    run = _of_queries(whole, queries)
    if not run:
        raise BadInput(no_query_in_common(path, whole, collection.queries, queries))
    if len(run) < len(whole):
        left_out = [query_id for query_id in whole if query_id not in queries]
        count = count_of(len(left_out), "query is", "queries are")
        warn(f"{path}: {count} not in the collection, left out: {_some(left_out)}")
    present = collection.run(name)
    if present.exists() and not _is_part(_of_queries(read_run(present), queries), run):
        raise Misuse(f"{path}: {present} is another run of that name; rename the file")
    _check_documents(path, run, depth, collection.corpus)
    return run


def standing_runs(
    collection: Collection, depth: int, note: Callable[[str], None], besides: Container[str] = ()
) -> dict[str, Run]:
    """The runs that `retrieve` left in the collection, but for those of other names; says so.

    One that does not fit the collection any more is left out, and said to be. Of other runs that
    stand there and were never pooled it is said that they are not.
    """
    card = read_card(collection)
    made, pooled = card_section(card, "retrieve"), card_section(card_section(card, "pool"), "runs")
    runs: dict[str, Run] = {}
    others: list[str] = []
    for name, path in collection.run_files().items():
        if name in besides or name in BUILT_IN:
            continue
        if name not in made:
            others += [] if name in pooled else [path.name]
            continue
        try:
            runs[name] = read_own_run(path, collection, depth, note)
        except BadInput as error:
            note(f"not pooled, though it was retrieved for this collection: {error}")
        else:
            if name not in pooled:
                note(f"pooled too, as it was retrieved for this collection: {path.name}")
    if others:
        note(f"stands in runs/ and is in no pool until it is named: {_some(others)}")
    return runs


def _is_part(present: Run, run: Run) -> bool:
    """Whether a run that stands in the collection is the other, or has some queries of it.

    It lacks those that the collection lacked when it was pooled.
    """
    return bool(present) and all(run.get(query_id) == present[query_id] for query_id in present)


def with_standing(path: Path, run: Run) -> Run | None:
    """A run with the queries of the file that stands in its place; None where that has all of it.

    So a run that was pooled while a query was missing is whole when that is there again.
    """
    if not path.exists():
        return run
    present = read_run(path)
    return None if run.keys() <= present.keys() else {**present, **run}


def _of_queries(run: PairColumns[float], queries: Container[str]) -> PairColumns[float]:
    is_asked = np.array([query_id in queries for query_id in run.queries], dtype=np.bool_)
    return run if is_asked.all() else run.keep(is_asked[run.query])


def _own_name(path: Path) -> str:
    """What the run will be called, if a file of the collection may be called so."""
    name = run_name(path)
    if name in BUILT_IN:
        raise Misuse(f"{path}: the name {name!r} is a built-in run's; rename the file")
    try:
        return check_name(name)
    except Misuse as error:
        raise Misuse(f"{path}: {error}; rename the file") from error


def _check_documents(path: Path, run: Run, depth: int, corpus: Path) -> None:
    pooled = {doc_id for scores in run.values() for doc_id in ranking(scores)[:depth]}
    unknown = pooled - ids_among(corpus, pooled)
    if not unknown:
        return
    some = _some(document.id for document in distinct_documents(corpus))
    problem = f"the document {min(unknown)!r} is not in {corpus}, whose ids are as {some}"
    missing = f"{len(unknown):,} of the {len(pooled):,} documents to pool are missing"
    raise BadInput(f"{path}: {problem}; {missing}")


def _some(ids: Iterable[str]) -> str:
    return ", ".join(nsmallest(3, ids))


def pool_runs(runs: Mapping[str, Run], depth: int) -> Iterator[Pooled]:
    """The first `depth` documents of each query in each run, with the runs and the best rank."""
    for query_id in dict.fromkeys(chain.from_iterable(runs.values())):
        ranks: dict[str, dict[str, int]] = {}
        for name, run in runs.items():
            for rank, doc_id in enumerate(ranking(run.get(query_id, {}))[:depth], start=1):
                ranks.setdefault(doc_id, {})[name] = rank
        for doc_id, by_run in ranks.items():
            yield Pooled(Pair(query_id, doc_id), tuple(by_run), min(by_run.values()))


class Added(NamedTuple):
    """Pairs that join a pool, the depth that the card will tell, and an encoder of the runs.

    `progress` is that of writing the runs.
    """

    pairs: Iterable[Pooled]
    depth: int
    encoder: Encoder | None = None
    progress: Progress = no_progress


def add_pairs(
    collection: Collection, runs: Mapping[str, Run], added: Added, *, force: bool = False
) -> Pool:
    """Write the runs whole, and add the pairs to the pool.

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
    merged = merge_pools(standing_pool(collection), added.pairs)
    write_pool(collection.pool, merged)
    section = card_section(read_card(collection), "pool")
    all_runs = {**card_section(section, "runs"), **tags}
    earlier = {k: value for k, value in section.items() if k != "encoder" or "dense" not in runs}
    encoder = {"encoder": added.encoder.id} if added.encoder else {}
    entry = {**earlier, "depth": added.depth, "runs": all_runs, "pairs": len(merged), **encoder}
    update_card(collection, "pool", entry)
    return merged


def depth_within(runs: Mapping[str, Run], depth: int, old: Container[Pair], room: int) -> int:
    """The deepest depth, `depth` at most, to which runs add no more than `room` pairs to old ones.

    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> depth_within({"one": run}, 10, (), 2), depth_within({"one": run}, 10, (), 9)
    (2, 3)
    """
    every = Pool.of(pool_runs(runs, depth))
    is_new = np.fromiter((pair not in old for pair in every.pairs), np.bool_, len(every))
    new = np.sort(every.rank[is_new])
    return int(new[room]) - 1 if len(new) > room else int(every.rank.max(initial=0))
