"""From the blocks of a document to passages of about as many words as asked for, 200 as a rule.

Passages follow the document's headings, then its paragraphs, then sentences. A code block is never
cut, whatever its length, and a line that leads up to something (it ends in a colon) stays with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from labeler.corpus.blocks import Block, Lengths, Passage
from labeler.corpus.pieces import Piece, packed, sized
from labeler.text.sentences import count_words

_USUAL = Lengths()


@dataclass(slots=True)
class _Draft:
    """A passage under construction: lists of pieces, each with the headings above it."""

    parts: list[tuple[tuple[str, ...], list[Piece]]]

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
    drafts: list[_Draft] = []
    for position, (path, section) in enumerate(sections):
        texts = [sized(number, block, lengths) for number, block in section if block.text]
        if texts:
            drafts += [_Draft([(path, pieces)]) for pieces in packed(texts, lengths)]
        elif not _goes_on_below(path, sections[position + 1 : position + 2]):
            number, block = section[0]
            alone = Piece("", 0, "", block.line, False, (number, 0), (number, 0))
            drafts.append(_Draft([(path, [alone])]))
    return [_finished(draft) for draft in _Joining(lengths).joined(drafts)]


def _goes_on_below(
    path: tuple[str, ...], following: Sequence[tuple[tuple[str, ...], object]]
) -> bool:
    """Whether the next section lies below this one, so that its headings name this one too."""
    return any(len(below) > len(path) and below[: len(path)] == path for below, _ in following)


@dataclass(frozen=True, slots=True)
class _Joining:
    """Lets drafts of few words join a neighbor."""

    lengths: Lengths

    def joined(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Best one of their own section, else the section below them, else one beside or above."""
        same, near = self._same_section, self._near_section
        drafts = self._to_next(self._to_previous(drafts, same), same)
        drafts = self._to_next(drafts, self._into_section)
        return self._to_next(self._to_previous(drafts, near), near)

    def _to_previous(self, drafts: Sequence[_Draft], may_join: _Test) -> list[_Draft]:
        joined: list[_Draft] = []
        for draft in drafts:
            if joined and draft.words < self.lengths.few and may_join(joined[-1], draft):
                joined[-1] = _Draft(joined[-1].parts + draft.parts)
            else:
                joined.append(draft)
        return joined

    def _to_next(self, drafts: Sequence[_Draft], may_join: _Test) -> list[_Draft]:
        joined: list[_Draft] = []
        for draft in reversed(drafts):
            if joined and draft.words < self.lengths.few and may_join(draft, joined[-1]):
                joined[-1] = _Draft(draft.parts + joined[-1].parts)
            else:
                joined.append(draft)
        return joined[::-1]

    def _same_section(self, first: _Draft, second: _Draft) -> bool:
        """Whether both have the same headings and fit into one passage, or nearly so."""
        most, long = self.lengths.most, max(first.words, second.words)
        fits = first.words + second.words <= most + self.lengths.few or long > most
        return first.headings == second.headings and fits

    def _into_section(self, first: _Draft, second: _Draft) -> bool:
        """Whether the second lies in a section below the first, and both fit into one passage."""
        below = second.headings[: len(first.headings)] == first.headings
        return below and self._near_section(first, second)

    def _near_section(self, first: _Draft, second: _Draft) -> bool:
        """Whether both have one parent section, or one is the other's, and they fit together."""
        above = len(_common([first.headings, second.headings]))
        near = above >= min(len(first.headings), len(second.headings)) - 1
        return near and _Draft(first.parts + second.parts).words <= self.lengths.most


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
    begin, end = draft.parts[0][1][0], draft.parts[-1][1][-1]
    return Passage(text, above, begin.line, begin.start, end.end)
