"""From the blocks of a document to passages of about 200 words.

Passages follow the document's headings, then its paragraphs, then sentences. A code block is never
cut, whatever its length, and a line that leads up to something (it ends in a colon) stays with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from labeler.text.sentences import count_words, short_stretches

USUAL = 200
"""A passage has about so many words where there is enough text."""

MOST = 260
"""A passage has at most so many words, and a few more to save a remainder; code stays whole."""

FEW = 30
"""A passage of fewer words is joined to a neighboring one where that is possible."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table row or code block, under its headings.

    An empty text stands for a heading itself. `tight` blocks follow the one before them without a
    blank line; one that `leads` (a term, a table's head) stays with the next.
    """

    text: str
    headings: tuple[str, ...] = ()
    line: int = 1
    code: bool = False
    tight: bool = False
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document; `headings` are those above all of it, `line` is where it begins."""

    text: str
    headings: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text that is never cut, its number of words, and the white space that stands before it."""

    text: str
    words: int
    gap: str
    line: int
    code: bool = False


@dataclass(slots=True)
class _Draft:
    """A passage under construction: lists of pieces, each with the headings above it."""

    parts: list[tuple[tuple[str, ...], list[_Piece]]]

    @property
    def words(self) -> int:
        """The number of words of the text, including the headings that will stand in it."""
        return sum(piece.words for _, pieces in self.parts for piece in pieces) + sum(
            count_words(heading) for heading in self.inner_headings()
        )

    def inner_headings(self) -> Iterator[str]:
        shown = self.headings
        for path, _ in self.parts:
            yield from path[len(_common([shown, path])) :]
            shown = path

    @property
    def headings(self) -> tuple[str, ...]:
        return _common([headings for headings, _ in self.parts])


_Test = Callable[[_Draft, _Draft], bool]


def passages(blocks: Iterable[Block]) -> list[Passage]:
    """Cut a document's blocks, in their order, into passages.

    Every block is in some passage: a code block whole in one, any other text in a few. A document
    of headings only has none.
    """
    blocks = list(blocks)
    if not any(block.text for block in blocks):
        return []
    sections = [(path, list(group)) for path, group in groupby(blocks, key=lambda b: b.headings)]
    drafts: list[_Draft] = []
    for position, (path, section) in enumerate(sections):
        texts = [block for block in section if block.text]
        if texts:
            drafts += [_Draft([(path, pieces)]) for pieces in _packed(list(map(_sized, texts)))]
        elif not _goes_on_below(path, sections[position + 1 : position + 2]):
            drafts.append(_Draft([(path, [_Piece("", 0, "", section[0].line)])]))
    return [_finished(draft) for draft in _joined(drafts)]


def _goes_on_below(
    path: tuple[str, ...], following: Sequence[tuple[tuple[str, ...], list[Block]]]
) -> bool:
    """Whether the next section lies below this one, so that its headings name this one too."""
    return any(len(below) > len(path) and below[: len(path)] == path for below, _ in following)


_Sized = tuple[Block, _Piece | None]
"""A block, and the piece that it is; `None` where it is too long for one and is cut."""


def _sized(block: Block) -> _Sized:
    words = count_words(block.text)
    if words > MOST and not block.code:
        return block, None
    return block, _Piece(block.text, words, _gap(block), block.line, block.code)


def _gap(block: Block) -> str:
    return "\n" if block.tight else "\n\n"


def _units(blocks: Iterable[_Sized]) -> Iterator[list[_Piece]]:
    """Yield lists of pieces that stay together: mostly one, or a lead and what it leads up to."""
    waiting: list[_Piece] = []
    for block, whole in blocks:
        head, rest = _head(_cut(block) if whole is None else iter((whole,)))
        if waiting and not _stay_together(waiting, head):
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


def _head(pieces: Iterator[_Piece]) -> tuple[_Piece, Iterator[_Piece]]:
    return next(pieces), pieces


def _stay_together(lead: Sequence[_Piece], piece: _Piece) -> bool:
    words = _total(lead)
    return words + piece.words <= MOST or (piece.code and words <= 2 * FEW)


def _cut(block: Block) -> Iterator[_Piece]:
    """The sentences of a block that is too long for one passage, or the words of long ones."""
    gap = _gap(block)
    position, line = 0, block.line
    for start, end in short_stretches(block.text, MOST):
        before = block.text[position:start] if position else gap
        line += block.text.count("\n", position, start)
        stretch = block.text[start:end]
        yield _Piece(stretch, count_words(stretch), before, line)
        line += stretch.count("\n")
        position = end


def _packed(blocks: Sequence[_Sized]) -> list[list[_Piece]]:
    """Distribute a section's units over passages; a unit that is too long is a passage itself.

    The units are gone through twice rather than held: a long text has millions.
    """
    totals = [sum(map(_total, units)) for _, units in _by_length(blocks)]
    groups: list[list[_Piece]] = []
    for total, (too_long, units) in zip(totals, _by_length(blocks), strict=True):
        groups += units if too_long else _spread(units, total)
    return groups


def _by_length(blocks: Sequence[_Sized]) -> Iterator[tuple[bool, Iterator[list[_Piece]]]]:
    """The units in stretches of those too long for a passage and of those that are not."""
    return groupby(_units(blocks), key=lambda unit: _total(unit) > MOST)


def _spread(units: Iterable[list[_Piece]], total: int) -> Iterator[list[_Piece]]:
    """Yield groups of about the same length: a unit belongs where its middle lies.

    `total` is how many words all units have.
    """
    share = total / max(1, round(total / USUAL), -(-total // MOST))
    group: list[_Piece] = []
    words = done = count = 0
    for unit in units:
        length = _total(unit)
        if group and words + length <= MOST and done + length / 2 <= share * count:
            group += unit
            words += length
        else:
            if group:
                yield [_merged(group)]
            group, words, count = list(unit), length, count + 1
        done += length
    if group:
        yield [_merged(group)]


def _merged(pieces: Sequence[_Piece]) -> _Piece:
    """Pieces that will stand in one passage as one."""
    first, *rest = pieces
    if not rest:
        return first
    text = "".join([first.text, *(piece.gap + piece.text for piece in rest)])
    return _Piece(text, _total(pieces), first.gap, first.line)


def _total(pieces: Iterable[_Piece]) -> int:
    return sum(piece.words for piece in pieces)


def _joined(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Let drafts of few words join a neighbor.

    Best one of their own section, else the section below them, else one beside or above them.
    """
    drafts = _joined_to_next(_joined_to_previous(drafts, _same_section), _same_section)
    drafts = _joined_to_next(drafts, _into_section)
    return _joined_to_next(_joined_to_previous(drafts, _near_section), _near_section)


def _joined_to_previous(drafts: Sequence[_Draft], may_join: _Test) -> list[_Draft]:
    joined: list[_Draft] = []
    for draft in drafts:
        if joined and draft.words < FEW and may_join(joined[-1], draft):
            joined[-1] = _Draft(joined[-1].parts + draft.parts)
        else:
            joined.append(draft)
    return joined


def _joined_to_next(drafts: Sequence[_Draft], may_join: _Test) -> list[_Draft]:
    joined: list[_Draft] = []
    for draft in reversed(drafts):
        if joined and draft.words < FEW and may_join(draft, joined[-1]):
            joined[-1] = _Draft(draft.parts + joined[-1].parts)
        else:
            joined.append(draft)
    return joined[::-1]


def _same_section(first: _Draft, second: _Draft) -> bool:
    """Whether both have the same headings and fit into one passage, or nearly so."""
    long = max(first.words, second.words)
    fits = first.words + second.words <= MOST + FEW or long > MOST
    return first.headings == second.headings and fits


def _into_section(first: _Draft, second: _Draft) -> bool:
    """Whether the second lies in a section below the first, and both fit into one passage."""
    below = second.headings[: len(first.headings)] == first.headings
    return below and _near_section(first, second)


def _near_section(first: _Draft, second: _Draft) -> bool:
    """Whether both have the same parent section, or one is the other's, and they fit together."""
    above = len(_common([first.headings, second.headings]))
    near = above >= min(len(first.headings), len(second.headings)) - 1
    return near and _Draft(first.parts + second.parts).words <= MOST


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    first, last = min(paths), max(paths)
    for position, heading in enumerate(first):
        if position >= len(last) or last[position] != heading:
            return first[:position]
    return first


def _finished(draft: _Draft) -> Passage:
    """Join a draft's pieces; headings that are not above all of it become lines of the text."""
    above = draft.headings
    shown = above
    texts: list[str] = []
    for path, pieces in draft.parts:
        shared = len(_common([shown, path]))
        texts += [f"\n\n{heading}" for heading in path[shared:]]
        first, *rest = (piece for piece in pieces)
        texts += [f"\n\n{first.text}"] if first.text else []
        texts += [piece.gap + piece.text for piece in rest]
        shown = path
    text = "".join(texts).strip("\n") or above[-1]  # a heading alone, with nothing near it
    return Passage(text, above, draft.parts[0][1][0].line)
