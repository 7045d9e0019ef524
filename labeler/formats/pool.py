"""`pool.jsonl`: the pairs to judge, which runs found each, and its best rank."""

from __future__ import annotations

from collections.abc import Iterable
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
        pair = Pair(
            identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id")
        )
        if pair in seen:
            raise BadInput.at(path, number, f"the pair {pair[0]} {pair[1]} stands there twice")
        seen.add(pair)
        pool.append(Pooled(pair, _runs(path, number, row), _rank(path, number, row)))
    return pool


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
