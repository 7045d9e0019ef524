"""`pool`: the pairs to judge, as the union of the first documents of several runs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.collection.card import card_section, check_made, making, read_card, update_card
from labeler.collection.corpus import distinct_documents, ids_among
from labeler.collection.dropped import Dropped, drop_absent
from labeler.collection.layout import (
    STEPS,
    AnyCollection,
    Collection,
    locked,
    open_collection,
)
from labeler.collection.pool import Pairs, Pool, PoolSource, merge_pools, standing_pool, write_pool
from labeler.collection.queries import query_texts, read_queries
from labeler.collection.rows import check_exists
from labeler.collection.search import searched_corpus
from labeler.collection.user_files import run_paths, runs_by_name
from labeler.data import Pair, Query, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.qrels import Meaning
from labeler.exchange.runs import hold_run, read_run
from labeler.files.paths import several
from labeler.files.read import rereadable
from labeler.messages import Note, Progress, count_of, no_query_in_common
from labeler.models.encoders import Encoding
from labeler.models.session import Control
from labeler.options import COUNT, COUNT_OR_NONE, Options, given, option
from labeler.report.result import Result
from labeler.runs.retrieve import (
    BUILT_IN,
    RUN_DEPTH,
    check_run_name,
    note_analyzer,
    retrieve,
    tag_of,
    texts_to_encode,
)
from labeler.text.bm25 import Bm25Settings
from labeler.text.terms import DENSE_EXTRA, Encoder
from labeler.trec.columns import Small
from labeler.trec.pairs import PairColumns, joined_pairs
from labeler.trec.write import write_run

# Runs of one's own that join a collection's pool, checked against the collection.


def read_own_run(
    path: Path, name: str, collection: Collection, depth: int, warn: Note
) -> PairColumns[float]:
    """A user's run, checked against the collection that it shall join, less other queries.

    Raises `Misuse` where its name is taken, `BadInput` where it shares no query with the
    collection or its first `depth` documents are not all in the corpus.
    """
    mend = f"rename the file, or write NAME={path}"
    try:
        check_run_name(name)
    except Misuse as error:
        raise Misuse(f"{path}: {error}; {mend}") from error
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
    if present.exists():  # which may lack queries that the collection lacked when it was pooled
        earlier = _of_queries(read_run(present), queries)
        if not earlier or any(run.get(query_id) != earlier[query_id] for query_id in earlier):
            raise Misuse(f"{path}: {present} is another run of that name; rename the file")
    _check_documents(path, run, depth, collection.corpus)
    return run


def standing_runs(
    collection: Collection, depth: int, note: Note, besides: Container[str] = ()
) -> dict[str, Run]:
    """The runs that `retrieve` left in the collection, but for those of other names; says so.

    One that does not fit the collection any more is left out, and said to be. Of other runs that
    stand there and were never pooled it is said that they are not.
    """
    card = read_card(collection)
    made = card_section(card, "retrieve")
    pooled = card_section(card, "pool", "runs")
    runs: dict[str, Run] = {}
    others = []
    for name, path in collection.run_files().items():
        if name in besides or name in BUILT_IN:
            continue
        if name not in made:
            others += [] if name in pooled else [path.name]
            continue
        try:
            runs[name] = read_own_run(path, name, collection, depth, note)
        except BadInput as error:
            note(f"not pooled, though it was retrieved for this collection: {error}")
        else:
            if name not in pooled:
                note(f"pooled too, as it was retrieved for this collection: {path.name}")
    if others:
        note(f"stands in runs/ and is in no pool until it is named: {_some(others)}")
    return runs


def _of_queries(run: PairColumns[float], queries: Container[str]) -> PairColumns[float]:
    is_asked = np.array([query_id in queries for query_id in run.queries], bool)
    return run if is_asked.all() else run.keep(is_asked[run.query])


def _check_documents(path: Path, run: PairColumns[float], depth: int, corpus: Path) -> None:
    pooled = {run.documents[at] for at in np.unique(run.document[run.ranks() <= depth]).tolist()}
    unknown = pooled - ids_among(corpus, pooled)
    if not unknown:
        return
    some = _some(document.id for document in distinct_documents(corpus))
    raise BadInput(
        f"{path}: the document {min(unknown)!r} is not in {corpus}, whose ids are as {some}; "
        f"{len(unknown):,} of the {len(pooled):,} documents to pool are missing"
    )


def _some(ids: Iterable[str]) -> str:
    return ", ".join(nsmallest(3, ids))


def first_documents(run: Run, depth: int) -> tuple[PairColumns[float], Small]:
    """The first `depth` documents of each query in a run, and the rank of each."""
    columns = PairColumns.of(run, np.float64)
    rank = columns.ranks()
    return columns.keep(rank <= depth), rank[rank <= depth]


def pool_runs(runs: Mapping[str, Run], depth: int) -> Pool:
    """The first `depth` documents of each query in each run, with the runs and the best rank."""
    tops = [first_documents(run, depth) for run in runs.values()]
    joined = joined_pairs([top for top, _ in tops])
    size = len(joined.query)
    best = np.zeros(size, np.uint32)
    source = np.zeros(size, np.int32)
    finders: list[tuple[str, ...]] = [()]
    for column, (name, (_, ranks)) in enumerate(zip(runs, tops, strict=True)):
        rank = joined.values(column, ranks, 0)
        best = np.minimum(best - 1, rank.astype(np.uint32) - 1) + 1  # as 0 is none
        source = 2 * source + (rank > 0)
        kinds = np.flatnonzero(np.bincount(source))
        source = np.searchsorted(kinds, source).astype(np.int32)
        finders = [finders[kind // 2] + (name,) * (kind % 2) for kind in kinds.tolist()]
    pairs = Pairs(joined.queries, joined.documents, joined.query, joined.document)
    return Pool(pairs, best, source, [PoolSource(names, (), None) for names in finders])


def _add_pairs(
    collection: Collection,
    runs: Mapping[str, Run],
    options: PoolOptions,
    sources: _Sources,
    progress: Progress,
) -> tuple[Pool, int]:
    """Write the runs whole, and add their first pairs to the pool, and how deep that goes.

    The card names these runs and those that were pooled before. A run of a user's own that stands
    there already is the same; it only gains the queries that it was pooled without, so that it is
    whole when a missing query is there again.
    """
    depth = options.most
    old = standing_pool(collection.pool)
    most = options.max_pairs
    if most:
        depth = depth_within(runs, depth, old.pairs, max(0, most - len(old)))
    if not depth:
        raise Misuse("too few for the first document of each run and query", parameter="max_pairs")
    pairs = pool_runs(runs, depth)
    tags = {name: tag_of(name, sources.encoder, sources.bm25) for name in runs}
    written = {}
    for name, run in runs.items():
        path = collection.run(name)
        earlier = read_run(path) if name not in BUILT_IN and path.exists() else {}
        if not earlier or not run.keys() <= earlier.keys():
            written[name] = {**earlier, **run} if earlier else run
    with making(collection, map(collection.run, written), force=options.force):
        for name, run in written.items():
            with progress(f"writing the run {name}") as advance:
                write_run(collection.run(name), run, tags[name], advance)
    merged = merge_pools(old, pairs)
    write_pool(collection.pool, merged)
    section = card_section(read_card(collection), "pool")
    all_runs = {**card_section(section, "runs"), **tags}
    earlier = {k: value for k, value in section.items() if k != "encoder" or "dense" not in runs}
    encoder = {"encoder": sources.encoder.id} if sources.encoder else {}
    entry = {**earlier, "depth": depth, "runs": all_runs, "pairs": len(merged), **encoder}
    update_card(collection, "pool", entry)
    return merged, depth


def depth_within(runs: Mapping[str, Run], depth: int, old: Iterable[Pair], room: int) -> int:
    """The deepest depth, `depth` at most, to which runs add no more than `room` pairs to old ones.

    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> depth_within({"one": run}, 10, (), 2), depth_within({"one": run}, 10, (), 9)
    (2, 3)
    """
    every = pool_runs(runs, depth)
    new = np.sort(every.rank[~every.pairs.within(Pairs.of(old))])
    return int(new[room]) - 1 if len(new) > room else int(every.rank.max(initial=0))


DEPTH = 10
"""Documents of each run and query that are pooled, unless somebody says otherwise."""


@dataclass(frozen=True, eq=False, repr=False)
class PoolResult(Result):
    """How many pairs the pool has and how many of them are new, and what it came from.

    `runs` are those of the collection. `reached` is the depth that a budget came to; `dropped`
    counts the pairs that left the pool, as their query or document is gone, and that returned; None
    without them.
    """

    pool: Path
    pairs: int
    new: int
    queries: int
    runs: tuple[str, ...]
    reached: int | None = None
    dropped: Dropped | None = None


@dataclass(frozen=True, slots=True)
class PoolOptions(Options):
    """What to pool: what is retrieved, and runs of one's own, or these alone.

    `runs` are files of runs of your own; with `only`, nothing else is pooled. The first `depth`
    documents of each query in each run (10) are added. The pool is as deep as
    `max_pairs` in all allow, 0 being any number. `encoding` names another encoder
    than the embedded one, as a server's, whose vectors the collection keeps. `bm25` is how BM25
    makes terms and weighs them. With `force` alone a run of yours is replaced that stands where one
    is written.
    """

    depth: int | None = option(
        None,
        "How many documents of each run and query to pool.",
        COUNT,
        section="pool",
        flag=True,
        usual=str(DEPTH),
        example=DEPTH,
    )
    runs: tuple[Path, ...] = option(
        (),
        "A run of your own to pool too, or a folder of runs; repeatable.",
        metavar="RUN",
        flags="--run",
    )
    only: bool = option(False, "Retrieve nothing: pool the runs that are named, alone.")
    force: bool = False
    max_pairs: int = option(
        0, "Pool as deep as so many pairs in all allow; 0 is any number.", COUNT_OR_NONE
    )
    encoding: Encoding = field(default_factory=Encoding)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)

    @property
    def most(self) -> int:
        """How deep runs are pooled; to bring the pool to a size, as deep as they are."""
        return self.depth or (RUN_DEPTH if self.max_pairs else DEPTH)


def pool(
    collection: AnyCollection,
    options: PoolOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> PoolResult:
    """Retrieve with BM25, dense vectors and their fusion, and pool what these and `runs` find.

    Runs that `retrieve` left in the collection are pooled, too. A pair leaves the pool only with
    its query or document, to return when that is there again. `settings` are fields of
    `PoolOptions`.

    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> pool(collection, depth=1).pairs
    4
    """
    options = given(PoolOptions, options, settings)
    opened = open_collection(collection)
    control = control or Control()
    own = runs_by_name(run_paths([Path(path) for path in several(options.runs)]))
    if options.only and not own:
        raise Misuse("there is nothing else to pool: no runs are named", parameter="only")
    with rereadable():
        texts = query_texts(opened.queries) if own else {}
        for path in own.values():  # before the lock is taken: a pipe may end at any time
            hold_run(path, Meaning(texts=texts), control.note)
        sources = _Sources(own, options.bm25)
        if not options.only:  # nothing is asked while the lock is held
            sources = sources._replace(encoder=_encoder(opened, options.encoding, control))
        with locked(opened, control.note):
            return _pool(opened, options, sources, control)


class _Sources(NamedTuple):
    """What is pooled: files of runs, how BM25 searches, and an encoder."""

    runs: Mapping[str, Path]
    bm25: Bm25Settings
    encoder: Encoder | None = None


def _encoder(collection: Collection, encoding: Encoding, control: Control) -> Encoder | None:
    """The encoder, with the vectors of all texts; None where none is installed or named."""
    encoding.options.check()
    check_exists(collection.corpus)
    if not encoding.is_possible:
        control.note(f"BM25 only: {DENSE_EXTRA}")
        return None
    return encoding.ready(collection.vectors, texts_to_encode(collection), control=control)


def _pool(
    collection: Collection, options: PoolOptions, sources: _Sources, control: Control
) -> PoolResult:
    queries = read_queries(collection.queries)
    if not queries:
        how = STEPS["queries.jsonl"].format(collection.folder)
        raise BadInput(f"{collection.queries}: no queries; next: {how}")
    depth = options.most
    dropped = drop_absent(collection, control.note)
    runs: dict[str, Run] = {}
    for name, path in sources.runs.items():
        runs[name] = read_own_run(path, name, collection, depth, control.note)
    if not options.only:
        standing = standing_runs(collection, depth, control.note, besides=runs)
        if not options.force:
            check_made(
                collection, map(collection.run, BUILT_IN if sources.encoder else BUILT_IN[:1])
            )
        built_in, bm25 = _retrieved(collection, queries, sources, control)
        runs = {**built_in, **standing, **runs}
        sources = sources._replace(bm25=bm25)
    before = len(standing_pool(collection.pool))
    pairs = before
    reached = None
    if runs:
        merged, depth = _add_pairs(collection, runs, options, sources, control.progress)
        pairs = len(merged)
        reached = depth if options.max_pairs else None
    names = tuple(collection.run_files())
    return PoolResult(collection.pool, pairs, pairs - before, len(queries), names, reached, dropped)


def _retrieved(
    collection: Collection, queries: dict[str, Query], sources: _Sources, control: Control
) -> tuple[dict[str, Run], Bm25Settings]:
    """The runs of the retrievers that can be had, and how BM25 searched; one that finds nothing is
    none.
    """
    encoder = sources.encoder
    pooled = card_section(read_card(collection), "pool", "runs").get("dense")
    is_there = collection.run("dense").exists() and isinstance(pooled, str)
    if is_there and encoder and pooled != encoder.id:
        control.note(
            f"the runs dense and hybrid were made with {pooled}, and are replaced; their pairs "
            "stay in the pool. To compare encoders, retrieve a run of its own with each"
        )
    searched = searched_corpus(collection, control.progress, bm25=sources.bm25)
    note_analyzer(searched.bm25, sources.bm25, control.note)
    built_in = retrieve(searched, queries, control.progress, encoder)
    for name in [name for name, run in built_in.items() if not any(run.values())]:
        control.note(f"{name} finds no document for any query; there is no run of it")
        del built_in[name]
    return built_in, searched.bm25
