"""Plain text: paragraphs between blank lines, as they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from labeler.corpus.blocks import Block

_PART = 1 << 16


def read_plaintext(text: str) -> tuple[str, list[Block]]:
    """An empty title and the text's paragraphs."""
    blocks: list[Block] = []
    paragraph: list[str] = []
    for number, ended in enumerate(chain(_lines(text), [""]), start=1):
        line = ended.removesuffix("\r")
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            blocks.append(Block("\n".join(paragraph), (), number - len(paragraph)))
            paragraph = []
    return "", blocks


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, as `split` has them, of which a part is held at a time."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + _PART)
        end = len(text) if end < 0 else end
        yield from text[start:end].split("\n")
        start = end + 1
