"""From a document as its file has it to passages with ids, titles and places in the source."""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from labeler.corpus.blocks import Block, Headings, Lengths, Passage, Place, SourceDocument
from labeler.corpus.readers.outline import PAGE
from labeler.data import Document
from labeler.files.jsonl import JsonObject
from labeler.text.languages import Span, count_words, short_stretches

# The pieces that passages are put together from: blocks, or the sentences of long ones.


class Piece(NamedTuple):
    """A text that is never cut, its number of words, and the white space that stands before it."""

    text: str
    words: int
    gap: str
    line: int
    code: bool
    start: Place
    end: Place


Unit = list[Piece]
"""Pieces that stay together."""


def _units(blocks: Iterable[tuple[int, Block]], lengths: Lengths) -> Iterator[Unit]:
    """Yield the units: mostly one, or a lead and what it leads up to."""
    waiting: Unit = []
    for position, block in blocks:
        pieces = _cut(position, block, lengths)
        head = next(pieces)
        words = _total(waiting)
        fits = words + head.words <= lengths.most or (head.code and words <= 2 * lengths.few)
        if waiting and not fits:
            yield waiting
            waiting = []
        unit = [*waiting, head]
        waiting = []
        for piece in pieces:
            yield unit
            unit = [piece]
        if not block.code and (block.leads or block.text.rstrip().endswith((":", "："))):
            waiting = unit
        else:
            yield unit
    if waiting:
        yield waiting


def _cut(number: int, block: Block, lengths: Lengths) -> Iterator[Piece]:
    """A block; of one that is too long for one passage its sentences, or words of long ones."""
    gap = "\n" if block.tight else "\n\n"
    length = count_words(block.text)
    if length <= lengths.most or block.code:
        whole = (number, len(block.text))
        yield Piece(block.text, length, gap, block.line, block.code, (number, 0), whole)
        return
    position = 0
    line = block.line
    for start, end in short_stretches(block.text, lengths.most):
        before = block.text[position:start] if position else gap
        line += block.text.count("\n", position, start)
        stretch = block.text[start:end]
        words = count_words(stretch)
        yield Piece(stretch, words, before, line, False, (number, start), (number, end))
        line += stretch.count("\n")
        position = end


def packed(blocks: Sequence[tuple[int, Block]], lengths: Lengths) -> list[Unit]:
    """Distribute a section's units over passages; a unit that is too long is a passage itself.

    The units are gone through twice rather than held: a long text has millions.
    """
    totals = [sum(map(_total, units)) for _, units in _by_length(blocks, lengths)]
    groups: list[Unit] = []
    for total, (too_long, units) in zip(totals, _by_length(blocks, lengths), strict=True):
        groups += units if too_long else _spread(units, total, lengths)
    return groups


def _by_length(
    blocks: Sequence[tuple[int, Block]], lengths: Lengths
) -> Iterator[tuple[bool, Iterator[Unit]]]:
    """The units in stretches of those too long for a passage and of those that are not."""
    return groupby(_units(blocks, lengths), key=lambda unit: _total(unit) > lengths.most)


