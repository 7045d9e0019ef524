"""Terms of a text, statistics of a corpus' terms, and BM25 of one query and one text."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Protocol

from labeler.data import Document

K1 = 1.2
B = 0.75

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


@cache
def _stemmer() -> _Stemmer:
    import Stemmer

    # its own cache takes three times as long as the stemming
    return Stemmer.Stemmer("english", 0)  # type: ignore[no-any-return]  # PyStemmer has no types


def terms_made_by() -> str:
    """The versions on which the terms of a text depend: of the rules, the stemmer, and Unicode."""
    import Stemmer

    return f"rules 2, PyStemmer {Stemmer.version()}, Unicode {unicodedata.unidata_version}"


@cache
def word_expression() -> str:
    """The regular expression of a word: letters and digits, with the marks written with them.

    The vowel signs of Hindi are such marks; what says how an emoji looks is none.
    """
    letters = map(chr, range(0x300, 0x10000))  # of these alone `re` makes a table, which is quick
    marks = (c for c in letters if unicodedata.category(c) in ("Mn", "Mc"))
    own = "".join(c for c in marks if not "\ufe00" <= c <= "\ufe0f")
    return rf"[^\W_]+(?:[{own}]+[^\W_]*)*"


@cache
def _word() -> re.Pattern[str]:
    return re.compile(word_expression())


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _stemmer().stemWord(word) if word.isascii() else word


def terms(text: str) -> list[str]:
    """The index terms of a text, in order.

    Unicode words after NFKC and case folding, each with the marks that are written with its
    letters; ASCII ones stemmed by Snowball's English stemmer; scripts written without spaces
    (Chinese, Japanese, Thai) as overlapping pairs of characters.
    """
    return [*map(term_of, words_to_stem(text))]


def words_to_stem(text: str) -> list[str]:
    """The words of which `term_of` makes the index terms of a text, in order."""
    if not text.isascii():
        for mark in _TYPOGRAPHIC:
            text = text.replace(mark, " ")
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()  # four times as fast as what follows
    folded = unicodedata.normalize("NFKC", text).casefold().replace(_JOINER, "")
    words = _word().findall(folded)
    if not _UNSPACED.search(folded):
        return words
    return [part for word in words for part in (_pairs(word) if _UNSPACED.search(word) else [word])]


_JOINER = "\u200d"
"""Asks for a ligature within a word, as in Sinhala; the word is the same without it."""
_ASCII_WORDS = {code: (chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)}
_TYPOGRAPHIC = "’‘“”–—…•\u00a0"
"""Marks of English texts that stand between words; without them most of these are ASCII."""


def term_of(word: str) -> str:
    """The index term of a word that is folded; one that is not ASCII stays as it is."""
    return _stem(word)


def _pairs(word: str) -> list[str]:
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


@dataclass(frozen=True)
class TermStatistics:
    """In how many of `documents` documents each term occurs, and their mean length in terms."""

    documents: int
    mean_length: float
    frequency: dict[str, int]

    @classmethod
    def of(cls, corpus: Iterable[Sequence[str]]) -> TermStatistics:
        """Count the terms of documents that are given as lists of terms."""
        frequency: Counter[str] = Counter()
        count = length = 0
        for document in corpus:
            frequency.update(set(document))
            count += 1
            length += len(document)
        return cls(count, length / count if count else 0.0, dict(frequency))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all the figures."""
        rows = "".join(f"{term}\0{n}\n" for term, n in sorted(self.frequency.items()))
        head = f"{self.documents}\0{self.mean_length!r}\n"
        return hashlib.sha256((head + rows).encode()).hexdigest()

    def idf(self, term: str) -> float:
        """Inverse document frequency, never negative: `ln(1 + (N - n + .5)/(n + .5))`."""
        n = self.frequency.get(term, 0)
        return math.log(1 + (self.documents - n + 0.5) / (n + 0.5))


def matched_share(query: Sequence[str], text: Sequence[str], statistics: TermStatistics) -> float:
    """BM25 of a text, divided by the query's summed idf: 0 for no match, below 1 for all.

    The term frequency part is Lucene's `tf / (tf + k1 (1 - b + b |d| / avgdl))`; Robertson and
    Zaragoza (2009), Foundations and Trends in Information Retrieval 3(4).
    """
    query_terms = dict.fromkeys(query)
    total = sum(map(statistics.idf, query_terms))
    if not total or not statistics.mean_length:
        return 0.0
    counts = Counter(text)
    saturation = K1 * (1 - B + B * len(text) / statistics.mean_length)
    matched = (statistics.idf(t) * counts[t] / (counts[t] + saturation) for t in query_terms)
    return sum(matched) / total


def text_to_search(document: Document) -> str:
    """Return what a retriever indexes of a document: its title, then its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text
