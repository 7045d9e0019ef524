"""`pool`: the pairs to judge, as the union of the first documents of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.choose import run_name, run_paths
from labeler.collection.corpus import CorpusTexts
from labeler.collection.dropped import Dropped, drop_absent
from labeler.collection.layout import STEPS, Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.own_qrels import OwnQrels, own_qrels, pool_judged
from labeler.collection.pool import read_pool
from labeler.collection.provenance import check_made
from labeler.collection.queries import read_queries
from labeler.collection.rows import check_exists
from labeler.collection.search.searched import searched_corpus
from labeler.data import Pooled, Query, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import hold_run
from labeler.files.read import file_of, file_problems, rereadable
from labeler.messages import Progress
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.pools.adding import Added, add_pairs, pool_runs
from labeler.pools.beyond import BeyondSample, PoolSize, sampled_beyond
from labeler.pools.budget import DepthReached, within_budget
from labeler.pools.import_qrels import read_own_qrels
from labeler.pools.own_runs import (
    check_depth,
    read_own_run,
    several_paths,
    standing_runs,
)
from labeler.pools.rounds import Expanded
from labeler.runs.recall import IndexRecall
from labeler.runs.retrieve import BUILT_IN, RUN_DEPTH, retrieve, tag_of
from labeler.runs.vector_run import VectorSearch, dense_run_there
from labeler.text.vectors import DENSE_EXTRA, Encoder, can_encode

DEPTH = 10
"""Documents of each run and query that are pooled, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class PoolResult:
    """How many pairs the pool has and how many of them are new, and what it came from.

    `runs` are those of the collection; `qrels` the files whose pairs were added now. `reached` is
    the depth that a budget came to, `sample` what was drawn beyond it, and `expansion` what
    relevant documents led to; `dropped` counts the pairs that left the pool, as their query or
    document is gone, and that returned; None without them. `recall` says what a database's index of
    vectors misses.
    """

    pool: Path
    pairs: int
    new: int
    queries: int
    runs: tuple[str, ...]
    qrels: tuple[str, ...] = ()
    reached: DepthReached | None = None
    sample: BeyondSample | None = None
    expansion: Expanded | None = None
    dropped: Dropped | None = None
    recall: IndexRecall | None = None

    def as_json(self) -> dict[str, Any]:
        """The counts, the file, the runs by name and the qrels."""
        return {
            "pool": str(self.pool),
            "pairs": self.pairs,
            "new": self.new,
            "queries": self.queries,
            "runs": list(self.runs),
            "qrels": list(self.qrels),
            "reached": None if self.reached is None else self.reached.as_json(),
            "beyond": None if self.sample is None else self.sample.as_json(),
            "expansion": None if self.expansion is None else self.expansion.as_json(),
            "dropped": None if self.dropped is None else self.dropped.as_json(),
            "recall": None if self.recall is None else self.recall.as_json(),
        }


def pool(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    *,
    depth: int | None = None,
    runs: Iterable[Path | str] | Path | str = (),
    qrels: Iterable[Path | str] | Path | str = (),
    only: bool = False,
    control: Control | None = None,
    force: bool = False,
    size: PoolSize | None = None,
    encoding: Encoding | None = None,
    vectors: VectorSearch | None = None,
) -> PoolResult:
    """Retrieve with BM25, dense vectors and their fusion, and pool what these and `runs` find.

    `runs` are files of runs of your own; `qrels` are files of people's judgements, or names of the
    collection's own, whose pairs are added whatever finds them. Runs that `retrieve` left in the
    collection are pooled, too. With `only`, nothing else is: the pairs are those of `runs` and
    `qrels`. The first `depth` documents of each query in each run (10) are added. A pair leaves the
    pool only with its query or document, to return when that is there again. With `size`, the pool
    is brought to a number of pairs, or a random sample of what lies beyond it is added. `encoding`
    names another encoder than the embedded one, as a server's, whose vectors the collection keeps.
    With `vectors`, the dense run is that of a database which holds the documents' vectors.
    A run of yours that stands where one of these is written is replaced with `force` alone.

    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> pool(collection, depth=1).pairs
    4
    """
    opened, control = open_collection(collection), control or Control()
    check_depth(DEPTH if depth is None else depth)
    own = run_paths([Path(path) for path in several_paths(runs)])
    judged = [_qrels_path(opened, path) for path in several_paths(qrels)]
    if only and not (own or judged):
        raise Misuse("there is nothing else to pool: neither runs nor qrels", parameter="only")
    size = size or PoolSize()
    usual = RUN_DEPTH if size.max_pairs else DEPTH
    options = _PoolOptions(usual if depth is None else depth, own, judged, only, force, size)
    with rereadable():
        for path in own + judged:  # before the lock is taken: a pipe may end at any time
            with file_problems(path):
                file_of(path)
        for path in own:
            hold_run(path)
        if vectors is not None and only:
            raise Misuse("it is searched, and nothing else shall be pooled", parameter="vectors")
        if vectors is not None:
            options = _searched_there(opened, options, vectors, control)
        elif encoding is not None and not only:  # nothing is asked while the lock is held
            options = options._replace(encoder=_encoder(opened, encoding, control))
        with locked(opened, control.note):
            return _pool(opened, options, control)


class _PoolOptions(NamedTuple):
    """What to pool: runs and qrels of one's own, and unless these alone, what is retrieved."""

    depth: int
    runs: list[Path]
    qrels: list[Path]
    only: bool
    force: bool
    size: PoolSize
    encoder: Encoder | None = None
    dense: Run | None = None
    recall: IndexRecall | None = None


