"""A pool that grows round after round by the neighbors of the documents that were found relevant.

Relevant documents tend to be alike. So the neighbors of each, by terms and by vectors, are added,
judged, and their neighbors in turn, until a round brings too few relevant documents to go on.

Each pair keeps the documents that it came from, its seeds, so that leaving a run out of the pool
takes with it what only that run's documents led to. Documents of the random sample beyond the pool
are no seeds: what is added must not depend on the sample, or the estimate of what was missed would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.choose import run_name, run_paths
from labeler.collection.corpus import CorpusTexts, documents_of
from labeler.collection.dropped import drop_absent
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.pool import merge_pools, read_pool
from labeler.collection.queries import read_queries
from labeler.collection.search.searched import Searched, searched_corpus
from labeler.data import Document, Pair, Pooled, Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import hold_run
from labeler.files.numbers import count, finite
from labeler.files.read import file_of, file_problems, rereadable
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.pools.adding import Added, add_pairs, pool_runs
from labeler.pools.budget import DepthReached, within_budget
from labeler.pools.own_runs import check_depth, read_own_run
from labeler.pools.pool import DEPTH, PoolResult
from labeler.pools.rounds import Expanded, RoundFound, continues
from labeler.runs.neighbors import neighbors
from labeler.text.vectors import DENSE_EXTRA, Encoder, can_encode, embedded_encoder
from labeler.trec.qrels import read_qrels

ENOUGH_JUDGED = 0.9
"""The share of a round that must have grades before it says whether another one pays."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a pool is expanded by what the collection's qrels of a name say.

    `neighbors` is how many of a relevant document are added, by each retriever. A round that
    brought less than the share `until` of all relevant documents is the last. `rel` is the lowest
    grade that counts as relevant. `max_pairs` bounds the pool, to which the tops of new runs come
    before neighbors; 0 is no limit.
    """

    qrels: str
    neighbors: int = 5
    until: float = 0.05
    rel: int = 1
    max_pairs: int = 0

    def __post_init__(self) -> None:
        if count(self.neighbors) in (None, 0):
            raise Misuse("neighbors count from 1", parameter="neighbors")
        if finite(self.until, 0, 1) is None:
            raise Misuse("expected a share from 0 to 1", parameter="until")


class NewRuns(NamedTuple):
    """Files of runs whose first `depth` documents join a pool, too."""

    files: tuple[Path | str, ...] = ()
    depth: int = DEPTH


def expand(
    collection: Collection | Path | str,
    expansion: Expansion,
    runs: NewRuns | None = None,
    encoding: Encoding | None = None,
    control: Control | None = None,
) -> PoolResult:
    """Add the neighbors of the documents judged relevant to a pool, and the tops of `runs`.

    Call it, judge what it added, and call it again; it stops by itself. With new runs there is a
    round whatever the last one brought, and so there is where the last one was added from other
    qrels, from a higher grade or with fewer neighbors. Raises `Misuse` where the last round is not
    judged yet, and `BadInput` where the corpus was changed while neighbors were looked for.
    """
    opened, watch = open_collection(collection), control or Control()
    encode = encoding or Encoding()
    encode.options.check()
    runs = runs or NewRuns()
    check_depth(runs.depth)
    own, depth = run_paths([Path(path) for path in runs.files]), runs.depth
    qrels = opened.existing_qrels(expansion.qrels)
    with rereadable():
        for path in own:
            with file_problems(path):
                file_of(path)
            hold_run(path)
        with locked(opened, watch.note):
            dropped = drop_absent(opened, watch.note)
        last = _last_round(read_pool(opened.pool), read_qrels(qrels), expansion)
        again = last is not None and continues(opened, last.round, expansion)
        if last is not None and again and last.share < expansion.until and not own:
            result = _result(opened, 0, Expanded(last.round, 0, 0, True, expansion.until, last))
            return replace(result, dropped=dropped)
        searched = _searched(opened, watch)
        seeds = _seeds(read_pool(opened.pool), read_qrels(qrels), expansion.rel)
        near = _neighbors(opened, searched, seeds, (expansion, encode), watch)
        with locked(opened, watch.note):
            if _searched(opened, watch).sha256 != searched.sha256:
                raise BadInput(f"{opened.corpus}: changed meanwhile; run the command again")
            tops = {run_name(p): read_own_run(p, opened, depth, watch.note) for p in own}
            result = _add(opened, expansion, (seeds, near, last), tops, depth)
            return replace(result, dropped=dropped)


def plan_expansion(collection: Collection | Path | str, encoding: Encoding) -> EncodingPlan | None:
    """What a server would be asked for the vectors of all documents; None where none is."""
    opened = open_collection(collection)
    return encoding.plan(opened.vectors, _texts(opened))


def _texts(collection: Collection) -> EncoderTexts:
    return EncoderTexts(CorpusTexts(collection.corpus))


def _last_round(pool: Sequence[Pooled], grades: Qrels, expansion: Expansion) -> RoundFound | None:
    """What the last round brought; `Misuse` where too little of it is judged."""
    number = max((entry.round or 0 for entry in pool), default=0)
    if not number:
        return None
    last = round_found(pool, grades, number, expansion.rel)
    if last.judged < ENOUGH_JUDGED * last.pairs:
        count = f"{last.judged:,} of the {last.pairs:,} pairs of round {number}"
        problem = f"the qrels {expansion.qrels!r} have grades of {count}; judge the others first"
        raise Misuse(problem, parameter="expand")
    return last


def round_found(pool: Sequence[Pooled], grades: Qrels, number: int, rel: int) -> RoundFound:
    """What a round brought, beside what the pool had by then but for its random sample."""
    of_round = [entry.pair for entry in pool if entry.round == number]
    judged = [pair for pair in of_round if _grade(grades, pair) is not None]
    relevant = sum((_grade(grades, pair) or 0) >= rel for pair in judged)
    certain = (e.pair for e in pool if e.inclusion is None and (e.round or 0) <= number)
    total = sum((_grade(grades, pair) or 0) >= rel for pair in certain)
    return RoundFound(number, len(of_round), len(judged), relevant, total)


def _grade(grades: Qrels, pair: Pair) -> int | None:
    return grades.get(pair.query_id, {}).get(pair.doc_id)


def _seeds(pool: Sequence[Pooled], grades: Qrels, rel: int) -> list[Pair]:
    """The relevant pairs of a pool, without those of its random sample."""
    certain = (entry.pair for entry in pool if entry.inclusion is None)
    seeds = [pair for pair in certain if (_grade(grades, pair) or 0) >= rel]
    if not seeds:
        problem = f"no document of the pool has a grade of {rel} or more in these qrels"
        raise Misuse(f"{problem}; there is nothing to expand it from", parameter="expand")
    return seeds


def _searched(collection: Collection, control: Control) -> Searched:
    with control.progress("reading the corpus") as advance:
        return searched_corpus(collection, advance)


def _neighbors(
    collection: Collection,
    searched: Searched,
    seeds: Sequence[Pair],
    how: tuple[Expansion, Encoding],
    control: Control,
) -> dict[str, dict[str, int]]:
    """Of each relevant document its neighbors, with the best rank that either retriever gives."""
    expansion, encoding = how
    encoder = _encoder(collection, encoding, control)
    ids = {pair.doc_id for pair in seeds}
    documents = documents_of(collection.corpus, ids)
    _check_documents(collection, seeds, documents)
    near = (searched, list(documents.values()), expansion.neighbors)
    return neighbors(*near, encoder, control.progress)


def _encoder(collection: Collection, encoding: Encoding, control: Control) -> Encoder | None:
    if not encoding.options.is_embedded:
        return encoding.ready(collection.vectors, _texts(collection), control)
    if can_encode():
        return embedded_encoder()
    control.note(f"neighbors by BM25 only: {DENSE_EXTRA}")
    return None


def _check_documents(
    collection: Collection, seeds: Sequence[Pair], documents: Mapping[str, Document]
) -> None:
    for query_id, doc_id in seeds:
        if doc_id not in documents:
            problem = f"the pair {query_id} {doc_id} is of a document that the corpus lacks"
            raise BadInput(f"{collection.pool}: {problem}")


def _add(
    collection: Collection,
    expansion: Expansion,
    neighbors: tuple[Sequence[Pair], Mapping[str, Mapping[str, int]], RoundFound | None],
    runs: Mapping[str, Run],
    depth: int,
) -> PoolResult:
    """Write the pool with the neighbors and the runs' tops; the collection is locked."""
    seeds, near, last = neighbors
    pool = read_pool(collection.pool)
    number = 1 + max((entry.round or 0 for entry in pool), default=0)
    brought = merge_pools(list(_pairs(seeds, near).values()), pool_runs(runs, depth))
    pairs = {entry.pair for entry in brought}
    reached: DepthReached | None = None
    if expansion.max_pairs:
        pairs, reached = _bounded(brought, pool, (runs, depth), expansion.max_pairs)
    of_round = [replace(entry, round=number) for entry in brought if entry.pair in pairs]
    section = card_section(read_card(collection), "pool")
    before, now = count(section.get("depth")) or depth, reached.most if reached else depth
    merged, new = add_pairs(collection, runs, Added(of_round, max(before, now) if runs else before))
    _note_round(collection, expansion, number, new)
    left_out = len(brought) - len(of_round)
    expanded = Expanded(number, len(seeds), new, False, expansion.until, last, left_out)
    result = _result(collection, new, expanded)
    return replace(result, pairs=len(merged), reached=reached if runs else None)


