"""Runs that join a collection's pool: their files, their pairs, and what the card says of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from labeler.collection.card import card_section, making, read_card, update_card
from labeler.collection.corpus import distinct_documents, ids_among
from labeler.collection.layout import Collection, check_name
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.queries import read_queries
from labeler.collection.user_files import run_name
from labeler.data import Pair, Pooled, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import read_run
from labeler.files.boundary import count
from labeler.messages import Progress, count_of, no_progress, no_query_in_common
from labeler.runs.retrieve import BUILT_IN, tag_of
from labeler.text.terms import Encoder
from labeler.trec.rows import RUN_COLUMNS, rows
from labeler.trec.runs import ranking
from labeler.trec.write import write_run

# Runs of one's own that join a collection's pool, checked against the collection.


def read_own_run(
    path: Path, collection: Collection, depth: int, warn: Callable[[str], None]
) -> Run:
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


def _of_queries(run: Run, queries: Container[str]) -> Run:
    return {query_id: scores for query_id, scores in run.items() if query_id in queries}


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
    for number, columns in rows(path, RUN_COLUMNS):
        query_id, doc_id = columns[0].decode(), columns[2].decode()
        if doc_id in unknown and query_id in run:
            verb = "is" if len(unknown) == 1 else "are"
            raise BadInput.at(
                path,
                number,
                f"the document {doc_id!r} is not in {corpus}, whose ids are as {some};"
                f" {len(unknown):,} of the {len(pooled):,} documents to pool {verb} missing",
            )


def _some(ids: Iterable[str]) -> str:
    return ", ".join(nsmallest(3, ids))


def check_depth(depth: int) -> None:
    """`Misuse` where no document would be pooled."""
    if count(depth) in (None, 0):
        raise Misuse("depth counts from 1", parameter="depth")


def several_paths(paths: Iterable[Path | str] | Path | str) -> Iterable[Path | str]:
    """The same; of a single path, that alone."""
    return [paths] if isinstance(paths, Path | str) else paths


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


# A pool of a given size: each query its share, each run its turn, by rank.


@dataclass(frozen=True, slots=True)
class DepthReached:
    """How deep a budget went: every query whole to `least`, and none beyond `most`."""

    least: int
    most: int

    def as_json(self) -> dict[str, int]:
        """Both depths."""
        return {"least": self.least, "most": self.most}

    def __str__(self) -> str:
        if self.least == self.most:
            return f"depth {self.most} for every query"
        return f"depth {self.least} for every query, and {self.most} at most"


def within_budget(
    runs: Mapping[str, Run], depth: int, old: Iterable[Pair], max_pairs: int
) -> tuple[list[Pooled], DepthReached]:
    """The pairs that bring a pool to `max_pairs` in all, and the depth that they reach.

    Round by round, each query adds the pair of its next best rank, so that queries have equally
    many until they have no more. Where runs hold different documents at a rank, they take turns:
    which run is first changes from query to query. Old pairs count, and take their query's rounds.
    """
    if max_pairs < 1:
        raise Misuse("the pairs of a pool count from 1", parameter="max_pairs")
    present = set(old)
    lists = {
        query_id: _ordered(query_id, number, runs, depth)
        for number, query_id in enumerate(dict.fromkeys(q for run in runs.values() for q in run))
    }
    waiting = {q: [p for p in pairs if p.pair not in present] for q, pairs in lists.items()}
    shares = _shares(
        {query_id: len(pairs) for query_id, pairs in waiting.items()},
        {query_id: len(lists[query_id]) - len(pairs) for query_id, pairs in waiting.items()},
        max(0, max_pairs - len(present)),
    )
    added = [pooled for query_id, pairs in waiting.items() for pooled in pairs[: shares[query_id]]]
    return added, _reached(lists, present | {pooled.pair for pooled in added})


def _ordered(query_id: str, number: int, runs: Mapping[str, Run], depth: int) -> list[Pooled]:
    """A query's pairs by best rank; at each rank the runs follow one another from `number` on."""
    names = [name for name, run in runs.items() if query_id in run]
    first = number % len(names)
    turned = [*names[first:], *names[:first]]
    lists = [ranking(runs[name][query_id])[:depth] for name in turned]
    ranks: dict[str, dict[str, int]] = {}
    for rank in range(max(map(len, lists), default=0)):
        for name, documents in zip(turned, lists, strict=True):
            if rank < len(documents):
                ranks.setdefault(documents[rank], {})[name] = rank + 1
    order = {name: n for n, name in enumerate(names)}
    return [
        Pooled(
            Pair(query_id, doc_id),
            tuple(sorted(by_run, key=order.__getitem__)),
            min(by_run.values()),
        )
        for doc_id, by_run in ranks.items()
    ]


