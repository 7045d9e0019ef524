"""The pieces that passages are put together from: blocks, or the sentences of long ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from labeler.corpus.blocks import Block, Lengths, Place
from labeler.text.sentences import count_words, short_stretches


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that is never cut, its number of words, and the white space that stands before it."""

    text: str
    words: int
    gap: str
    line: int
    code: bool
    start: Place
    end: Place


Sized = tuple[int, Block, Piece | None]
"""A block's position and the block, and the piece that it is; `None` of one that is cut."""


def sized(position: int, block: Block, lengths: Lengths) -> Sized:
    """A block, and the piece that it is unless it is too long for one."""
    words = count_words(block.text)
    if words > lengths.most and not block.code:
        return position, block, None
    end = (position, len(block.text))
    piece = Piece(block.text, words, _gap(block), block.line, block.code, (position, 0), end)
    return position, block, piece


def _gap(block: Block) -> str:
    return "\n" if block.tight else "\n\n"


def _units(blocks: Iterable[Sized], lengths: Lengths) -> Iterator[list[Piece]]:
    """Yield lists of pieces that stay together: mostly one, or a lead and what it leads up to."""
    waiting: list[Piece] = []
    for position, block, whole in blocks:
        head, rest = _head(_cut(position, block, lengths) if whole is None else iter((whole,)))
        if waiting and not _stay_together(waiting, head, lengths):
            yield waiting
            waiting = []
        unit = [*waiting, head]
        waiting = []
        for piece in rest:
            yield unit
            unit = [piece]
        if not block.code and (block.leads or block.text.rstrip().endswith((":", "："))):
            waiting = unit
        else:
            yield unit
    if waiting:
        yield waiting


def _head(pieces: Iterator[Piece]) -> tuple[Piece, Iterator[Piece]]:
    return next(pieces), pieces


def _stay_together(lead: Sequence[Piece], piece: Piece, lengths: Lengths) -> bool:
    words = _total(lead)
    return words + piece.words <= lengths.most or (piece.code and words <= 2 * lengths.few)


def _cut(number: int, block: Block, lengths: Lengths) -> Iterator[Piece]:
    """The sentences of a block that is too long for one passage, or the words of long ones."""
    gap = _gap(block)
    position, line = 0, block.line
    for start, end in short_stretches(block.text, lengths.most):
        before = block.text[position:start] if position else gap
        line += block.text.count("\n", position, start)
        stretch = block.text[start:end]
        words = count_words(stretch)
        yield Piece(stretch, words, before, line, False, (number, start), (number, end))
        line += stretch.count("\n")
        position = end


def packed(blocks: Sequence[Sized], lengths: Lengths) -> list[list[Piece]]:
    """Distribute a section's units over passages; a unit that is too long is a passage itself.

    The units are gone through twice rather than held: a long text has millions.
    """
    totals = [sum(map(_total, units)) for _, units in _by_length(blocks, lengths)]
    groups: list[list[Piece]] = []
    for total, (too_long, units) in zip(totals, _by_length(blocks, lengths), strict=True):
        groups += units if too_long else _spread(units, total, lengths)
    return groups


def _by_length(
    blocks: Sequence[Sized], lengths: Lengths
) -> Iterator[tuple[bool, Iterator[list[Piece]]]]:
    """The units in stretches of those too long for a passage and of those that are not."""
    return groupby(_units(blocks, lengths), key=lambda unit: _total(unit) > lengths.most)


def _spread(units: Iterable[list[Piece]], total: int, lengths: Lengths) -> Iterator[list[Piece]]:
    """Yield groups of about the same length: a unit belongs where its middle lies.

    `total` is how many words all units have.
    """
    share = total / max(1, round(total / lengths.usual), -(-total // lengths.most))
    group: list[Piece] = []
    words = done = count = 0
    for unit in units:
        length = _total(unit)
        if group and words + length <= lengths.most and done + length / 2 <= share * count:
            group += unit
            words += length
        else:
            if group:
                yield [_merged(group)]
            group, words, count = list(unit), length, count + 1
        done += length
    if group:
        yield [_merged(group)]


def _merged(pieces: Sequence[Piece]) -> Piece:
    """Pieces that will stand in one passage as one."""
    first, *rest = pieces
    if not rest:
        return first
    text = "".join([first.text, *(piece.gap + piece.text for piece in rest)])
    last = pieces[-1]
    return Piece(text, _total(pieces), first.gap, first.line, False, first.start, last.end)


def _total(pieces: Iterable[Piece]) -> int:
    return sum(piece.words for piece in pieces)
