"""`controls/NAME.fixed.jsonl`: the pairs of a set that every control of it asks about again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked
from labeler.data import Pair
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows


class FixedPair(NamedTuple):
    """A pair, and what tells the texts that were shown when it was drawn from others."""

    pair: Pair
    shown: str


def fixed_file(collection: Collection, name: str) -> Path:
    """The file of the fixed pairs of a set of judgements."""
    return collection.controls / f"{name}.fixed.jsonl"


def read_fixed(path: Path) -> list[FixedPair]:
    """The fixed pairs in the order of their file; none where none were drawn."""
    if not path.exists():
        return []
    return [
        FixedPair(
            Pair(
                identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id")
            ),
            text_of(path, number, row, "shown", ""),
        )
        for number, row in read_rows(path)
    ]


def write_fixed(collection: Collection, name: str, pairs: Iterable[FixedPair]) -> None:
    """Write the fixed pairs of a set, in place of those that were fixed before."""
    check_locked(collection.folder)
    rows = (
        {"query_id": each.pair.query_id, "doc_id": each.pair.doc_id, "shown": each.shown}
        for each in pairs
    )
    write_rows(fixed_file(collection, name), rows)
