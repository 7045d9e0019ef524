"""`pool.jsonl`: the pairs to judge, which runs found each, and its best rank."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.data import Pair, Pooled
from labeler.errors import BadInput
from labeler.formats.jsonl import identifier, read_rows, write_rows


def read_pool(path: Path) -> list[Pooled]:
    """The pairs of a `pool.jsonl`, of which only `query_id` and `doc_id` are required."""
    pool: list[Pooled] = []
    seen: set[Pair] = set()
    for number, row in read_rows(path):
        pair = _pair(path, number, row)
        if pair in seen:
            raise BadInput.at(path, number, f"the pair {pair[0]} {pair[1]} stands there twice")
        seen.add(pair)
        pool.append(Pooled(pair, _runs(path, number, row), _rank(path, number, row)))
    return pool


@dataclass(frozen=True, slots=True)
class PoolPairs:
    """The pairs of a `pool.jsonl`, read anew each time and never all in memory."""

    path: Path
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Pair]:
        for number, row in read_rows(self.path):
            yield _pair(self.path, number, row)


def pool_pairs(
    path: Path, queries: Container[str] | None = None, documents: Container[str] | None = None
) -> PoolPairs:
    """The pairs of a pool, all of it read once and found well-formed, no pair twice.

    Where `queries` or `documents` are given, `BadInput` names the first line with an id that is
    not among them.
    Eight bytes a pair are held meanwhile: two pairs of one hash are looked at more closely.
    """
    seen = array("q")
    for number, row in read_rows(path):
        _runs(path, number, row)
        _rank(path, number, row)
        pair = _pair(path, number, row)
        _check_known(path, number, "query", pair.query_id, queries)
        _check_known(path, number, "document", pair.doc_id, documents)
        seen.append(hash(pair))
    if _has_equals(seen):
        read_pool(path)
    return PoolPairs(path, len(seen))


def _check_known(
    path: Path, number: int, what: str, found: str, known: Container[str] | None
) -> None:
    if known is not None and found not in known:
        problem = f"the {what} {found!r} is not in the collection"
        raise BadInput.at(path, number, problem)


def _has_equals(numbers: array[int]) -> bool:
    import numpy as np

    ordered = np.sort(np.frombuffer(numbers, dtype=np.int64))
    return bool((ordered[1:] == ordered[:-1]).any())


def _pair(path: Path, number: int, row: dict[str, Any]) -> Pair:
    return Pair(identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id"))


def _runs(path: Path, number: int, row: dict[str, Any]) -> tuple[str, ...]:
    runs = row.get("runs") or []
    if not isinstance(runs, list) or not all(isinstance(name, str) for name in runs):
        raise BadInput.at(path, number, f"expected 'runs' to be a list of names, found {runs!r}")
    return tuple(runs)


def _rank(path: Path, number: int, row: dict[str, Any]) -> int | None:
    rank = row.get("best_rank")
    if rank is not None and (type(rank) is not int or rank < 1):
        raise BadInput.at(path, number, f"expected 'best_rank' to count from 1, found {rank!r}")
    return rank


def write_pool(path: Path, pool: Iterable[Pooled]) -> None:
    """Write a `pool.jsonl`; it reads back as the same pairs."""
    rows = (
        {
            "query_id": entry.pair.query_id,
            "doc_id": entry.pair.doc_id,
            "runs": list(entry.runs),
            "best_rank": entry.best_rank,
        }
        for entry in pool
    )
    write_rows(path, rows, check=read_pool)
