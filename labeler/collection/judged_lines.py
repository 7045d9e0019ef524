"""Lines of judgements as they are written here, found as columns in a block of text at once.

A line is plain where its members stand in the order in which they are written, with nothing unusual
in between. Every other line is left to the reader of JSON, which knows what to say of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.files.boundary import LARGEST_COUNT
from labeler.trec.columns import Bytes, Fields, numbers

COUNTS = ("attempts", "prompt_tokens", "completion_tokens")

_PADDING = bytes(64)
_NEWLINE, _QUOTE, _BACKSLASH, _ZERO, _BRACE, _SPACE = b'\n"\\0} '
_SHORT_ESCAPE = np.zeros(256, dtype=np.bool_)
_SHORT_ESCAPE[list(b'"/bfnrt')] = True


class Span(NamedTuple):
    """Where a part of each line starts and ends, each `(lines,)`."""

    start: Integers
    end: Integers


@dataclass(frozen=True)
class PlainLines:
    """The plain lines of a block: their indices among its lines, and where their parts stand.

    `state` is the grade with the status, up to the reason, which is JSON as it stands; `made_of`
    holds the members between reason and attempts, `rest` those after what was shown.
    """

    block: bytes
    index: Integers
    spans: dict[str, Span]

    def texts(self, name: str) -> list[bytes]:
        """A part of each line."""
        start, end = self.spans[name]
        return list(map(self.block.__getitem__, map(slice, start.tolist(), end.tolist())))

    def keep(self, mask: Flags) -> PlainLines:
        """Some of the lines."""
        if mask.all():
            return self
        spans = {name: Span(s.start[mask], s.end[mask]) for name, s in self.spans.items()}
        return PlainLines(self.block, self.index[mask], spans)

    @cached_property
    def counts(self) -> Integers:
        """Replies, prompt tokens and completion tokens, `(lines, 3)`; -1 of what is no count."""
        text = np.frombuffer(self.block + _PADDING, dtype=np.uint8)
        starts, ends = (np.stack(e, axis=1) for e in zip(*map(self.spans.get, COUNTS), strict=True))
        part, columns = Fields(text, starts, ends, 1), []
        for column in range(len(COUNTS)):
            read, start = numbers(part, column), starts[:, column]
            odd = read.odd | read.pointed | (text[start] < _ZERO) | (read.value > LARGEST_COUNT)
            odd |= (text[start] == _ZERO) & (ends[:, column] - start > 1)
            columns.append(np.where(odd, -1, read.value))
        return np.stack(columns, axis=1)


def plain_lines(block: bytes) -> PlainLines:
    """The plain lines of some whole lines."""
    walk = _Walk(block)
    spans = {}
    walk.over(b'{"query_id": "')
    spans["query_id"] = walk.text()
    walk.over(b'", "doc_id": "')
    spans["doc_id"] = walk.text()
    walk.over(b'", ')
    state = walk.at
    walk.over(b'"grade": ')
    walk.number()
    walk.over(b', "status": "')
    walk.text()
    walk.over(b'", "')
    walk.text()
    walk.over(b'": ')
    spans["state"] = Span(state, walk.at)
    spans["reason"] = walk.text_or_null()
    spans["made_of"] = walk.up_to(b', "attempts": ')
    for name, following in zip(COUNTS, (*COUNTS[1:], "cost"), strict=True):
        spans[name] = walk.number()
        walk.over(f', "{following}": '.encode())
    spans["cost"] = walk.number()
    walk.over(b', "model": "')
    spans["model"] = walk.text()
    spans["shown"] = walk.text_after(b'", "shown": "')
    shown = walk.at
    walk.over(b'", ')
    spans["rest"] = Span(walk.at, walk.end - 1)
    return _checked(walk, spans, shown)


def _checked(walk: _Walk, spans: dict[str, Span], shown: Integers) -> PlainLines:
    """Without the lines that a reader of JSON would not take, or would read otherwise."""
    is_plain: Flags = walk.is_plain
    is_plain &= walk.text_of_block[walk.end - 1] == _BRACE
    for name in ("query_id", "doc_id", *COUNTS, "cost", "rest"):
        is_plain &= spans[name].start < spans[name].end
    # in ids, in the model and in what was shown nothing is escaped; elsewhere JSON is read later
    line, reason = walk.line_of_escape, spans["reason"]
    escape = walk.escapes
    in_reason = (escape >= reason.start[line]) & (escape < reason.end[line])
    outside = (escape < shown[line]) & ~in_reason
    is_plain[line[outside | walk.is_odd_escape]] = False
    lines = PlainLines(walk.block, np.arange(len(walk.end)), spans).keep(is_plain)
    return lines.keep(np.asarray((lines.counts >= 0).all(axis=1))) if len(lines.index) else lines


class _Walk:
    """A place in each line of a block, that goes over what is to stand next in all lines at once.

    `at`, `(lines,)`, are the places, and `quote` how many quotes of the block stand before each;
    escaped ones are none. `is_plain` says in which lines everything stood there so far.
    """

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.text_of_block: Bytes = np.frombuffer(block + 4 * _PADDING, dtype=np.uint8)
        inside = self.text_of_block[: len(block)]
        self.end = np.flatnonzero(inside == _NEWLINE)
        self.at = np.append(0, self.end[:-1] + 1)[: len(self.end)]
        self.escapes = np.flatnonzero(inside == _BACKSLASH)
        is_quote = inside == _QUOTE
        is_quote[self.escapes + 1] = False
        self.quotes = np.append(np.flatnonzero(is_quote), [len(block)] * len(_PADDING))
        self.quote = np.searchsorted(self.quotes, self.at)
        self.is_odd_escape = ~_SHORT_ESCAPE[inside[self.escapes + 1]]
        self.line_of_escape = np.searchsorted(self.end, self.escapes)
        is_text = _is_utf8(block) and np.count_nonzero(inside < _SPACE) == len(self.end)
        self.is_plain: Flags = np.full(len(self.end), is_text)
        # the eight bytes from each place on as one number
        places = (len(self.text_of_block) - 7,)
        self._view = np.ndarray(places, dtype="<u8", buffer=self.text_of_block, strides=(1,))

    def stands(self, literal: bytes) -> Flags:
        """In which lines a literal stands next."""
        at = np.minimum(self.at, len(self.block))
        has_it = np.ones(len(at), dtype=np.bool_)
        for offset in range(0, len(literal), 8):
            eight = literal[offset : offset + 8]
            mask = np.uint64((1 << 8 * len(eight)) - 1)
            has_it &= self._view[at + offset] & mask == int.from_bytes(eight, "little")
        return has_it

    def over(self, literal: bytes) -> None:
        """Go over a literal."""
        self.is_plain &= self.stands(literal)
        self.at = self.at + len(literal)
        self.quote = self.quote + literal.count(b'"')

    def text(self) -> Span:
        """Go to the next quote; what stands before it."""
        start, self.at = self.at, self.quotes[np.minimum(self.quote, len(self.quotes) - 1)]
        return Span(start, self.at)

    def number(self) -> Span:
        """Go to the comma before the next quote; what stands before it."""
        start, end = self.text()
        self.at = end - 2
        return Span(start, self.at)

    def text_or_null(self) -> Span:
        """Go over a text in quotes, or a null."""
        start, is_text = self.at, self.stands(b'"')
        self.is_plain &= is_text | self.stands(b"null")
        self.quote = self.quote + is_text
        end = self.text().end
        self.quote = self.quote + is_text
        self.at = np.where(is_text, end + 1, start + len(b"null"))
        return Span(start, self.at)

    def text_after(self, literal: bytes) -> Span:
        """Go over a literal and to the next quote where it stands next; an empty text elsewhere."""
        has_it, at, quote = self.stands(literal), self.at, self.quote
        self.at, self.quote = at + len(literal), quote + literal.count(b'"')
        start, end = self.text()
        self.at, self.quote = np.where(has_it, end, at), np.where(has_it, self.quote, quote)
        return Span(np.where(has_it, start, at), self.at)

    def up_to(self, literal: bytes) -> Span:
        """Go behind a literal that stands next, or later in the line; what stands before it."""
        start, end = self.at, self.at.copy()
        for line in np.flatnonzero(self.is_plain & ~self.stands(literal)).tolist():
            end[line] = self.block.find(literal, end[line], self.end[line])
            self.is_plain[line] = end[line] >= 0
        moved = end != start
        self.quote[moved] = np.searchsorted(self.quotes, end[moved])
        self.at = end
        self.over(literal)
        return Span(start, end)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
