"""Plain text: paragraphs between blank lines, as they are."""

from __future__ import annotations

from labeler.corpus.chunk import Block


def read_plaintext(text: str) -> tuple[str, list[Block]]:
    """An empty title and the text's paragraphs."""
    blocks: list[Block] = []
    paragraph: list[str] = []
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            blocks.append(Block("\n".join(paragraph), (), number - len(paragraph)))
            paragraph = []
    return "", blocks
