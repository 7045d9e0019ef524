"""What the rows of a collection's files share: ids of pairs, metadata, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labeler.collection.layout import STEPS, next_step
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem
from labeler.files.jsonl import identifier
from labeler.files.read import check_regular


def check_exists(path: Path) -> None:
    """`FileProblem` says how to make a part of a collection that is missing, or that it is none."""
    if path.name in STEPS:
        check_regular(path)
    if path.name in STEPS and not path.exists():
        raise FileProblem(f"{path}: no such file; next: {next_step(path.parent)}")


def pair_of(path: Path, number: int, row: dict[str, Any]) -> Pair:
    """The pair that a row is about."""
    return Pair(identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id"))


def metadata_of(path: Path, number: int, row: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a row, empty where it has none."""
    value = row.get("metadata") or {}
    if not isinstance(value, dict):
        raise BadInput.at(path, number, f"expected 'metadata' to be an object, found {value!r:.80}")
    return value


def repeated_id(path: Path, number: int, repeated: str) -> BadInput:
    """The error at the second row of one id."""
    return BadInput.at(path, number, f"the id {repeated!r} stands in an earlier line too")