def _searched_there(
    collection: Collection, options: _PoolOptions, vectors: VectorSearch, control: Control
) -> _PoolOptions:
    """The options with the dense run of a database, and the encoder that its tag names."""
    dense, recall = dense_run_there(collection, vectors, RUN_DEPTH, control)
    options, encoding = options._replace(dense=dense, recall=recall), vectors.encoding
    if encoding.options.is_embedded:
        return options
    texts = [query.text for query in read_queries(collection.queries).values()]
    return options._replace(
        encoder=encoding.ready(collection.vectors, EncoderTexts(queries=texts), control)
    )


def plan_pool(collection: Collection | Path | str, encoding: Encoding) -> EncodingPlan | None:
    """What a server would be asked before anything is pooled; None where none is."""
    opened = open_collection(collection)
    return encoding.plan(opened.vectors, texts_to_encode(opened))


def texts_to_encode(collection: Collection) -> EncoderTexts:
    """What is searched, and what for."""
    queries = [query.text for query in read_queries(collection.queries).values()]
    return EncoderTexts(CorpusTexts(collection.corpus), queries)


def _encoder(collection: Collection, encoding: Encoding, control: Control) -> Encoder | None:
    """Another encoder than the embedded one, with the vectors of all texts; None without one."""
    encoding.options.check()
    if not encoding.options.is_embedded:
        return encoding.ready(collection.vectors, texts_to_encode(collection), control)
    return None


def _qrels_path(collection: Collection, qrels: Path | str) -> Path:
    """A file of qrels, or the collection's own of that name."""
    is_own = str(qrels) in collection.qrels_names() and not Path(qrels).exists()
    return collection.qrels(str(qrels)) if is_own else Path(qrels)


def _pool(collection: Collection, options: _PoolOptions, control: Control) -> PoolResult:
    queries = read_queries(collection.queries)
    if not queries:
        how = STEPS["queries.jsonl"].format(collection.folder)
        raise BadInput(f"{collection.queries}: no queries; next: {how}")
    depth, dropped = options.depth, drop_absent(collection, control.note)
    runs = {run_name(p): read_own_run(p, collection, depth, control.note) for p in options.runs}
    judged = {str(path): _own_qrels(collection, path, control) for path in options.qrels}
    if not options.only:
        standing = standing_runs(collection, options.depth, control.note, besides=runs)
        runs = {**_retrieved(collection, queries, options, control), **standing, **runs}
    before = len(read_pool(collection.pool)) if collection.pool.exists() else 0
    pairs, reached, sample = before, None, None
    if judged:
        by_name = {Path(path).name: own for path, own in judged.items()}
        pairs, _ = pool_judged(collection, by_name, control.note)
    if runs:
        merged, reached = _add(collection, runs, options, control.progress)
        merged, sample = sampled_beyond(collection, merged, runs, options.size, control.note)
        pairs = len(merged)
    names = (collection.run_names(), tuple(judged))
    counts = (pairs, pairs - before, len(queries))
    return PoolResult(
        collection.pool, *counts, *names, reached, sample, None, dropped, options.recall
    )


def _add(
    collection: Collection, runs: Mapping[str, Run], options: _PoolOptions, progress: Progress
) -> tuple[list[Pooled], DepthReached | None]:
    """The pool with the runs' pairs, and how deep a budget let them go."""
    encoder = options.encoder
    if not options.size.max_pairs:
        added = Added(pool_runs(runs, options.depth), options.depth, encoder, progress)
        return add_pairs(collection, runs, added, force=options.force)[0], None
    old = [e.pair for e in read_pool(collection.pool)] if collection.pool.exists() else []
    pairs, reached = within_budget(runs, options.depth, old, options.size.max_pairs)
    added = Added(pairs, reached.most, encoder, progress)
    return add_pairs(collection, runs, added, force=options.force)[0], reached


def _own_qrels(collection: Collection, path: Path, control: Control) -> OwnQrels:
    """People's judgements in a file, of pairs that the collection has."""
    own = own_qrels(collection, read_own_qrels(path, control.note, collection), path)
    for line in own.warnings(path):
        control.note(line)
    return own


def _retrieved(
    collection: Collection, queries: dict[str, Query], options: _PoolOptions, control: Control
) -> dict[str, Run]:
    """The runs of the retrievers that can be had; one that finds nothing is none."""
    check_exists(collection.corpus)
    encodes = can_encode() or options.encoder is not None
    if not options.force:
        check_made(collection, map(collection.run, BUILT_IN if encodes else BUILT_IN[:1]))
    if not encodes:
        control.note(f"BM25 only: {DENSE_EXTRA}")
    _note_other_encoder(collection, options.encoder, control)
    with control.progress("reading the corpus") as advance:
        searched = searched_corpus(collection, advance)
    built_in = retrieve(searched, queries, control.progress, options.encoder, options.dense)
    for name in [name for name, run in built_in.items() if not any(run.values())]:
        control.note(f"{name} finds no document for any query; there is no run of it")
        del built_in[name]
    return built_in


def _note_other_encoder(collection: Collection, encoder: Encoder | None, control: Control) -> None:
    """Say so where the dense run that stands there is another encoder's, and is replaced."""
    pooled = card_section(card_section(read_card(collection), "pool"), "runs").get("dense")
    is_there = collection.run("dense").exists() and isinstance(pooled, str)
    if is_there and (can_encode() or encoder) and pooled != tag_of("dense", encoder):
        control.note(
            f"the runs dense and hybrid were made with {pooled}, and are replaced; their pairs stay"
            " in the pool. To compare encoders, retrieve a run of its own with each"
        )
