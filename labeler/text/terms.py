"""What a search sees in a text: its terms, weighed by a corpus, and its vector."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.arrays import Vectors
from labeler.data import Document
from labeler.errors import Misconfigured
from labeler.messages import missing_extra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

K1 = 1.2
B = 0.75

ENGLISH = "english"
UNSTEMMED = "none"
"""The analyzer that leaves words as they are."""

UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
"""Thai, Japanese and Chinese, whose words no space parts: two characters at a time are a term."""


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    # its own cache takes three times as long as the stemming
    return Stemmer.Stemmer(language, 0)


@cache
def stemmed_languages() -> Sequence[str]:
    """The languages that have a Snowball stemmer, in English."""
    import Stemmer

    return tuple(name for name in Stemmer.algorithms() if "porter" not in name)


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
def word_pattern() -> re.Pattern[str]:
    """What finds the words of a text."""
    return re.compile(word_expression())


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: str) -> str:
    if language == UNSTEMMED or (language == ENGLISH and not word.isascii()):
        return word
    return str(_stemmer(language).stemWord(word))


class Analyzer(NamedTuple):
    """What makes index terms of texts: the Snowball stemmer of a language, and words left out.

    The one of English stems words of ASCII letters alone, the others all words.
    """

    language: str = ENGLISH
    stop_words: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What runs are called by; empty of the usual one."""
        language = "" if self.language == ENGLISH else f"-{self.language}"
        return f"{language}-stop" if self.stop_words else language

    def words(self, text: str) -> list[str]:
        """The words of which terms are made, in order."""
        words = words_to_stem(text)
        return [word for word in words if word not in self.stop_words] if self.stop_words else words

    def term_of(self, word: str) -> str:
        """The index term of a word that is folded."""
        return _stem(word, self.language)

    def terms(self, text: str) -> list[str]:
        """The index terms of a text, in order."""
        return list(map(self.term_of, self.words(text)))


def words_to_stem(text: str) -> list[str]:
    """The words of which `term_of` makes the index terms of a text, in order."""
    if not text.isascii():
        for mark in _TYPOGRAPHIC:
            text = text.replace(mark, " ")
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()  # four times as fast as what follows
    folded = unicodedata.normalize("NFKC", text).casefold().replace(_JOINER, "")
    words = word_pattern().findall(folded)
    if not UNSPACED.search(folded):
        return words
    return [part for word in words for part in (_pairs(word) if UNSPACED.search(word) else [word])]


_JOINER = "\u200d"
"""Asks for a ligature within a word, as in Sinhala; the word is the same without it."""
_ASCII_WORDS = {code: (chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)}
_TYPOGRAPHIC = "’‘“”–—…•\u00a0"
"""Marks of English texts that stand between words; without them most of these are ASCII."""


term_of = Analyzer().term_of
"""The index term of a word that is folded, in English; one that is not ASCII stays as it is."""

terms = Analyzer().terms
"""The index terms of a text, in order.

Unicode words after NFKC and case folding, each with the marks that are written with its letters;
ASCII ones stemmed by Snowball's English stemmer; scripts written without spaces (Chinese, Japanese,
Thai) as overlapping pairs of characters.
"""


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
        frequency = Counter[str]()
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


# Dense retrieval: wordllama's static vectors, read from the files inside its wheel.
#
# Its own code is not run: it is compiled anew for each Python, and a text's vector is but the mean
# of its tokens' rows.

Encode = Callable[[Sequence[str]], Vectors]
"""Texts to unit vectors, `(texts, dimensions)`; a text without any known token is all zeros."""


class Encoder(NamedTuple):
    """What makes vectors of documents and of queries; `id` names it with its version.

    The id holds no white space, as it is the tag of runs. `query_identity` names all that the
    vector of a query depends on but its text, also where two encoders have one id.
    """

    id: str
    documents: Encode
    queries: Encode
    query_identity: str


_SHORTEST = 1e-15
"""The squares of shorter vectors lose digits in 32 bits."""

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

DENSE_EXTRA = missing_extra("local", "dense retrieval and the similarity assessor need")


class _Encoder(NamedTuple):
    """What turns a text into token ids, and the vector of each, `(tokens, 256)`."""

    tokenizer: Tokenizer
    vectors: Vectors


def can_encode() -> bool:
    """Whether the optional package is installed."""
    return find_spec(PACKAGE) is not None


def encode(texts: Sequence[str]) -> Vectors:
    """The unit vectors of `texts`, float32, `(texts, 256)`: means of the vectors of their tokens.

    A text without any known token has zeros.
    """
    encoder = _encoder()
    means = np.zeros((len(texts), encoder.vectors.shape[1]), np.float32)
    for start in range(0, len(texts), 64):
        batch = list(texts[start : start + 64])
        encodings = encoder.tokenizer.encode_batch(batch, add_special_tokens=False)
        for row, encoding in enumerate(encodings, start):
            if encoding.ids:
                means[row] = encoder.vectors[encoding.ids].sum(axis=0) / len(encoding.ids)
    return unit_vectors(means)


@cache
def encoder_id() -> str:
    """The encoder's name and version, for identities in the store."""
    from importlib.metadata import version

    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    return f"{PACKAGE}-{version(PACKAGE)}-l2_supercat-256"


@cache
def _encoder() -> _Encoder:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    vectors = load_file(_folder() / WEIGHTS)["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(_folder() / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Encoder(tokenizer, vectors)


def _folder() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Misconfigured(DENSE_EXTRA)
    return Path(spec.origin).parent


def embedded_encoder() -> Encoder:
    """The encoder of this package."""
    return Encoder(encoder_id(), encode, encode, encoder_id())


def unit_vectors(vectors: Vectors) -> Vectors:
    """The vectors with the length 1, float32; those that are all zeros stay so."""
    with np.errstate(over="ignore"):  # those are taken up below
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    is_exact = (norms > _SHORTEST) & np.isfinite(norms)
    unit: Vectors = (vectors / np.where(is_exact, norms, 1)).astype(np.float32)
    rest = np.flatnonzero(~is_exact)
    if rest.size:  # their squares do not fit into 32 bits
        wide = vectors[rest].astype(float)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        unit[rest] = wide / np.where(lengths == 0, 1, lengths)
    return unit
