"""`controls/NAME.N.jsonl`: pairs of judgements that were judged again, with all grades."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.layout import Collection, check_locked
from labeler.files.jsonl import write_rows

_STEM = re.compile(r"(.+)\.([1-9][0-9]{0,8})")


def next_control(collection: Collection) -> int:
    """The number of the next control of any set of a collection, from 1.

    Sets by one assessor ask the same requests, so two controls never share a number. The card
    remembers the numbers of controls that were stopped, and of those whose files were removed.
    """
    files = (path.stem for path in collection.controls.glob("*.jsonl"))
    stems = [*files, *card_section(read_card(collection), "control")]
    return 1 + max((int(match[2]) for match in map(_STEM.fullmatch, stems) if match), default=0)


def reserve_control(collection: Collection, name: str) -> int:
    """Take the next number for a control of the set `name`, and write that into the card."""
    check_locked(collection.folder)
    number = next_control(collection)
    entry = {"name": name, "control": number, "verdict": None}
    update_card_entry(collection, "control", control_file(collection, name, number).stem, entry)
    return number


def verdicts_of(collection: Collection, name: str) -> list[str]:
    """What came of each control of a set that was not stopped early, in their order."""
    entries = card_section(read_card(collection), "control")
    by_number = dict[int, str]()
    for stem, made in entries.items():
        match = _STEM.fullmatch(stem)
        verdict = made.get("verdict") if isinstance(made, dict) else None
        if match and match[1] == name and isinstance(verdict, str):
            by_number[int(match[2])] = verdict
    return [by_number[number] for number in sorted(by_number)]


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