def _pairs(seeds: Sequence[Pair], near: Mapping[str, Mapping[str, int]]) -> dict[Pair, Pooled]:
    """The pairs of the neighbors, each with the relevant documents that it comes from."""
    from_seeds: dict[Pair, list[str]] = {}
    for query_id, seed in seeds:
        for doc_id in near[seed]:
            from_seeds.setdefault(Pair(query_id, doc_id), []).append(seed)
    return {pair: Pooled(pair, seeds=tuple(names)) for pair, names in from_seeds.items()}


def _bounded(
    brought: Sequence[Pooled],
    pool: Sequence[Pooled],
    tops: tuple[Mapping[str, Run], int],
    max_pairs: int,
) -> tuple[set[Pair], DepthReached]:
    """The pairs of a pool of a size, and how deep the new runs, whose tops come first, are in it.

    What room they leave is for the neighbors: those that most relevant documents lead to.
    """
    old = {entry.pair for entry in pool}
    new_tops, reached = within_budget(*tops, old, max_pairs)
    with_tops = old | {entry.pair for entry in new_tops}
    near: Run = {}
    for entry in brought:
        if entry.seeds:
            query_id, doc_id = entry.pair
            near.setdefault(query_id, {})[doc_id] = float(len(entry.seeds))
    new_near, _ = within_budget({"neighbors": near}, len(brought), with_tops, max_pairs)
    return with_tops | {entry.pair for entry in new_near}, reached


def _note_round(collection: Collection, expansion: Expansion, number: int, new: int) -> None:
    section = card_section(read_card(collection), "pool")
    rounds = card_section(section, "rounds")
    settings = {"qrels": expansion.qrels, "rel": expansion.rel, "neighbors": expansion.neighbors}
    entry = {**rounds, str(number): {**settings, "pairs": new}}
    update_card(collection, "pool", {**section, "rounds": entry})


def _result(collection: Collection, new: int, expanded: Expanded) -> PoolResult:
    pairs, queries = len(read_pool(collection.pool)), len(read_queries(collection.queries))
    names = collection.run_names()
    return PoolResult(collection.pool, pairs, new, queries, names, expansion=expanded)
