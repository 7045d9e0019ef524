"""BM25 of a query over many texts: Lucene's variant, its index in parts, in the memory or in files.

A part holds what its texts alone say: which terms stand where, how often, and how long each text
is. What all texts say together (how many they are, how long on average, how many have a term) is
counted when the parts are put together. So scores do not depend on how texts are cut into parts,
and further texts leave earlier parts as they are.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from labeler.arrays import Floats, Integers, Numbers, Vectors
from labeler.errors import check_known
from labeler.files.arrays import Array, Arrays, ArraysWriter
from labeler.files.jsonl import RowValues
from labeler.options import SHARE, WIDTH, Options, option
from labeler.text.languages import NAMES, code_of, common_words, language_of
from labeler.text.terms import ENGLISH, K1, UNSTEMMED, Analyzer, B, stemmed_languages, terms_made_by

_WORDS_AT_ONCE = 1 << 20
_LOW = (1 << 32) - 1


class TermNumbers(dict[str, int]):
    """The number of a word's term, which is given when the word is first looked up.

    Words are forgotten where they become many; `numbers` are those of the terms.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self.analyzer = analyzer
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self.numbers.setdefault(self.analyzer.term_of(word), len(self.numbers))
        if len(self) >= _WORDS_AT_ONCE:
            self.clear()
        self[word] = number
        return number


_SECTION = partial(option, section="bm25")


@dataclass(frozen=True, slots=True)
class Bm25Settings(Options):
    """How BM25 makes terms of texts, and how it weighs them; `analyzer` is a language or `none`."""

    analyzer: str = _SECTION(
        "",
        "The language whose stemmer BM25 has, or none.",
        flag=True,
        rare=True,
        metavar="LANGUAGE",
        usual="by the documents",
        example="german",
    )
    k1: float = _SECTION(K1, "How much more often a term counts that stands often.", WIDTH)
    b: float = _SECTION(B, "How much less a term counts in a long text.", SHARE)
    stop_words: bool = _SECTION(False, "Leave out the commonest words of the language.")

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.analyzer:
            check_known("analyzer", self.analyzer, (UNSTEMMED, *stemmed_languages()), "analyzer")

    @property
    def makes_terms(self) -> Analyzer:
        """What makes terms; that of English where no language is named."""
        language = self.analyzer or ENGLISH
        words = common_words(code_of(language)) if self.stop_words else frozenset[str]()
        return Analyzer(language, words)

    def for_texts(self, texts: Iterable[str]) -> Bm25Settings:
        """The same with the language of most texts that tell it, where none is named.

        A tenth of them all have to.
        """
        if self.analyzer:
            return self
        codes = Counter(language_of(text[:_LOOKED_AT]) for text in texts)
        untold = codes.pop("", 0)
        (code, count) = codes.most_common(1)[0] if codes else ("", 0)
        is_most = 2 * count > codes.total() and 10 * count >= codes.total() + untold
        language = NAMES[code].casefold() if is_most else ENGLISH
        return replace(self, analyzer=language if language in stemmed_languages() else ENGLISH)


_LOOKED_AT = 1000
"""The first characters of a text tell its language."""

USUAL = Bm25Settings()


def bm25_name(settings: Bm25Settings = USUAL) -> str:
    """What ranks, as the tag of its runs."""
    return f"bm25-lucene-k1={settings.k1}-b={settings.b}{settings.makes_terms.name}"


def index_settings(settings: Bm25Settings = USUAL) -> RowValues:
    """What a part in a file depends on, beside its texts."""
    analyzer = settings.makes_terms.name
    return {"postings": 3, "terms": terms_made_by()} | ({"analyzer": analyzer} if analyzer else {})


