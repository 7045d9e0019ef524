"""`pool.jsonl`: the pairs to judge, which runs found each, and its best rank, held as columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Integers
from labeler.collection.layout import check_locked
from labeler.collection.rows import Row, records
from labeler.data import Pair, Pooled
from labeler.files.jsonl import write_rows
from labeler.trec.columns import Codes, id_ranks, plain_values
from labeler.trec.pairs import PairColumns, pair_numbers

_BITS = 32
_LOW = 2**_BITS - 1

Which = Flags | Integers | slice
"""Some rows of columns: a mask `(n,)`, their places, or a slice."""


@dataclass(frozen=True, eq=False)
class Pairs(Collection[Pair]):
    """`n` pairs in eight bytes each, in their order; none stands there twice.

    `query` and `document`, `(n,)`, are places in `queries` and `documents`, the distinct ids, of
    which some may be of no pair.
    """

    queries: tuple[str, ...]
    documents: Sequence[str]
    query: NDArray[np.int32]
    document: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Pairs:
        """The columns of some pairs."""
        if isinstance(pairs, Pairs):
            return pairs
        query, document = Codes(), Codes()
        for query_id, doc_id in pairs:
            query.add(query_id)
            document.add(doc_id)
        return cls(tuple(query.place), tuple(document.place), query.code, document.code)

    @classmethod
    def in_columns(cls, columns: PairColumns[Any]) -> Pairs:
        """The pairs of which columns hold a value."""
        return cls(columns.queries, columns.documents, columns.query, columns.document)

    def __len__(self) -> int:
        return len(self.query)

    def __iter__(self) -> Iterator[Pair]:
        queries = map(self.queries.__getitem__, plain_values(self.query))
        return map(Pair, queries, map(self.documents.__getitem__, plain_values(self.document)))

    def __contains__(self, pair: object) -> bool:
        assert isinstance(pair, tuple)
        return bool(Pairs.of([Pair(*pair)]).within(self).any())

    @property
    def codes(self) -> Integers:
        """One number a pair, `(n,)`: its query's place, then its document's."""
        return self.query.astype(np.int64) << _BITS | self.document

    def has_repeated(self) -> bool:
        """Whether a pair stands there twice, as it may until somebody looks."""
        codes = self.codes
        codes.sort()
        return bool((codes[1:] == codes[:-1]).any())

    def keep(self, which: Which) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.queries, self.documents, self.query[which], self.document[which])

    def by_query(self) -> Pairs:
        """The same pairs, those of a query one after another, otherwise in their order."""
        stretches = 1 + np.count_nonzero(self.query[1:] != self.query[:-1])
        if stretches == len(np.unique(self.query)):
            return self
        _, first, number = np.unique(self.query, return_index=True, return_inverse=True)
        return self.keep(np.argsort(first[number], kind="stable"))

    def order(self, *between: NDArray[Any]) -> Integers:
        """The places of all pairs by query, then by what stands between, then by document."""
        of_document = id_ranks(self.documents)[self.document]
        return np.lexsort((of_document, *between, id_ranks(self.queries)[self.query]))

    def within(self, others: Pairs) -> Flags:
        """Which pairs stand among others, `(n,)`."""
        _, _, (own, theirs) = pair_numbers([self, others])
        return np.isin(own, theirs)

    def among(self, queries: Container[str], documents: Container[str]) -> Flags:
        """Which pairs have both ids among some, `(n,)`."""
        has_query = np.array([id_ in queries for id_ in self.queries], np.bool_)
        has_document = np.array([id_ in documents for id_ in self.documents], np.bool_)
        return has_query[self.query] & has_document[self.document]


class PoolSource(NamedTuple):
    """How a pair came into a pool, but for its best rank; `Pooled` says what each value is."""

    runs: tuple[str, ...]
    seeds: tuple[str, ...]
    round: int | None


@dataclass(frozen=True, eq=False)
class Pool(Iterable[Pooled]):
    """The pairs of a pool and how each came there, in sixteen bytes a pair and the distinct ids.

    `rank`, `(n,)`, is the best rank, 0 of a pair without one; `source`, `(n,)`, a place in
    `sources`.
    """

    pairs: Pairs
    rank: NDArray[np.uint32]
    source: NDArray[np.int32]
    sources: Sequence[PoolSource]

    @classmethod
    def of(cls, entries: Iterable[Pooled]) -> Pool:
        """The columns of some entries."""
        if isinstance(entries, Pool):
            return entries
        rank, source = array("I"), Codes()

        def pairs() -> Iterator[Pair]:
            for entry in entries:
                rank.append(entry.best_rank or 0)
                source.add(PoolSource(entry.runs, entry.seeds, entry.round))
                yield entry.pair

        return cls(Pairs.of(pairs()), np.asarray(rank), source.code, tuple(source.place))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pooled]:
        sources = map(self.sources.__getitem__, plain_values(self.source))
        for pair, rank, source in zip(self.pairs, plain_values(self.rank), sources, strict=True):
            yield Pooled(pair, source.runs, rank or None, *source[1:])

    def keep(self, which: Which) -> Pool:
        """Some of the entries."""
        return Pool(self.pairs.keep(which), self.rank[which], self.source[which], self.sources)

    @property
    def rounds(self) -> Integers:
        """The round of expansion that added each pair, `(n,)`, 0 where none did."""
        return np.array([source.round or 0 for source in self.sources], np.int64)[self.source]


DROPS = "labeler pool {} (which takes such pairs out)"
"""What to do where a pool names queries or documents that are gone."""


def read_pool(
    path: Path, queries: Container[str] | None = None, documents: Container[str] | None = None
) -> Pool:
    """The pairs of a `pool.jsonl`, of which only `query_id` and `doc_id` are required.

    `BadInput` names the first line that holds a pair a second time, or, where `queries` or
    `documents` are given, an id that is not among them.
    """
    pool = Pool.of(records(path, _pooled))
    pairs = pool.pairs
    if queries is not None and documents is not None:
        is_present = pairs.among(queries, documents)
        if not is_present.all():
            row = _row_at(path, int(is_present.argmin()))
            query, document = row.pair
            name = f"document {document!r}" if query in queries else f"query {query!r}"
            problem = f"the {name} is not in the collection"
            raise row.error(f"{problem}; next: {DROPS.format(path.parent)}")
    if pairs.has_repeated():
        _, first = np.unique(pairs.codes, return_index=True)
        row = _row_at(path, int(np.setdiff1d(np.arange(len(pairs)), first)[0]))
        raise row.error(f"the pair {' '.join(row.pair)} stands there twice")
    return pool


def _row_at(path: Path, row: int) -> Row:
    return next(islice(records(path, lambda each: each), row, None))


def standing_pool(path: Path) -> Pool:
    """The pool in a file, empty where there is none yet."""
    return read_pool(path) if path.exists() else Pool.of(())


def _pooled(row: Row) -> Pooled:
    runs, seeds = (row.list_of(key, {str}, "a list of names") for key in ("runs", "seeds"))
    return Pooled(row.pair, runs, row.counted("best_rank", _LOW), seeds, row.counted("round", _LOW))


def write_pool(path: Path, pool: Iterable[Pooled]) -> None:
    """Write a `pool.jsonl`; it reads back as the same pairs."""
    check_locked(path.parent)
    rows = (
        {
            **entry.pair._asdict(),
            "runs": list(entry.runs),
            "best_rank": entry.best_rank,
            **({"seeds": list(entry.seeds)} if entry.seeds else {}),
            **({} if entry.round is None else {"round": entry.round}),
        }
        for entry in pool
    )
    write_rows(path, rows, check=read_pool)


def merge_pools(old: Iterable[Pooled], new: Iterable[Pooled]) -> Pool:
    """`old` with `new` added: no pair is dropped, runs are united, the better rank is kept.

    Old pairs keep their place; new ones follow, sorted by query and best rank.
    """
    before = Pool.of(old)
    size, every = len(before), united_pool(chain(before, new) if len(before) else new)
    added = every.keep(slice(size, None))
    order = size + added.pairs.order(added.rank)
    return every.keep(np.append(np.arange(size), order))


Unite = Callable[[PoolSource, PoolSource], PoolSource]
"""How a pair that stands in a pool twice came there, of how it did at first and then."""


def united(first: PoolSource, second: PoolSource) -> PoolSource:
    """The runs and seeds of both, in the round of the first."""
    runs = tuple(dict.fromkeys((*first.runs, *second.runs)))
    seeds = tuple(dict.fromkeys((*first.seeds, *second.seeds)))
    return PoolSource(runs, seeds, first.round)


def united_pool(entries: Iterable[Pooled], unite: Unite = united) -> Pool:
    """Entries in the order in which their pairs first appear, all those of a pair as one.

    The better rank is kept, and `unite` says what becomes of the rest.
    """
    pool = Pool.of(entries)
    while pool.pairs.has_repeated():  # the first two of each pair become one
        codes = pool.pairs.codes
        order = np.argsort(codes, kind="stable")
        is_same = np.diff(codes[order], prepend=-1) == 0
        is_second = is_same & ~np.append(False, is_same[:-1])
        first, second = order[np.flatnonzero(is_second) - 1], order[is_second]
        rank, source, sources = pool.rank.copy(), pool.source.copy(), Codes()
        rank[first] = np.minimum(rank[first] - 1, rank[second] - 1) + 1  # as 0 is none
        sources.extend(pool.sources)
        both = source[first].astype(np.int64) << _BITS | source[second]
        kinds, kind = np.unique(both, return_inverse=True)
        united_sources = [
            sources.place[unite(pool.sources[each >> _BITS], pool.sources[each & _LOW])]
            for each in kinds.tolist()
        ]
        source[first] = np.array(united_sources, np.int32)[kind]
        is_left = np.ones(len(pool), np.bool_)
        is_left[second] = False
        pool = Pool(pool.pairs, rank, source, tuple(sources.place)).keep(is_left)
    return pool
