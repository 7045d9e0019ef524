"""Lines of judgements as they are written here, taken apart a block of text at a time.

Their members stand in the order in which they are written, with nothing unusual in between. Any
other block is left to the reader of JSON, which knows what to say of its lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.trec.columns import Bytes, Fields, Irregular, integers

COUNTS = ("attempts", "prompt_tokens", "completion_tokens")

_PADDING = bytes(256)
_NEWLINE, _QUOTE, _BACKSLASH, _ZERO, _BRACE, _SPACE = b'\n"\\0} '
_SHORT_ESCAPE = np.zeros(256, dtype=np.bool_)
_SHORT_ESCAPE[list(b'"\\/bfnrt')] = True


class Span(NamedTuple):
    """Where a part of each line starts and ends, each `(lines,)`."""

    start: Integers
    end: Integers


def parts_of(block: bytes) -> dict[str, list[Any]]:
    """The parts of each of some whole lines by name; `Irregular` where one is laid out otherwise.

    `state` is the grade with the status and the key of the reason, `made_of` what stands between
    reason and attempts, `rest` what stands behind the hash of what was shown. All but `counts` are
    text as it stands; nothing is escaped in ids, in the model and in what was shown.
    """
    walk, spans = _Walk(block), dict[str, Span]()
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
    counts = []
    for following in (*COUNTS[1:], "cost"):
        counts.append(walk.number())
        walk.over(f', "{following}": '.encode())
    spans["cost"] = walk.number()
    walk.over(b', "model": "')
    spans["model"] = walk.text()
    spans["shown"] = walk.text_after(b'", "shown": "')
    walk.refuse_escapes(spans["reason"], walk.at)
    walk.over(b'", ')
    spans["rest"] = Span(walk.at, walk.end - 1)
    if (walk.read[walk.end - 1] != _BRACE).any():
        raise Irregular
    parts: dict[str, list[Any]] = {name: _texts(block, span) for name, span in spans.items()}
    return parts | {"counts": _counts(walk.read, counts)}


def _texts(block: bytes, span: Span) -> list[bytes]:
    return list(map(block.__getitem__, map(slice, span.start.tolist(), span.end.tolist())))


def _counts(text: Bytes, spans: list[Span]) -> list[tuple[int, ...]]:
    """Numbers as JSON has them, from 0, a tuple a line."""
    starts, ends = (np.stack(edges, axis=1) for edges in zip(*spans, strict=True))
    first = text[starts]
    if ((ends <= starts) | (first < _ZERO) | (first == _ZERO) & (ends - starts > 1)).any():
        raise Irregular
    part = Fields(text, starts, ends, 1)
    columns = [integers(part, column).tolist() for column in range(len(spans))]
    return list(zip(*columns, strict=True))


class _Walk:
    """A place in each line of a block, that goes over what is to stand next in all lines at once.

    `at`, `(lines,)`, are the places, and `quote` how many quotes of the block stand before each;
    escaped ones are none. `end` are the lines' ends. `Irregular` is raised where in any line
    something else stands.
    """

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.read: Bytes = np.frombuffer(block + _PADDING, dtype=np.uint8)
        inside = self.read[: len(block)]
        self.end = np.flatnonzero(inside == _NEWLINE)
        self.at = np.append(0, self.end[:-1] + 1)
        self.escapes = _escapes(np.flatnonzero(inside == _BACKSLASH))
        is_quote = inside == _QUOTE
        is_quote[self.escapes + 1] = False
        self.quotes = np.append(np.flatnonzero(is_quote), [len(block)] * 64)
        self.quote = np.searchsorted(self.quotes, self.at)
        is_short = _SHORT_ESCAPE[inside[self.escapes + 1]].all()
        if not is_short or np.count_nonzero(inside < _SPACE) > len(self.end) or not _is_utf8(block):
            raise Irregular
        # the eight bytes from each place on as one number
        places = (len(self.read) - 7,)
        self._eights = np.ndarray(places, dtype="<u8", buffer=self.read, strides=(1,))

    def stands(self, literal: bytes) -> Flags:
        """In which lines a literal stands next."""
        has_it = np.ones(len(self.at), dtype=np.bool_)
        for offset in range(0, len(literal), 8):
            eight = literal[offset : offset + 8]
            mask = np.uint64((1 << 8 * len(eight)) - 1)
            has_it &= self._eights[self.at + offset] & mask == int.from_bytes(eight, "little")
        return has_it

    def over(self, literal: bytes) -> None:
        """Go over a literal."""
        if not self.stands(literal).all():
            raise Irregular
        self.at = self.at + len(literal)
        self.quote = self.quote + literal.count(b'"')

    def text(self) -> Span:
        """Go to the next quote; what stands before it."""
        start, self.at = self.at, self.quotes[self.quote]
        return Span(start, self.at)

    def number(self) -> Span:
        """Go to the comma before the next quote; what stands before it."""
        start, end = self.text()
        self.at = end - 2
        return Span(start, self.at)

    def text_or_null(self) -> Span:
        """Go over a text in quotes, or a null."""
        start, is_text = self.at, self.stands(b'"')
        if not (is_text | self.stands(b"null")).all():
            raise Irregular
        closing = self.quotes[self.quote + is_text]
        self.quote = self.quote + 2 * is_text
        self.at = np.where(is_text, closing + 1, start + len(b"null"))
        return Span(start, self.at)

    def text_after(self, literal: bytes) -> Span:
        """Go over a literal and to the next quote where it stands next; an empty text elsewhere."""
        has_it, at = self.stands(literal), self.at
        self.quote = self.quote + has_it * literal.count(b'"')
        self.at = np.where(has_it, self.quotes[self.quote], at)
        return Span(np.where(has_it, at + len(literal), at), self.at)

    def up_to(self, literal: bytes) -> Span:
        """Go behind a literal that stands next, or later in the line; what stands before it."""
        start, end = self.at, self.at.copy()
        for line in np.flatnonzero(~self.stands(literal)).tolist():
            end[line] = self.block.find(literal, end[line], self.end[line])
        self.at = end
        self.quote = np.searchsorted(self.quotes, end)
        self.over(literal)
        return Span(start, end)

    def refuse_escapes(self, but_in: Span, before: Integers) -> None:
        """`Irregular` where anything is escaped before a place of its line, but in one part."""
        line = np.searchsorted(self.end, self.escapes)
        is_before = (self.escapes < before[line]) & (self.escapes >= but_in.end[line])
        if (is_before | (self.escapes < but_in.start[line])).any():
            raise Irregular


def _escapes(backslashes: Integers) -> Integers:
    """Those of some backslashes that are not escaped themselves: each other one of a row."""
    at = np.arange(len(backslashes))
    is_first = np.diff(backslashes, prepend=-2) != 1
    of_row = at - np.maximum.accumulate(np.where(is_first, at, 0))
    return np.asarray(backslashes[of_row % 2 == 0])


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
