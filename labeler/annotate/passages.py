"""A document's text as a rater reads it: paragraphs, the query's words marked, long texts folded.

A text of up to `whole` words is shown whole. Of a longer one, the paragraph is shown that holds
most of the query's words, with as much before as behind it, `window` words in all; the rest is
folded and can be opened. A word that stands in few paragraphs counts more than one that stands in
many; of equal paragraphs the earliest is taken; where no word of the query stands in the
text, its beginning. Nothing is left out but blank lines. What a reader could not see, or what
would turn the direction of the text, is written out, as `\\u202e`.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from labeler.annotate.session import Shown
from labeler.collection.annotations import TOPIC, texts_identity
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.collection.rows import check_exists
from labeler.data import Document, Query
from labeler.errors import Misuse
from labeler.files.read import file_problems
from labeler.report.result import Hidden, as_plain
from labeler.text.languages import (
    NAMES,
    common_words,
    count_words,
    language_of,
    short_stretches,
)
from labeler.text.terms import UNSPACED, Analyzer, stemmed_languages, word_pattern
from labeler.text.visible import visible

# Where the words of a query stand in a text, by their stems in the text's language.

_ASKING = frozenset(
    word
    for words in (
        "i my me you your we our their its there who which when where why if so than then",
        "can could should would was were did has have had at about after before between into",
    )
    for word in words.split()
)
"""Further words of English questions that tell nothing of what is asked for."""
_TEXT_TO_TELL = 4000
"""Characters of a text that tell its language."""

Run = tuple[str, bool]
"""A stretch of a text, and whether it is a word of the query."""
Span = tuple[int, int, str]
"""Where a term begins and ends in a text, and which it is."""


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query that are marked in a text, and how that text's words are stemmed."""

    terms: frozenset[str]
    analyzer: Analyzer

    @classmethod
    def of(cls, query: str, text: str, language: str = "") -> QueryTerms:
        """The terms of `query` in the language of `text`, which is told from it where not given.

        Words that any text of the language holds are none, unless the query has no others.
        """
        code = language or language_of(text[:_TEXT_TO_TELL]) or language_of(query)
        name = NAMES.get(code, "").casefold()
        analyzer = Analyzer(name) if name in stemmed_languages() else Analyzer()
        common = common_words(code or "en") | (_ASKING if code in ("", "en") else frozenset())
        words = analyzer.words(query)
        telling = [word for word in words if word not in common]
        return cls(frozenset(map(analyzer.term_of, telling or words)), analyzer)

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where a term stands in a text, and which; pairs of characters may overlap."""
        for match in word_pattern().finditer(text) if self.terms else ():
            start, end = match.span()
            size = min(2, end - start) if UNSPACED.search(match[0]) else end - start
            for at in range(start, end - size + 1):
                term = self.analyzer.term_of(_folded(text[at : at + size]))
                if term in self.terms:
                    yield at, at + size, term


def runs_of(text: str, spans: Sequence[Span]) -> Sequence[Run]:
    """The text in stretches, one after the other, those of the spans marked."""
    runs, end = list[Run](), 0
    for first, last, _term in spans:
        if runs and runs[-1][1] and first <= end:  # two pairs of characters that touch
            runs[-1] = (runs[-1][0] + text[end:last], True)
        else:
            runs += [(text[end:first], False)] if first > end else []
            runs.append((text[first:last], True))
        end = last
    return (*runs, (text[end:], False)) if end < len(text) else tuple(runs)


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


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

    A `preformatted` one is a table, code or verse, whose blanks and line ends matter. `terms`
    counts those of the query that stand in it.
    """

    runs: Sequence[Run]
    words: int
    folded: bool = False
    preformatted: bool = False
    terms: Hidden[Counter[str]] = field(default_factory=Counter, compare=False)


def shown(
    text: str, query: str, language: str = "", folding: Folding = FOLDING
) -> Sequence[ShownParagraph]:
    """The paragraphs of a document's text, the words of `query` marked, folded as the module says.

    `language` is the code of the text's language; it is told from the text where not given.
    """
    inert = _inert(text)
    terms = QueryTerms.of(_inert(query), inert, language)
    paragraphs = [_read(*own, terms) for own in _paragraphs(inert, folding.paragraph)]
    first, last = _unfolded(paragraphs, folding)
    return tuple(
        replace(paragraph, folded=not first <= number < last)
        for number, paragraph in enumerate(paragraphs)
    )


def shown_line(text: str) -> str:
    """A title, a path or a query on one line, what cannot be seen written out."""
    return " ".join(_inert(text).split())


def marked_line(text: str, query: str, language: str = "") -> Sequence[Run]:
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
            paragraph = paragraph.strip()
        for part in _parts_of_paragraph(paragraph, most, preformatted):
            yield part, preformatted


_ALIGNED = re.compile(r"(?!\s*(?:[-*+•]|\d+[.)])\s)(?:[ \t]|[|+`>]|.*\S(?: {3,}|\t)\S)")
"""Lines of code, tables and quotations begin with a blank or a mark, or are aligned; items of lists
are none, however deep."""
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


