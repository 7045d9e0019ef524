"""Where the words of a query stand in a text, by their stems in the text's language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from labeler.text.languages import common_words, language_of

_WORD = re.compile(
    r"(?:[^\W_]"
    "|[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # points and accents
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d])+"  # the scripts of India, whose vowels are marks
)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
"""Thai, Japanese and Chinese, whose words no space parts: two characters at a time are a term."""

_STEMMERS = {
    "ar": "arabic",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
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
    stem: Callable[[str], str]

    @classmethod
    def of(cls, query: str, text: str, language: str = "") -> QueryTerms:
        """The terms of `query` in the language of `text`, which is told from it where not given.

        Words that any text of the language holds are none, unless the query has no others.
        """
        code = language or language_of(text[:_TEXT_TO_TELL]) or language_of(query)
        stem = _stemmer(_STEMMERS.get(code, "english"))
        telling = [word for word in _words(query) if not _is_common(word, code)]
        terms = (stem(part) for word in telling or _words(query) for part in _parts(word))
        return cls(frozenset(terms), stem)

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where a term stands in a text, and which; pairs of characters may overlap."""
        if not self.terms:
            return
        term_of: dict[str, str] = {}  # a long text repeats its words
        for match in _WORD.finditer(text):
            word = match[0]
            if _UNSPACED.search(word):
                yield from self._pairs(word, match.start())
                continue
            if word not in term_of:
                term_of[word] = self.stem(_folded(word))
            if term_of[word] in self.terms:
                yield match.start(), match.end(), term_of[word]

    def _pairs(self, word: str, start: int) -> Iterator[Span]:
        size = min(2, len(word))
        for at in range(len(word) - size + 1):
            term = _folded(word[at : at + size])
            if term in self.terms:
                yield start + at, start + at + size, term


def runs_of(text: str, spans: Sequence[Span]) -> tuple[Run, ...]:
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


def _words(text: str) -> list[str]:
    return [_folded(word) for word in _WORD.findall(text)]


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _parts(word: str) -> list[str]:
    if not _UNSPACED.search(word):
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]


def _is_common(word: str, language: str) -> bool:
    return word in common_words(language or "en") or (language in ("", "en") and word in _ASKING)


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer(language).stemWord
    return stem
