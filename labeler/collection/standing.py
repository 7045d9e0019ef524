"""What was computed of a collection's pool and is shown again, as long as nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.layout import Collection
from labeler.collection.lock import Note, locked
from labeler.errors import FileProblem
from labeler.files.cache import sha256_of
from labeler.report.finding import Finding

SECTIONS = ("missed", "reuse")
_MOST, _LONGEST = 20, 400


def keep_standing(
    collection: Collection,
    section: str,
    qrels: str,
    findings: Sequence[Finding],
    note: Note = lambda _line: None,
) -> None:
    """Write into the card what was found by a set of qrels; a folder that is only read stays so."""
    rows = [{"level": finding.level, "text": finding.text} for finding in findings]
    try:
        with locked(collection, note):
            entry = {**_state(collection, qrels), "said": rows}
            update_card_entry(collection, section, qrels, entry)
    except FileProblem as error:
        note(f"not kept for status and evaluate: {error}")


def standing(collection: Collection, qrels: str) -> Iterator[Finding]:
    """What was found by a set of qrels, where the pool, the qrels and the runs are as they were."""
    card = read_card(collection)
    entries = [card_section(card_section(card, section), qrels) for section in SECTIONS]
    if not any(entries) or not collection.qrels(qrels).is_file():
        return
    state = _state(collection, qrels)
    for entry in entries:
        if entry and all(entry.get(name) == value for name, value in state.items()):
            yield from _findings_in(entry)


def _findings_in(entry: Mapping[str, Any]) -> Iterator[Finding]:
    listed = entry.get("said")
    for row in listed[:_MOST] if isinstance(listed, list) else []:
        text = row.get("text") if isinstance(row, dict) else None
        if isinstance(text, str):
            is_warning = row.get("level") == "warning"
            yield Finding(text[:_LONGEST], level="warning" if is_warning else "note")


def _state(collection: Collection, qrels: str) -> dict[str, Any]:
    """What such findings rest on."""
    pool = collection.pool
    return {
        "qrels": sha256_of(collection.qrels(qrels)),
        "pool": sha256_of(pool) if pool.is_file() else "",
        "runs": list(collection.run_names()),
    }
