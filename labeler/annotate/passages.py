"""A document's text as a rater reads it: paragraphs, the query's words marked, long texts folded.

A text of up to `whole` words is shown whole. Of a longer one, the stretch of paragraphs is shown
that holds most of the query's words, with as much before as behind it, `window` words in all; the
rest is folded and can be opened. A word that stands in few paragraphs counts more than one that
stands in many; of equal stretches the earliest is taken; where no word of the query stands in the
text, its beginning. Nothing is left out but blank lines. What a reader could not see, or what
would turn the direction of the text, is written out, as `\\u202e`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from labeler.annotate.marking import QueryTerms, Run, Span, runs_of
from labeler.text.sentences import count_words, short_stretches
from labeler.text.visible import visible


@dataclass(frozen=True)
class Folding:
    """How many words are shown whole, how many of a longer text, and the fewest worth a fold.

    A paragraph of more than `paragraph` words is cut at ends of sentences.
    """

    whole: int = 300
    window: int = 200
    fewest: int = 40
    paragraph: int = 120


FOLDING = Folding()


@dataclass(frozen=True)
class ShownParagraph:
    """A paragraph: its text in runs, each marked or not, its words, and how it is shown.

    A `preformatted` one is a table, code or verse, whose blanks and line ends matter.
    """

    runs: tuple[Run, ...]
    words: int
    folded: bool = False
    preformatted: bool = False

    @property
    def text(self) -> str:
        """The whole text of the paragraph."""
        return "".join(text for text, _marked in self.runs)

    def as_json(self) -> dict[str, Any]:
        """The paragraph as the page takes it."""
        runs = [[text, marked] for text, marked in self.runs]
        own = {"words": self.words, "folded": self.folded, "preformatted": self.preformatted}
        return {"runs": runs, **own}


@dataclass(frozen=True)
class _Paragraph:
    text: str
    words: int
    preformatted: bool
    spans: tuple[Span, ...]
    terms: Counter[str]


def shown(
    text: str, query: str, language: str = "", folding: Folding = FOLDING
) -> tuple[ShownParagraph, ...]:
    """The paragraphs of a document's text, the words of `query` marked, folded as the module says.

    `language` is the code of the text's language; it is told from the text where not given.
    """
    inert = _inert(text)
    terms = QueryTerms.of(_inert(query), inert, language)
    paragraphs = [_read(own, terms) for own in _paragraphs(inert, folding.paragraph)]
    first, last = _unfolded(paragraphs, folding)
    return tuple(
        ShownParagraph(
            runs_of(paragraph.text, paragraph.spans),
            paragraph.words,
            folded=not first <= number < last,
            preformatted=paragraph.preformatted,
        )
        for number, paragraph in enumerate(paragraphs)
    )


def shown_line(text: str) -> str:
    """A title, a path or a query on one line, what cannot be seen written out."""
    return " ".join(_inert(text).split())


def marked_line(text: str, query: str, language: str = "") -> tuple[Run, ...]:
    """A title on one line in runs, the words of `query` marked as they are in a text."""
    line = shown_line(text)
    return runs_of(line, tuple(QueryTerms.of(_inert(query), line, language).spans(line)))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _inert(text: str) -> str:
    """Half a character cannot be sent to the page, and is written out as well."""
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", visible(text))


def _paragraphs(text: str, most: int) -> Iterator[tuple[str, bool]]:
    """Yield the paragraphs, parted by blank lines, and whether each is preformatted."""
    for is_text, lines in groupby(text.split("\n"), lambda line: bool(line.strip())):
        if not is_text:
            continue
        paragraph = "\n".join(lines).rstrip()
        preformatted = _is_preformatted(paragraph)
        if not preformatted:
            paragraph = _unwrapped(paragraph)
        for part in _parts(paragraph, most, preformatted):
            yield part, preformatted


_ALIGNED = re.compile(r"(?!\s*(?:[-*+•]|\d+[.)])\s)(?:[ \t]|[|+`>]|.*\S(?: {3,}|\t)\S)")
"""Lines of code, tables and quotations begin with a blank or a mark, or are aligned; items of lists
are none, however deep."""
_WRAPPED = re.compile(r"(?<=\S)[ \t]*\n(?=[^\W\d_])")
_WRAP_WIDTH = 60
_LONGEST_LINE = 400
"""A line of more characters is a paragraph of its own, however it begins."""
_LONGEST_CODE = 100
"""A single indented line of more characters is the begin of prose."""


def _is_preformatted(paragraph: str) -> bool:
    lines = paragraph.split("\n")
    if len(lines) == 1:
        return len(paragraph) <= _LONGEST_CODE and paragraph.startswith(("    ", "\t"))
    if max(map(len, lines)) > _LONGEST_LINE:
        return False
    return 2 * sum(bool(_ALIGNED.match(line)) for line in lines) > len(lines)


def _unwrapped(paragraph: str) -> str:
    """Prose whose lines were broken at some 70 characters, on one line again; lists stay."""

    def joined(match: re.Match[str]) -> str:
        line = match.start() - (paragraph.rfind("\n", 0, match.start()) + 1)
        return " " if line >= _WRAP_WIDTH else "\n"

    return _WRAPPED.sub(joined, paragraph).strip()


def _parts(paragraph: str, most: int, preformatted: bool) -> Iterator[str]:
    """Yield the paragraph, or parts of at most so many words where it is longer."""
    if count_words(paragraph) <= most:
        yield paragraph
        return
    spans = _lines(paragraph) if preformatted else short_stretches(paragraph, most)
    start = end = words = 0
    for first, last in spans:
        added = count_words(paragraph[first:last])
        if end and words + added > most:
            yield paragraph[start:end]
            start, words = first, 0
        words, end = words + added, last
    yield paragraph[start:]


def _lines(paragraph: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in paragraph.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _read(paragraph: tuple[str, bool], terms: QueryTerms) -> _Paragraph:
    text, preformatted = paragraph
    spans = tuple(terms.spans(text))
    counts = Counter(term for _first, _last, term in spans)
    return _Paragraph(text, count_words(text), preformatted, spans, counts)


def _unfolded(paragraphs: Sequence[_Paragraph], folding: Folding) -> tuple[int, int]:
    """The first paragraph that is shown, and the one behind the last."""
    if sum(paragraph.words for paragraph in paragraphs) <= folding.whole:
        return 0, len(paragraphs)
    first, last = _with_context(paragraphs, *_best(paragraphs, folding.window), folding.window)
    if sum(paragraph.words for paragraph in paragraphs[:first]) < folding.fewest:
        first = 0
    if sum(paragraph.words for paragraph in paragraphs[last:]) < folding.fewest:
        last = len(paragraphs)
    return first, last


def _best(paragraphs: Sequence[_Paragraph], most: int) -> tuple[int, int]:
    """The stretch of at most so many words that holds most of the query's terms."""
    weights = _weights(paragraphs)
    inside, words, first = Counter[str](), 0, 0
    best, stretch = (0.0, 0), (0, 1)
    for last, paragraph in enumerate(paragraphs):
        inside.update(paragraph.terms)
        words += paragraph.words
        while words > most and first < last:
            inside -= paragraphs[first].terms
            words -= paragraphs[first].words
            first += 1
        value = sum(weights[term] for term in inside), inside.total()
        if value > best:
            best, stretch = value, (first, last + 1)
    return _between_matches(paragraphs, *stretch)


def _weights(paragraphs: Sequence[_Paragraph]) -> dict[str, float]:
    holding = Counter(term for paragraph in paragraphs for term in paragraph.terms)
    return {term: math.log1p(len(paragraphs) / count) for term, count in sorted(holding.items())}


def _between_matches(paragraphs: Sequence[_Paragraph], first: int, last: int) -> tuple[int, int]:
    matching = [number for number in range(first, last) if paragraphs[number].terms]
    return (matching[0], matching[-1] + 1) if matching else (0, min(1, len(paragraphs)))


def _with_context(
    paragraphs: Sequence[_Paragraph], first: int, last: int, most: int
) -> tuple[int, int]:
    """The stretch with paragraphs behind and before it in turn, while there is room for them."""
    room = most - sum(paragraph.words for paragraph in paragraphs[first:last])
    growing = True
    while growing:
        growing = False
        if last < len(paragraphs) and paragraphs[last].words <= room:
            room, last, growing = room - paragraphs[last].words, last + 1, True
        if first and paragraphs[first - 1].words <= room:
            room, first, growing = room - paragraphs[first - 1].words, first - 1, True
    return first, last