@dataclass(frozen=True)
class Bm25Part:
    """The postings of some texts: of each of the sorted `terms` its number.

    `end` says where the postings of each term end, by the number of the term.
    """

    lengths: Numbers
    terms: Sequence[str]
    number: Numbers
    end: Integers
    text: Numbers
    count: Array

    @classmethod
    def of(cls, texts: Iterable[str], settings: Bm25Settings = USUAL) -> Bm25Part:
        """The postings of texts; some 24 bytes a word are held while they are made."""
        analyzer = settings.makes_terms
        of_terms = TermNumbers(analyzer)
        tokens = array("i")
        ends = array("q", [0])
        for text in texts:
            tokens.extend(map(of_terms.__getitem__, analyzer.words(text)))
            ends.append(len(tokens))
        lengths = np.diff(np.array(ends)).astype(np.int32)
        postings = np.array(tokens, np.int64)
        del tokens
        postings <<= 32
        postings |= np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        postings.sort()  # by a term's number, then by text
        is_first = np.append(True, postings[1:] != postings[:-1])[: len(postings)]
        starts = np.flatnonzero(is_first)
        count = np.diff(starts, append=len(postings))
        postings = postings[starts]
        in_order = sorted(of_terms.numbers)
        number = np.array([of_terms.numbers[term] for term in in_order], np.int32)
        end = np.cumsum(np.bincount(postings >> 32, minlength=len(number)))
        of_text = (postings & _LOW).astype(np.int32)
        return cls(lengths, in_order, number, end, of_text, count.astype(np.int32))

    @classmethod
    def within(cls, arrays: Arrays) -> Bm25Part:
        """The postings that `write_part` wrote."""
        columns = (arrays[name] for name in ("number", "end", "text", "count"))
        return cls(arrays["length"], arrays.texts("terms"), *columns)

    def numbers(self, asked: Sequence[str]) -> Numbers:
        """The number of each of some terms; -1 of one that is not here."""
        numbers = np.full(len(asked), -1, np.int32)
        for index, term in enumerate(asked):
            at = bisect_left(self.terms, term)
            if at < len(self.terms) and self.terms[at] == term:
                numbers[index] = self.number[at]
        return numbers

    def frequencies(self, numbers: Numbers) -> Integers:
        """In how many of the texts each term stands."""
        ends = np.concatenate([[0], self.end])
        # of an absent term 0 and 0
        frequencies: Integers = ends[numbers + 1] - ends[np.maximum(numbers, 0)]
        return frequencies

    def of_term(self, number: int) -> tuple[Numbers, Vectors]:
        """The texts in which a term stands, and how often in each."""
        start = int(self.end[number - 1]) if number else 0
        end = int(self.end[number])
        return self.text[start:end], self.count[start:end].astype(np.float32)


@dataclass(frozen=True)
class Bm25:
    """What the texts of all parts say together, of the terms that some queries have.

    The score of a text is the sum over the query's terms, in their order, of
    `idf * tf / (tf + k1 (1 - b + b |d| / avgdl))`, added in 32-bit floats. Kamphuis et al. (ECIR
    2020) compare the variants; each term's share is computed once for all queries, after Lù (2024),
    BM25S.
    """

    parts: Sequence[Bm25Part]
    rows: Mapping[str, int]
    idf: Vectors
    numbers: Sequence[Numbers]
    mean: float
    settings: Bm25Settings = USUAL

    @classmethod
    def of(
        cls, parts: Sequence[Bm25Part], queries: Iterable[str], settings: Bm25Settings = USUAL
    ) -> Bm25:
        """The statistics of the parts, of all terms of the queries."""
        terms = settings.makes_terms.terms
        asked = list(dict.fromkeys(term for query in queries for term in terms(query)))
        numbers = []
        frequency = np.zeros(len(asked), np.int64)
        count = length = 0
        for part in parts:
            numbers.append(part.numbers(asked))
            frequency += part.frequencies(numbers[-1])
            count += len(part.lengths)
            length += int(part.lengths.sum(dtype=np.int64))
        rows = {term: row for row, term in enumerate(asked)}
        mean = length / count if length else 1.0
        # as `TermStatistics.idf`
        idf = [math.log(1 + (count - n + 0.5) / (n + 0.5)) for n in frequency.tolist()]
        return cls(parts, rows, np.array(idf, np.float32), numbers, mean, settings)


class PartScorer:
    """Scores the texts of a part, query by query; what a term adds is computed once."""

    def __init__(self, index: Bm25, part: int) -> None:
        self._index = index
        self._part = index.parts[part]
        lengths = self._part.lengths.astype(float)
        self._terms = index.settings.makes_terms.terms
        b = index.settings.b
        self._saturation: Floats = index.settings.k1 * ((1 - b) + b * lengths / index.mean)
        self._numbers = index.numbers[part].tolist()
        self._shares: dict[int, tuple[Numbers, Vectors]] = {}
        self._scores = np.zeros(len(self), np.float32)

    def __len__(self) -> int:
        return len(self._saturation)

    def scores(self, query: str) -> Vectors:
        """The score of each text, 0 where no term stands in it; good until the next query."""
        self._scores.fill(0)
        for term in self._terms(query):
            row = self._index.rows[term]
            if self._numbers[row] >= 0:
                text, share = self._shares.get(row) or self._share(row)
                self._scores[text] += share
        return self._scores

    def _share(self, row: int) -> tuple[Numbers, Vectors]:
        text, count = self._part.of_term(self._numbers[row])
        share = count / (self._saturation[text] + count)
        self._shares[row] = text, (self._index.idf[row] * share).astype(np.float32)
        return self._shares[row]


def write_part(out: ArraysWriter, texts: Iterable[str], settings: Bm25Settings = USUAL) -> None:
    """Write the postings of texts, which `Bm25Part.within` reads."""
    part = Bm25Part.of(texts, settings)
    out.add("length", [part.lengths])
    out.add_texts("terms", part.terms)
    count = part.count.astype(np.uint8 if part.count.max(initial=0) < 1 << 8 else np.int32)
    for name in ("number", "end", "text"):
        out.add(name, [getattr(part, name)])
    out.add("count", [count])
