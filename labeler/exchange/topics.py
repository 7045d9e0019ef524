"""TREC topics, with tags that are closed or not, and as XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeler.errors import BadInput

_TOPIC_TAG = re.compile(r"<(/?)([A-Za-z_][\w-]{0,40})((?:\s[^<>]*)?)/?>")
_NUMBER = re.compile(r"""\b(?:number|num|id|qid)\s*=\s*["']([^"']*)["']""")
_TOPIC = ("top", "topic")
_IDS = ("num", "number", "id", "qid")
_TEXTS = ("title", "query", "question", "text")
_MORE = {
    "desc": "description",
    "description": "description",
    "question": "description",
    "narr": "narrative",
    "narrative": "narrative",
}
_LABELLED = re.compile(r"(?:Number|Topic|Description|Narrative|Domain)\s*:", re.IGNORECASE)


def topics(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The topics of a file, as rows with `_id`, `text`, `description` and `narrative`."""
    fields: dict[str, str] = {}
    line, end, open_tag, at = 1, 0, "", 0
    inside = False
    for tag in _TOPIC_TAG.finditer(text):
        if inside and open_tag:
            fields[open_tag] = fields.get(open_tag, "") + text[end : tag.start()]
        end, open_tag = tag.end(), ""
        name, closes = tag[2].casefold(), tag[1] == "/"
        if name not in _TOPIC:
            open_tag = "" if closes else name
            continue
        if inside and any(value.strip() for value in fields.values()):
            yield line, _row(path, line, fields)
        fields, inside = {}, not closes
        if inside:
            line += text.count("\n", at, tag.start())
            at, open_tag = tag.start(), "text"
            if number := _NUMBER.search(tag[3]):
                fields["num"] = number[1]
    if inside and any(value.strip() for value in fields.values()):
        raise BadInput.at(path, line, "a topic that is not closed with </top> or </topic>")


def _row(path: Path, line: int, fields: dict[str, str]) -> dict[str, Any]:
    plain = {name: _plain(value) for name, value in fields.items()}
    ids = [plain[name] for name in _IDS if plain.get(name)]
    texts = [name for name in _TEXTS if plain.get(name)]
    if not ids or not texts:
        missing = "a number (<num>)" if not ids else "a title or query (<title>, <query>)"
        raise BadInput.at(path, line, f"a topic without {missing}")
    row = {"_id": ids[0], "text": plain[texts[0]]}
    for name, meaning in _MORE.items():
        if plain.get(name) and name != texts[0]:
            row.setdefault(meaning, plain[name])
    return row


def _plain(value: str) -> str:
    """A field's text without the word that old topics begin it with."""
    text = " ".join(html.unescape(value).split())
    label = _LABELLED.match(text)
    return text[label.end() :].strip() if label else text
