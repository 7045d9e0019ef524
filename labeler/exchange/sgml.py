"""Collections of documents as TREC's disks have them: SGML, with many documents in a file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from labeler.errors import BadInput
from labeler.exchange.tables import Rows
from labeler.files.jsonl import NumberedRow
from labeler.files.read import numbered_lines
from labeler.messages import squeezed

_SGML_ID = re.compile(r"<DOCNO>([^<]+)</DOCNO>", re.I)
_SGML_TITLE = re.compile(r"<(?:TITLE|HEADLINE|HEAD|TTL|TI)>([^<]*)</[A-Z]+>", re.I)
_SGML_TAG = re.compile(r"<[^<>]*>")
_LONGEST = 1 << 24
"""Characters; a document that does not end before is taken for damage."""


def rows_of_sgml(path: Path) -> Rows:
    """The documents of a file, with their ids, first titles, and texts without tags."""
    return Rows(path, "TREC's documents", ("_id", "title", "text"), _rows(path))


def _rows(path: Path) -> Iterator[NumberedRow]:
    lines = list[str]()
    first = 0
    length = 0
    for number, line in numbered_lines(path):
        opens = line.strip().upper() == "<DOC>"
        if opens and lines:
            raise BadInput.at(path, number, f"the document of line {first} has no </DOC>")
        first = number if opens else first
        if opens or lines:
            lines.append(line)
            length += len(line)
        if length > _LONGEST:
            raise BadInput.at(path, first, "a document without </DOC>, or a very long one")
        if lines and line.strip().upper().endswith("</DOC>"):
            yield first, _row(path, first, "\n".join(lines))
            lines = []
            length = 0
    if lines:
        raise BadInput.at(path, first, "the document has no </DOC>")


def _row(path: Path, first: int, markup: str) -> dict[str, str]:
    named = _SGML_ID.search(markup)
    if named is None:
        raise BadInput.at(path, first, "a document without <DOCNO>")
    title = _SGML_TITLE.search(markup)
    return {
        "_id": named[1].strip(),
        "title": _plain(title[1]) if title else "",
        "text": _plain(_SGML_ID.sub("", _SGML_TITLE.sub("", markup, count=1), count=1)),
    }


def _plain(markup: str) -> str:
    """Text without tags and character references, each paragraph in a line."""
    text = html.unescape(_SGML_TAG.sub(" ", markup))
    return "\n".join(filter(None, map(squeezed, text.split("\n"))))
