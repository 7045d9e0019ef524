"""`card.json`: what made each part of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from labeler.collection.layout import Collection
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.files.read import file_problems


def read_card(collection: Collection) -> dict[str, Any]:
    """The card, empty where there is none yet."""
    if not collection.card.exists():
        return {}
    with file_problems(collection.card):
        text = collection.card.read_text(encoding="utf-8")
    try:
        card = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{collection.card}: not JSON: {error}") from error
    if not isinstance(card, dict):
        raise BadInput(f"{collection.card}: expected a JSON object")
    return card


def card_section(card: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of a card, or of a section; empty where none is, or where somebody put something
    else.
    """
    section = card.get(name)
    return section if isinstance(section, dict) else {}


def update_card(collection: Collection, section: str, entry: Mapping[str, Any]) -> None:
    """Write `entry` as the card's `section`, beside what else stands there."""
    card = {**read_card(collection), section: dict(entry)}
    with replacing(collection.card) as out:
        json.dump(card, out, ensure_ascii=False, indent=2)
        out.write("\n")