def _spread(units: Iterable[Unit], total: int, lengths: Lengths) -> Iterator[Unit]:
    """Yield groups of about the same length: a unit belongs where its middle lies.

    `total` is how many words all units have.
    """
    share = total / max(1, round(total / lengths.usual), -(-total // lengths.most))
    group: Unit = []
    words = done = count = 0
    for unit in units:
        length = _total(unit)
        if group and words + length <= lengths.most and done + length / 2 <= share * count:
            group += unit
            words += length
        else:
            if group:
                yield [_merged(group)]
            group = list(unit)
            words = length
            count += 1
        done += length
    if group:
        yield [_merged(group)]


def _merged(pieces: Sequence[Piece]) -> Piece:
    """Pieces that will stand in one passage as one."""
    first, *rest = pieces
    if not rest:
        return first
    text = "".join([first.text, *(piece.gap + piece.text for piece in rest)])
    return Piece(text, _total(pieces), first.gap, first.line, False, first.start, pieces[-1].end)


def _total(pieces: Iterable[Piece]) -> int:
    return sum(piece.words for piece in pieces)


# From the blocks of a document to passages of about as many words as asked for, 200 as a rule.
#
# Passages follow the document's headings, then its paragraphs, then sentences. A code block is
# never cut, whatever its length, and a line that leads up to something (it ends in a colon) stays
# with it.

_USUAL = Lengths()


class _Draft(NamedTuple):
    """A passage under construction: lists of pieces, each with the headings above it."""

    parts: list[tuple[Headings, Unit]]

    @property
    def words(self) -> int:
        """The number of words of the text, including the headings that will stand in it."""
        return sum(sum(map(count_words, inner)) + _total(pieces) for inner, pieces in self.shown())

    def shown(self) -> Iterator[tuple[Headings, Unit]]:
        """The pieces of each part, and the headings that stand in the text above them."""
        above = self.headings
        for path, pieces in self.parts:
            yield path[len(_common([above, path])) :], pieces
            above = path

    @property
    def headings(self) -> Headings:
        return _common([headings for headings, _ in self.parts])


_Test = Callable[[_Draft, _Draft], bool]


def passages(blocks: Iterable[Block], lengths: Lengths = _USUAL) -> list[Passage]:
    """Cut a document's blocks, in their order, into passages.

    Every block is in some passage: a code block whole in one, any other text in a few. A document
    of headings only has none.
    """
    blocks = list(blocks)
    if not any(block.text for block in blocks):
        return []
    numbered = groupby(enumerate(blocks), key=lambda entry: entry[1].headings)
    sections = [(path, list(group)) for path, group in numbered]
    drafts = []
    below = [*(path for path, _ in sections[1:]), ()]
    for (path, section), following in zip(sections, below, strict=True):
        texts = [(number, block) for number, block in section if block.text]
        if texts:
            drafts += [_Draft([(path, pieces)]) for pieces in packed(texts, lengths)]
        elif following[: len(path)] != path:  # else the section below names this heading, too
            number, block = section[0]
            alone = Piece("", 0, "", block.line, False, (number, 0), (number, 0))
            drafts.append(_Draft([(path, [alone])]))
    return [_finished(draft) for draft in _joined(drafts, lengths)]


def _joined(drafts: Sequence[_Draft], lengths: Lengths) -> Sequence[_Draft]:
    """Let drafts of few words join a neighbor.

    Best one of their own section, else the section below them, else one beside or above.
    """

    def same_section(first: _Draft, second: _Draft) -> bool:
        """Whether both have the same headings and fit into one passage, or nearly so."""
        most = lengths.most
        words = (first.words, second.words)
        fits = sum(words) <= most + lengths.few or max(words) > most
        return first.headings == second.headings and fits

    def near_section(first: _Draft, second: _Draft) -> bool:
        """Whether both have one parent section, or one is the other's, and they fit together."""
        above = len(_common([first.headings, second.headings]))
        near = above >= min(len(first.headings), len(second.headings)) - 1
        return near and _Draft(first.parts + second.parts).words <= lengths.most

    def into_section(first: _Draft, second: _Draft) -> bool:
        """Whether the second lies in a section below the first, and both fit into one passage."""
        below = second.headings[: len(first.headings)] == first.headings
        return below and near_section(first, second)

    tests = (same_section, same_section, into_section, near_section, near_section)
    for may_join, step in zip(tests, (1, -1, -1, 1, -1), strict=True):
        drafts = _to_neighbor(drafts, may_join, lengths.few, step)
    return drafts


def _to_neighbor(
    drafts: Sequence[_Draft], may_join: _Test, few: int, step: int
) -> Sequence[_Draft]:
    """Let short drafts join the one before them, or with a `step` of -1 the one behind them."""
    joined: list[_Draft] = []
    for draft in drafts[::step]:
        pair = [*joined[-1:], draft][::step]
        if joined and draft.words < few and may_join(*pair):
            joined[-1] = _Draft([part for each in pair for part in each.parts])
        else:
            joined.append(draft)
    return joined[::step]


def _common(paths: Sequence[Headings]) -> Headings:
    first, last = min(paths), max(paths)
    for position, heading in enumerate(first):
        if position >= len(last) or last[position] != heading:
            return first[:position]
    return first


def _finished(draft: _Draft) -> Passage:
    """Join a draft's pieces; headings that are not above all of it become lines of the text."""
    above = draft.headings
    texts = []
    for inner, (first, *rest) in draft.shown():
        texts += [f"\n\n{text}" for text in (*inner, first.text) if text]
        texts += [piece.gap + piece.text for piece in rest]
    text = "".join(texts).strip("\n") or above[-1]  # a heading alone, with nothing near it
    begin = draft.parts[0][1][0]
    return Passage(text, above, begin.line, begin.start, draft.parts[-1][1][-1].end)


# Where in its source text each passage stands, in characters.
#
# `text[start:end]` holds all words of the passage that the source has. Of plain text these are its
# only words; of markup, what the markup adds (the address of a link) stands between them.

_NEWLINE = re.compile(r"\n")
_ANY_END = re.compile(r"\r\n?|\n")
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
        self._cut_block = -1
        self._parts = _whole(0, 0)

    def of(self, passage: Passage) -> Span:
        """Where a passage begins and ends."""
        number, offset = passage.start
        above = len(passage.headings)
        while not offset and number and not self.blocks[number - 1].text:
            if len(self.blocks[number - 1].headings) <= above:
                break
            number -= 1  # it begins at a heading, where the first words of its text are one
        start = self._start_of((number, offset))
        return start, max(start, self._end_of(passage.end))

    def _region(self, number: int) -> Span:
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
        above = self.blocks[number].line - 1
        if self.blocks[number].code and above:  # the line above it may open the block
            first = self._offset(above)
            begin = first if self.text[first:begin].lstrip().startswith(_FENCE) else begin
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

    def _parts_of(self, number: int) -> _Parts:
        """The function from an offset in a block that was cut to the source's; that of the last
        block is kept, since its passages come one after another.
        """
        if number != self._cut_block:
            self._cut_block = number
            block = self.blocks[number]
            self._parts = _parts(block.text, self.text, *self._region(number))
        return self._parts


_Parts = Callable[[int], Span]
"""From an offset in a block's text to the first and the last place where that may stand."""


def _parts(part: str, text: str, begin: int, end: int) -> _Parts:
    at = text.find(part, begin, end)
    if at >= 0:
        return lambda offset: (at + offset, at + offset)
    if end - begin > _LONGEST:
        return _whole(begin, end)
    first = _embedded(part, text, begin, end)
    last = _embedded(part[::-1], text[begin:end][::-1], 0, end - begin)
    if first is None or last is None:
        return _whole(begin, end)
    return lambda offset: (first[offset], end - 1 - last[len(part) - 1 - offset])


def _whole(begin: int, end: int) -> _Parts:
    return lambda _offset: (begin, max(begin, end - 1))


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


_PAGE_KEY = re.compile(
    r"(?<=[^/])[ _-][0-9a-f]{32}(?=(?:_all)?(?:\.\w+)*(?:/|\Z))"  # Notion's
    r"|(?<=[^/])_(?!(?:19|20)\d{6}\.)\d{5,12}(?=\.html\Z)"  # Confluence's, and no date
)
"""What programs add to the names of pages that they export; it is in no id and no title."""


def passages_of(
    source: SourceDocument, shown_path: str, digest: str, lengths: Lengths
) -> Iterator[Document]:
    """The passages of a document; an id is the file's path and the hash of title and text.

    So an id never comes to stand for another text, and a passage that an edit leaves as it was
    keeps its id, and with it its judgements.
    """
    plain = _PAGE_KEY.sub("", shown_path)
    stem = writable(Path(plain).name).split(".")[0]
    first = next((block.headings[0] for block in source.blocks if block.headings), "")
    where_in_text = _where_in_text(source)
    for passage in passages(source.blocks, lengths):
        title = _title(source.title, stem, first, passage.headings)
        content = hashlib.sha256(f"{title}\0{passage.text}".encode()).hexdigest()[:10]
        where = {
            "source": writable(shown_path),
            "line": max(passage.line, source.line),
            **where_in_text(passage),
            "sha256": digest,
        }
        metadata = {**source.metadata, **where, "headings": list(passage.headings)}
        yield Document(f"{id_part(plain)}:{content}", passage.text, title, metadata)


def _where_in_text(source: SourceDocument) -> Callable[[Passage], JsonObject]:
    """What says where a passage stands: its characters, and which text's where not the file's."""
    spans_in = source.spans_in
    if spans_in is None:
        return lambda _passage: {}
    spans = Spans(spans_in.text, source.blocks, any_line_end=spans_in.any_line_end)
    digest = "" if spans_in.own else hashlib.sha256(spans_in.text.encode()).hexdigest()

    def where(passage: Passage) -> JsonObject:
        start, end = spans.of(passage)
        page = {"page": spans_in.text.count(PAGE, 0, start) + 1} if spans_in.paged else {}
        return {**page, "start": start, "end": end, **({"text_sha256": digest} if digest else {})}

    return where


def _title(own: str, stem: str, first: str, headings: Headings) -> str:
    """The heading path below the document's title: its own, else the first heading.

    A document with several topmost headings is called by its file's name under all but the first.
    """
    document = own or (first if headings[:1] == (first,) else "") or stem
    path = headings[1:] if headings[:1] == (document,) else headings
    return " > ".join((document, *path))


def id_part(path: str) -> str:
    """Return a path as a part of an id: white space and invisible letters are percent-encoded."""
    return "".join(
        c
        if c.isprintable() and not c.isspace() and c != "%"
        else quote(c, errors="surrogateescape")
        for c in path
    )


def writable(text: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, so that the text can be written."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