def _parts_of_paragraph(paragraph: str, most: int, preformatted: bool) -> Iterator[str]:
    """Yield the paragraph, or parts of at most so many words where it is longer."""
    if count_words(paragraph) <= most:
        yield paragraph
        return
    lines = (line.span() for line in re.finditer(".+", paragraph))
    spans = lines if preformatted else short_stretches(paragraph, most)
    start = end = words = 0
    for first, last in spans:
        added = count_words(paragraph[first:last])
        if end and words + added > most:
            yield paragraph[start:end]
            start, words = first, 0
        words, end = words + added, last
    yield paragraph[start:]


def _read(text: str, preformatted: bool, terms: QueryTerms) -> ShownParagraph:
    spans = tuple(terms.spans(text))
    counts = Counter(term for _first, _last, term in spans)
    runs = runs_of(text, spans)
    return ShownParagraph(runs, count_words(text), preformatted=preformatted, terms=counts)


def _unfolded(paragraphs: Sequence[ShownParagraph], folding: Folding) -> tuple[int, int]:
    """The first paragraph that is shown, and the one behind the last."""
    if sum(paragraph.words for paragraph in paragraphs) <= folding.whole:
        return 0, len(paragraphs)
    first, last = _with_context(paragraphs, _best(paragraphs), folding.window)
    if sum(paragraph.words for paragraph in paragraphs[:first]) < folding.fewest:
        first = 0
    if sum(paragraph.words for paragraph in paragraphs[last:]) < folding.fewest:
        last = len(paragraphs)
    return first, last


def _best(paragraphs: Sequence[ShownParagraph]) -> int:
    """The paragraph that holds most of the query's terms, of equal ones the first."""
    holding = Counter(term for paragraph in paragraphs for term in paragraph.terms)
    weights = {term: math.log1p(len(paragraphs) / count) for term, count in holding.items()}
    values = [
        (sum(weights[term] for term in sorted(each.terms)), each.terms.total())
        for each in paragraphs
    ]
    return values.index(max(values))


def _with_context(paragraphs: Sequence[ShownParagraph], best: int, most: int) -> tuple[int, int]:
    """The paragraph with others behind and before it in turn, while there is room for them."""
    first, last, room = best, best + 1, most - paragraphs[best].words
    size = 0
    while size < last - first:
        size = last - first
        if last < len(paragraphs) and paragraphs[last].words <= room:
            room, last = room - paragraphs[last].words, last + 1
        if first and paragraphs[first - 1].words <= room:
            room, first = room - paragraphs[first - 1].words, first - 1
    return first, last


# Queries and documents as JSON for the page: inert texts, with the query's words marked.

GONE = "This text is no longer in the collection."


class PageTexts:
    """The texts of a collection as the page shows them, each read when it is asked for.

    Several threads may ask: neither the reader of documents nor the stemmers are made for that.
    """

    def __init__(self, collection: Collection) -> None:
        check_exists(collection.queries)
        self._files = {path: _state(path) for path in (collection.queries, collection.corpus)}
        self.documents: Mapping[str, Document] = corpus_on_demand(collection.corpus)
        self.queries: Mapping[str, Query] = read_queries(collection.queries)
        self._lock = threading.Lock()

    def check_unchanged(self) -> None:
        """Raise `Misuse` where the texts are others by now than those that were opened."""
        for path, state in self._files.items():
            if _state(path) != state:
                raise Misuse(
                    f"{path} was written anew since: nothing more is taken in; end labeler "
                    "annotate, and start it again"
                )

    def query(self, query_id: str) -> Shown:
        """A query with its topic, as JSON."""
        self.check_unchanged()
        query = self.queries[query_id]
        more = {key: _shown_lines(query.metadata.get(key)) for key in TOPIC}
        return {"id": shown_line(query.id), "text": shown_line(query.text), **more}

    def document(self, doc_id: str, query_id: str) -> Shown:
        """A document as JSON, folded around what answers the query best."""
        with self._lock:
            document, query = self.documents[doc_id], self.queries[query_id]
            language = language_of(document.text)
            paragraphs = shown(document.text, query.text, language)
            title = marked_line(document.title, query.text, language)
        return {
            "id": shown_line(document.id),
            "title": shown_line(document.title),
            "title_runs": title,
            "path": _path(document),
            "paragraphs": as_plain(paragraphs),
            "language": language or None,
        }

    def identity(self, query_id: str, doc_id: str) -> str:
        """What identifies the texts that a rater reads."""
        self.check_unchanged()
        with self._lock:
            return texts_identity(self.queries[query_id], self.documents[doc_id])


def _state(path: Path) -> Sequence[int]:
    """What is another one once a file was written."""
    with file_problems(path):
        state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


def _shown_lines(text: Any) -> str:
    """Some lines of text; empty where a query's metadata holds something else."""
    return "\n".join(map(shown_line, text.split("\n"))) if isinstance(text, str) else ""


def _path(document: Document) -> str:
    """Where a document comes from: its file, and the headings that its title does not hold."""
    source, headings = document.metadata.get("source"), document.metadata.get("headings")
    listed = headings if isinstance(headings, list) else []
    in_title = bool(listed) and isinstance(listed[-1], str) and listed[-1] in document.title
    steps = [source, *([] if in_title else listed)]
    return " › ".join(shown_line(step) for step in steps if isinstance(step, str) and step)
