"""Where in its source text each passage stands, in characters.

`text[start:end]` holds all words of the passage that the source has. Of plain text these are its
only words; of markup, what the markup adds (the address of a link) stands between them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from labeler.corpus.blocks import Block, Passage, Place

_NEWLINE, _ANY_END = re.compile(r"\n"), re.compile(r"\r\n?|\n")
_TOKEN = re.compile(r"\S+")
_FENCE = ("```", "~~~", ":::", ".. ", "{{<", "<")
_LONGEST = 1 << 23
"""A block of markup of more characters is not searched for its parts: each has all of its span."""


class Spans:
    """Finds the spans of a document's passages in the text that its blocks were read from.

    `any_line_end` says that the blocks count lines that a carriage return alone ends, too.
    """

    def __init__(self, text: str, blocks: Sequence[Block], *, any_line_end: bool = False) -> None:
        self.text, self.blocks = text, blocks
        ends = (_ANY_END if any_line_end else _NEWLINE).finditer(text)
        self._starts = array("q", [0, *(match.end() for match in ends)])
        self._lines = sorted({block.line for block in blocks})
        self._cut_block, self._parts = -1, _whole(0, 0)

    def of(self, passage: Passage) -> tuple[int, int]:
        """Where a passage begins and ends."""
        start = self._start_of(self._first_place(passage))
        end = self._end_of(passage.end)
        return start, max(start, end)

    def _first_place(self, passage: Passage) -> Place:
        """Where a passage begins: at a heading, where the first words of its text are one."""
        number, offset = passage.start
        above = len(passage.headings)
        while not offset and number and not self.blocks[number - 1].text:
            if len(self.blocks[number - 1].headings) <= above:
                break
            number -= 1
        return number, offset

    def _region(self, number: int) -> tuple[int, int]:
        """A block's own lines: up to the next block that begins below it."""
        line = self.blocks[number].line
        following = bisect_right(self._lines, line)
        last = self._lines[following] if following < len(self._lines) else len(self._starts) + 1
        return self._offset(line), self._offset(last)

    def _offset(self, line: int) -> int:
        return self._starts[line - 1] if 0 < line <= len(self._starts) else len(self.text)

    def _start_of(self, position: Place) -> int:
        number, offset = position
        begin, end = self._region(number)
        if offset:
            return self._parts_of(number)(offset)[0]
        if self.blocks[number].code:
            begin = self._with_fence(number, begin)
        while begin < end and self.text[begin].isspace():
            begin += 1
        return begin

    def _end_of(self, position: Place) -> int:
        number, offset = position
        begin, end = self._region(number)
        if offset < len(self.blocks[number].text):
            return self._parts_of(number)(offset - 1)[1] + 1
        while end > begin and self.text[end - 1].isspace():
            end -= 1
        return end

    def _with_fence(self, number: int, begin: int) -> int:
        """Where the line above a block of code begins, if it opens the block."""
        above = self.blocks[number].line - 1
        first = self._offset(above) if above else begin
        opens = self.text[first:begin].lstrip().startswith(_FENCE)
        return first if opens else begin

    def _parts_of(self, number: int) -> _Parts:
        """The function from an offset in a block that was cut to the source's; that of the last
        block is kept, since its passages come one after another.
        """
        if number != self._cut_block:
            self._cut_block, block = number, self.blocks[number]
            self._parts = _parts(block.text, self.text, *self._region(number))
        return self._parts


_Parts = Callable[[int], tuple[int, int]]
"""From an offset in a block's text to the first and the last place where that may stand."""


def _parts(part: str, text: str, begin: int, end: int) -> _Parts:
    at = text.find(part, begin, end)
    if at >= 0:
        return lambda offset: (at + offset, at + offset)
    if end - begin > _LONGEST or _squeezed(part) == _squeezed(text[begin:end]):
        return _token_by_token(part, text, begin, end)
    first = _embedded(part, text, begin, end)
    last = _embedded(part[::-1], text[begin:end][::-1], 0, end - begin)
    if first is None or last is None:
        return _whole(begin, end)
    return lambda offset: (first[offset], end - 1 - last[len(part) - 1 - offset])


def _whole(begin: int, end: int) -> _Parts:
    return lambda _offset: (begin, max(begin, end - 1))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _token_by_token(part: str, text: str, begin: int, end: int) -> _Parts:
    """Both have the same tokens, and other white space; offsets are asked for in their order."""
    pairs = _pairs(part, text, begin, end)
    before = here = (0, 0, begin)

    def at(offset: int) -> tuple[int, int]:
        nonlocal before, here
        while offset >= here[1]:
            before = here
            following = next(pairs, None)
            if following is None:
                return begin, max(begin, end - 1)
            here = following
        first, last, source = here
        if first <= offset < last:
            return source + offset - first, source + offset - first
        return (before[2], max(begin, end - 1))

    return at


def _pairs(part: str, text: str, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Of each token where it begins and ends in the part, and where it begins in the source."""
    source = _TOKEN.finditer(text, begin, end)
    for mine, theirs in zip(_TOKEN.finditer(part), source, strict=False):
        if mine[0] != theirs[0]:
            return
        yield mine.start(), mine.end(), theirs.start()


def _embedded(part: str, text: str, begin: int, end: int) -> array[int] | None:
    """The leftmost place of each character where all of them stand in their order; else `None`."""
    places = array("q", bytes(8 * len(part)))
    at = begin - 1
    for offset, character in enumerate(part):
        if not character.isspace():
            at = text.find(character, at + 1, end)
            if at < 0:
                return None
        places[offset] = max(at, begin)
    return places
