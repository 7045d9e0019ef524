"""`pool.jsonl`: the pairs to judge, which runs found each, and its best rank."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.collection.lock import check_locked
from labeler.collection.rows import check_exists, pair_of
from labeler.data import Pair, Pooled
from labeler.errors import BadInput
from labeler.files.boundary import finite, reading
from labeler.files.jsonl import read_rows, write_rows


def read_pool(path: Path) -> list[Pooled]:
    """The pairs of a `pool.jsonl`, of which only `query_id` and `doc_id` are required."""
    pool: list[Pooled] = []
    pairs: set[Pair] = set()
    check_exists(path)
    with reading(path) as position:
        for number, row in position.follow(read_rows(path)):
            pair = pair_of(path, number, row)
            if pair in pairs:
                raise position.error(f"the pair {pair[0]} {pair[1]} stands there twice")
            pairs.add(pair)
            runs, rank = _names(path, number, row, "runs"), _rank(path, number, row)
            inclusion, seeds = _inclusion(path, number, row), _names(path, number, row, "seeds")
            pool.append(Pooled(pair, runs, rank, inclusion, seeds, _round(path, number, row)))
    return pool


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
    check_exists(path)
    with reading(path) as position:
        for number, row in position.follow(read_rows(path)):
            query, document = pair_of(path, number, row)
            for check in (_rank, _inclusion, _round):
                check(path, number, row)
            for name in ("runs", "seeds"):
                _names(path, number, row, name)
            if query not in query_numbers:
                _check_exists(path, number, "query", query, queries)
            if document not in doc_numbers:
                _check_exists(path, number, "document", document, documents)
            first = query_numbers.setdefault(query, len(query_numbers))
            codes.append(first << _BITS | doc_numbers.setdefault(document, len(doc_numbers)))
    if _has_equals(codes):
        read_pool(path)  # which says in which line
    return PoolPairs(list(query_numbers), list(doc_numbers), codes)


def _check_exists(
    path: Path, number: int, what: str, text: str, ids: Container[str] | None
) -> None:
    if ids is not None and text not in ids:
        problem = f"the {what} {text!r} is not in the collection"
        raise BadInput.at(path, number, f"{problem}; next: {DROPS.format(path.parent)}")


def _has_equals(numbers: array[int]) -> bool:
    import numpy as np

    ordered = np.sort(np.frombuffer(numbers, dtype=np.int64))
    return bool((ordered[1:] == ordered[:-1]).any())


def _names(path: Path, number: int, row: dict[str, Any], key: str) -> tuple[str, ...]:
    names = row.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadInput.at(
            path, number, f"expected {key!r} to be a list of names, found {names!r:.80}"
        )
    return tuple(names)


def _rank(path: Path, number: int, row: dict[str, Any]) -> int | None:
    return _counted(path, number, row, "best_rank")


def _round(path: Path, number: int, row: dict[str, Any]) -> int | None:
    return _counted(path, number, row, "round")


def _counted(path: Path, number: int, row: dict[str, Any], key: str) -> int | None:
    value = row.get(key)
    if value is not None and (type(value) is not int or not 1 <= value <= _LOW):
        problem = f"expected {key!r} to count from 1, found {value!r:.40}"
        raise BadInput.at(path, number, problem)
    return value


def _inclusion(path: Path, number: int, row: dict[str, Any]) -> float | None:
    value = row.get("inclusion")
    if value is None:
        return None
    share = finite(value, 0, 1)
    if not share:
        problem = f"expected 'inclusion' to be a probability above 0, found {value!r:.40}"
        raise BadInput.at(path, number, problem)
    return share


def write_pool(path: Path, pool: Iterable[Pooled]) -> None:
    """Write a `pool.jsonl`; it reads back as the same pairs."""
    check_locked(path.parent)
    rows = (
        {
            "query_id": entry.pair.query_id,
            "doc_id": entry.pair.doc_id,
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
