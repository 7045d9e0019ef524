"""`pool.jsonl`: the pairs to judge, which runs found each, and its best rank."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.layout import check_locked
from labeler.collection.rows import Row, records
from labeler.data import Pair, Pooled
from labeler.files.jsonl import write_rows


def read_pool(path: Path) -> list[Pooled]:
    """The pairs of a `pool.jsonl`, of which only `query_id` and `doc_id` are required."""
    pairs: set[Pair] = set()

    def pooled(row: Row) -> Pooled:
        entry = _pooled(row)
        if entry.pair in pairs:
            raise row.error(f"the pair {' '.join(entry.pair)} stands there twice")
        pairs.add(entry.pair)
        return entry

    return list(records(path, pooled))


def _pooled(row: Row) -> Pooled:
    runs, seeds = (row.list_of(key, {str}, "a list of names") for key in ("runs", "seeds"))
    rank, inclusion = row.counted("best_rank", _LOW), row.probability("inclusion")
    return Pooled(row.pair, runs, rank, inclusion, seeds, row.counted("round", _LOW))


DROPS = "labeler pool {} (which takes such pairs out)"
"""What to do where a pool names queries or documents that are gone."""


@dataclass(frozen=True, slots=True)
class PoolPairs:
    """The pairs of a `pool.jsonl`, in eight bytes each: a query's number, then a document's."""

    queries: Sequence[str]
    documents: Sequence[str]
    codes: array[int]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Pair]:
        queries, documents = self.queries, self.documents
        for code in self.codes:
            yield Pair(queries[code >> _BITS], documents[code & _LOW])

    def by_query(self) -> PoolPairs:
        """The same pairs, those of a query one after another, otherwise in their order."""
        import numpy as np

        codes = np.frombuffer(self.codes, dtype=np.int64)
        numbers = codes >> _BITS  # by the first pair of each query
        if (numbers[1:] >= numbers[:-1]).all():
            return self
        ordered = codes[np.argsort(numbers, kind="stable")]
        return PoolPairs(self.queries, self.documents, array("q", ordered.tobytes()))


_BITS = 32
_LOW = 2**_BITS - 1


def pool_pairs(
    path: Path, queries: Container[str] | None = None, documents: Container[str] | None = None
) -> PoolPairs:
    """The pairs of a pool, all of it read once and found well-formed, no pair twice.

    Where `queries` or `documents` are given, `BadInput` names the first line with an id that is
    not among them.
    """
    codes, query_numbers, doc_numbers = array("q"), dict[str, int](), dict[str, int]()

    def add(row: Row) -> None:
        query, document = _pooled(row).pair
        if query not in query_numbers:
            _check_exists(row, "query", query, queries)
        if document not in doc_numbers:
            _check_exists(row, "document", document, documents)
        first = query_numbers.setdefault(query, len(query_numbers))
        codes.append(first << _BITS | doc_numbers.setdefault(document, len(doc_numbers)))

    deque(records(path, add), maxlen=0)
    if _has_equals(codes):
        read_pool(path)  # which says in which line
    return PoolPairs(list(query_numbers), list(doc_numbers), codes)


def _check_exists(row: Row, what: str, text: str, ids: Container[str] | None) -> None:
    if ids is not None and text not in ids:
        problem = f"the {what} {text!r} is not in the collection"
        raise row.error(f"{problem}; next: {DROPS.format(row.path.parent)}")


def _has_equals(numbers: array[int]) -> bool:
    import numpy as np

    ordered = np.sort(np.frombuffer(numbers, dtype=np.int64))
    return bool((ordered[1:] == ordered[:-1]).any())


def write_pool(path: Path, pool: Iterable[Pooled]) -> None:
    """Write a `pool.jsonl`; it reads back as the same pairs."""
    check_locked(path.parent)
    rows = (
        {
            **entry.pair._asdict(),
            "runs": list(entry.runs),
            "best_rank": entry.best_rank,
            **({} if entry.inclusion is None else {"inclusion": entry.inclusion}),
            **({"seeds": list(entry.seeds)} if entry.seeds else {}),
            **({} if entry.round is None else {"round": entry.round}),
        }
        for entry in pool
    )
    write_rows(path, rows, check=read_pool)


def merge_pools(old: Sequence[Pooled], new: Iterable[Pooled]) -> list[Pooled]:
    """`old` with `new` added: no pair is dropped, runs are united, the better rank is kept.

    Old pairs keep their place; new ones follow, sorted by query and best rank. A pair that was
    drawn at random, and is now pooled for another reason, is no longer one of the sample.
    """
    merged = {entry.pair: entry for entry in old}
    added: dict[Pair, Pooled] = {}
    for entry in new:
        home = merged if entry.pair in merged else added
        earlier = home.get(entry.pair)
        home[entry.pair] = entry if earlier is None else _united(earlier, entry)
    order = sorted(added.values(), key=lambda e: (e.pair.query_id, e.best_rank or 0, e.pair.doc_id))
    return [*merged.values(), *order]


def _united(first: Pooled, second: Pooled) -> Pooled:
    runs = tuple(dict.fromkeys((*first.runs, *second.runs)))
    ranks = [rank for rank in (first.best_rank, second.best_rank) if rank is not None]
    shares = (first.inclusion, second.inclusion)
    inclusion = None if None in shares else first.inclusion
    seeds = tuple(dict.fromkeys((*first.seeds, *second.seeds)))
    leaves_sample = first.inclusion is not None and inclusion is None
    joined = second.round if leaves_sample else first.round
    return Pooled(first.pair, runs, min(ranks, default=None), inclusion, seeds, joined)
