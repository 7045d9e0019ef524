"""The text of a file that is no text itself, with its blocks at the lines where they stand in it.

Passages of such a file have their spans in this text, which the same reader gives again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from labeler.corpus.blocks import Block

PAGE = "\f"
"""What stands between the pages of an extracted text."""


@dataclass(frozen=True)
class Extracted:
    """What a reader took out of a file: its title, the text, and the blocks that stand in it.

    `paged` texts have a form feed between pages; `note` says what of the file could not be read.
    """

    title: str
    text: str
    blocks: list[Block]
    paged: bool = False
    note: str = ""


def extracted(title: str, blocks: Iterable[Block]) -> Extracted:
    """The text that blocks make one after another, headings on lines of their own."""
    parts: list[str] = []
    placed: list[Block] = []
    line = 1
    for block in blocks:
        shown = block.text or (block.headings[-1] if block.headings else "")
        gap = ("\n" if block.tight else "\n\n") if parts else ""
        line += len(gap)
        placed.append(replace(block, line=line))
        parts += [gap, shown]
        line += shown.count("\n")
    return Extracted(title, "".join(parts), placed)
