"""What the readers of markup share: numbered lines, and blocks under headings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from labeler.corpus.blocks import Block

Lines = list[tuple[int, str]]
"""Lines with their numbers in the file, which stay as they are when a nested part is read."""

DEEPEST = 20
"""Levels of nesting that are followed; what lies deeper is read as plain paragraphs."""

_LONGEST_PATH = 2000
"""The most characters of the headings above a block, which stand in the title of each passage."""

_ITEM = re.compile(r" *(?:[-*+•]|\(?(?:\d{1,9}|#|[A-Za-z])[.)]) ")


def lines_of(text: str) -> Lines:
    """The lines of a text, tabs expanded to multiples of four.

    Only newlines end a line; a carriage return before one goes with it.
    """
    return [
        (number, line.removesuffix("\r").expandtabs(4))
        for number, line in enumerate(text.split("\n"), start=1)
    ]


def line_at(lines: Lines, position: int) -> str:
    """The line there, without the white space at its end; "" after the last."""
    return lines[position][1].rstrip() if position < len(lines) else ""


def indentation(line: str) -> int:
    """How many spaces a line begins with."""
    return len(line) - len(line.lstrip(" "))


def dedented(lines: Lines) -> Lines:
    """The lines without the indentation that all of them share, and no blank ones at the ends."""
    lines = trimmed(lines)
    shared = min((indentation(line) for _, line in lines if line.strip(" ")), default=0)
    return [(number, line[shared:]) for number, line in lines]


def trimmed(lines: Lines) -> Lines:
    """The lines without blank ones at either end."""
    first, last = 0, len(lines)
    while first < last and not lines[first][1].strip():
        first += 1
    while first < last and not lines[last - 1][1].strip():
        last -= 1
    return lines[first:last]


def indented_block(lines: Lines, start: int, least: int) -> int:
    """Where the block ends that begins at `start` and is indented by `least` spaces or is blank."""
    end = start
    while end < len(lines) and (not lines[end][1].strip() or indentation(lines[end][1]) >= least):
        end += 1
    return end


def inside_item(block: Block) -> Block:
    """Return a block of a list's item, indented if it is an item itself."""
    nested = not block.code and _ITEM.match(block.text)
    return replace(block, text=f"  {block.text}") if nested else block


@dataclass
class Outline:
    """The blocks found so far and the headings above the next one.

    `above` are headings of what this outline is nested in; `levels` the level and text of each of
    its own that are open.
    """

    blocks: list[Block] = field(default_factory=list)
    above: tuple[str, ...] = ()
    levels: list[tuple[int, str]] = field(default_factory=list)

    @property
    def path(self) -> tuple[str, ...]:
        """The headings above the next block."""
        return (*self.above, *(text for _, text in self.levels))

    def nested(self) -> Outline:
        """An outline into the same blocks, whose headings end with it."""
        return Outline(self.blocks, self.path)

    def heading(self, level: int, text: str, line: int) -> None:
        """Open a heading, which closes those of its level and below.

        One that is as long as a text is a paragraph: each passage below it would repeat it.
        """
        self.levels = [(number, above) for number, above in self.levels if number < level]
        if len(text) + sum(map(len, self.path)) > _LONGEST_PATH:
            self.prose(text, line, leads=True)
        elif text:
            self.levels.append((level, text))
            self.blocks.append(Block("", self.path, line))

    def prose(self, text: str, line: int, *, tight: bool = False, leads: bool = False) -> None:
        """Add a paragraph, list item or row, unless it is empty."""
        if text.strip():
            self.blocks.append(Block(text.strip("\n"), self.path, line, tight=tight, leads=leads))

    def code(self, lines: Lines, language: str = "") -> None:
        """Add a code block between fences, unless it is empty."""
        lines = trimmed(lines)
        if lines:
            body = "\n".join(line for _, line in lines)
            longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
            fence = "`" * max(3, longest + 1)
            text = f"{fence}{language}\n{body}\n{fence}"
            self.blocks.append(Block(text, self.path, lines[0][0], code=True))