def _shares(available: Mapping[str, int], held: Mapping[str, int], budget: int) -> dict[str, int]:
    """How many pairs each query adds: those with the fewest first, one a round.

    The last round, which may not go round, begins with the first queries.
    """
    shares = dict.fromkeys(available, 0)
    while budget > 0:
        unfinished = [query_id for query_id, most in available.items() if shares[query_id] < most]
        if not unfinished:
            break
        fewest = min(held[query_id] + shares[query_id] for query_id in unfinished)
        lowest = [q for q in unfinished if held[q] + shares[q] == fewest][:budget]
        for query_id in lowest:
            shares[query_id] += 1
        budget -= len(lowest)
    return shares


def _reached(lists: Mapping[str, Sequence[Pooled]], present: set[Pair]) -> DepthReached:
    """To which rank all queries are whole, and the deepest rank of any pair.

    A query whose lists end earlier is whole at any depth.
    """
    most = max(
        (p.best_rank or 0 for pairs in lists.values() for p in pairs if p.pair in present),
        default=0,
    )
    missing = [p.best_rank or 0 for pairs in lists.values() for p in pairs if p.pair not in present]
    return DepthReached(min(min(missing) - 1, most) if missing else most, most)


# What rounds of expanding a pool brought, and what is said of them.


class RoundFound(NamedTuple):
    """What a round of expansion brought: its pairs, those judged, and the relevant among them.

    `relevant_in_pool` are those of the whole pool but for its random sample.
    """

    round: int
    pairs: int
    judged: int
    relevant: int
    relevant_in_pool: int

    @property
    def share(self) -> float:
        """The share of all relevant documents that this round brought."""
        return self.relevant / self.relevant_in_pool if self.relevant_in_pool else 0.0

    def __str__(self) -> str:
        documents = count_of(self.relevant, "relevant document", "relevant documents")
        return (
            f"round {self.round} brought {documents} in {count_of(self.pairs, 'pair', 'pairs')}, "
            f"{self.share:.1%} of the {self.relevant_in_pool:,} there are"
        )


@dataclass(frozen=True, slots=True)
class Expanded:
    """What an expansion did: `last` is what the round before it brought, None before the first.

    `seeds` relevant documents have `added` pairs of neighbors, in the round `round`; where
    `stopped`, none were looked for, as the last round brought less than the share `until`.
    `left_out` counts the pairs that a bound on the pool left no room for.
    """

    round: int
    seeds: int
    added: int
    stopped: bool
    until: float
    last: RoundFound | None = None
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        """The counts, and those of the round before."""
        last = None if self.last is None else {**self.last._asdict(), "share": self.last.share}
        return {
            "round": self.round,
            "seeds": self.seeds,
            "added": self.added,
            "left_out": self.left_out,
            "stopped": self.stopped,
            "until": self.until,
            "last": last,
        }

    def sentences(self) -> list[str]:
        """What the round before brought, and whether there is another."""
        lines = [str(self.last)] if self.last else []
        if self.stopped:
            return [*lines, f"stopped: that is less than {self.until:.1%}; nothing was added"]
        seeds = count_of(self.seeds, "relevant document", "relevant documents")
        pairs = count_of(self.added, "pair", "pairs")
        if self.left_out:
            more = count_of(self.left_out, "pair", "pairs")
            lines.append(f"the pool is at the size that was set for it; left out: {more}")
        if not self.added and self.left_out:
            return [*lines, "stopped: nothing was added; set a larger size to go on"]
        if not self.added:
            return [*lines, f"stopped: the pool has all neighbors of {seeds} already"]
        return [*lines, f"round {self.round}: {pairs} added, from {seeds}; judge them, then repeat"]


class Growth(Protocol):
    """From which qrels a round is added, from which grade on, and with how many neighbors."""

    @property
    def qrels(self) -> str:
        """The name of the qrels."""

    @property
    def rel(self) -> int:
        """The lowest grade that counts as relevant."""

    @property
    def neighbors(self) -> int:
        """How many neighbors of each relevant document join, by each retriever."""


def continues(collection: Collection, number: int, expansion: Growth) -> bool:
    """Whether a round was added as `expansion` would add it, so that its yield says what is left.

    A round from other qrels, from a higher grade or of fewer neighbors left out neighbors that this
    expansion looks for. A round of which nothing was kept is taken for one of these.
    """
    round_ = _settings_of_round(collection, number)
    grade, neighbors = count(round_.get("rel")), count(round_.get("neighbors"))
    same = round_.get("qrels", expansion.qrels) == expansion.qrels
    near = neighbors is None or neighbors >= expansion.neighbors
    return same and near and (grade is None or grade <= expansion.rel)


def rounds_from(collection: Collection, qrels: str, last: int) -> int:
    """How many of the first `last` rounds of a pool were added from the qrels of a name."""
    rounds = (_settings_of_round(collection, number) for number in range(1, last + 1))
    return sum(settings.get("qrels", qrels) == qrels for settings in rounds)


def _settings_of_round(collection: Collection, number: int) -> dict[str, Any]:
    rounds = card_section(card_section(read_card(collection), "pool"), "rounds")
    return card_section(rounds, str(number))
