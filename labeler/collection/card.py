"""`card.json`: what made each part of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked
from labeler.files.atomic import replacing
from labeler.files.boundary import reading
from labeler.files.read import check_regular, file_problems


def read_card(collection: Collection) -> dict[str, Any]:
    """The card, empty where there is none yet."""
    if not collection.card.exists():
        return {}
    check_regular(collection.card)
    with file_problems(collection.card), reading(collection.card) as position:
        card = json.loads(collection.card.read_bytes().decode("utf-8"))
        if not isinstance(card, dict):
            raise position.error("expected a JSON object")
        json.dumps(card, ensure_ascii=False).encode()  # half a surrogate pair cannot be kept
    return card


def card_section(card: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of a card, or of a section; empty where none is, or where somebody put something
    else.
    """
    section = card.get(name)
    return section if isinstance(section, dict) else {}


def update_card(collection: Collection, section: str, entry: Mapping[str, Any]) -> None:
    """Write `entry` as the card's `section`, beside what else stands there.

    The collection must be locked, here as in every function that writes one of its files.
    """
    check_locked(collection.folder)
    card = {**read_card(collection), section: dict(entry)}
    with replacing(collection.card) as out:
        json.dump(card, out, ensure_ascii=False, indent=2)
        out.write("\n")


def update_card_entry(
    collection: Collection, section: str, name: str, entry: Mapping[str, Any]
) -> None:
    """Write `entry` under a name into a section of the card, beside the section's others."""
    entries = card_section(read_card(collection), section)
    update_card(collection, section, {**entries, name: dict(entry)})
