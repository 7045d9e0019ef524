"""`controls/NAME.N.jsonl`: pairs of judgements that were judged again, with all grades."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labeler.collection.card import update_card_entry
from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked
from labeler.files.jsonl import write_rows


def next_control(collection: Collection, name: str) -> int:
    """The number of the next control of a set of judgements, from 1."""
    pattern = re.compile(rf"{re.escape(name)}\.([1-9][0-9]{{0,8}})\.jsonl")
    numbers = (pattern.fullmatch(path.name) for path in collection.controls.glob("*.jsonl"))
    return 1 + max((int(match[1]) for match in numbers if match), default=0)


def control_file(collection: Collection, name: str, number: int) -> Path:
    """The file of one control."""
    return collection.controls / f"{name}.{number}.jsonl"


def write_control(
    path: Path, rows: Iterable[Mapping[str, Any]], collection: Collection, made: Mapping[str, Any]
) -> None:
    """Write a control's rows, and what came of it into the card."""
    check_locked(collection.folder)
    write_rows(path, rows)
    update_card_entry(collection, "control", path.stem, made)
