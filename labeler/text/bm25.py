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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.files.read import file_problems, scratch_file
from labeler.messages import Advance
from labeler.text.terms import K1, B, term_of, terms, terms_made_by, words_to_stem

# The postings of texts that come one by one, however many: which terms each has, and how often.
#
# Some million tokens at a time are sorted and laid aside in a temporary file; in the end, some
# terms at a time, what the file holds of them is put together. So the memory holds the terms, a
# length for each text, and one such part.

TOKENS_OF_A_BLOCK = 1 << 21
POSTINGS_OF_A_PART = 1 << 21

_WORDS_AT_ONCE = 1 << 20
_FIELDS = 3
_LOW = (1 << 32) - 1

Postings = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Some terms' texts by number, and how often each term stands in each."""


class TermNumbers(dict[str, int]):
    """The number of a word's term, which is given when the word is first looked up.

    Words are forgotten where they become many; `numbers` are those of the terms.
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self.numbers.setdefault(term_of(word), len(self.numbers))
        if len(self) >= _WORDS_AT_ONCE:
            self.clear()
        self[word] = number
        return number


class _Block(NamedTuple):
    """Where a block's postings lie in the temporary file: as terms, texts and counts."""

    start: int
    size: int


class PostingsBuilder:
    """Takes texts one by one, and gives the postings of all of them, term by term.

    `scratch` is an empty file that nobody else uses.
    """

    def __init__(
        self,
        scratch: Path,
        tokens_of_a_block: int = TOKENS_OF_A_BLOCK,
        postings_of_a_part: int = POSTINGS_OF_A_PART,
    ) -> None:
        self._scratch = scratch
        self._sizes = tokens_of_a_block, postings_of_a_part
        self._terms = TermNumbers()
        self._tokens = array("i")
        self._lengths = array("i")
        self._first = 0
        self._blocks: list[_Block] = []
        self._frequency = np.zeros(0, dtype=np.int64)
        self.highest = 0
        """The most times that a term stands in a text, once `ends` was called."""

    def add(self, text: str) -> None:
        """Take one more text."""
        before = len(self._tokens)
        self._tokens.extend(map(self._terms.__getitem__, words_to_stem(text)))
        self._lengths.append(len(self._tokens) - before)
        if len(self._tokens) >= self._sizes[0]:
            self._lay_aside()

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def terms(self) -> dict[str, int]:
        """Each term with its number; the postings are in the order of the numbers."""
        return self._terms.numbers

    def ends(self) -> Integers:
        """Where the postings of each term end."""
        self._lay_aside()
        return np.cumsum(self._frequency)

    def parts(self, advance: Advance = lambda _done, _total: None) -> Iterator[Postings]:
        """The postings, some terms at a time; `advance` counts them."""
        ends = self.ends()
        total = int(ends[-1]) if len(ends) else 0
        for first, last in _ranges(ends, self._sizes[1]):
            yield self._of_terms(first, last)
            advance(int(ends[last - 1]), total)

    def lengths(self) -> NDArray[np.int32]:
        """How many terms each text has."""
        return np.array(self._lengths, dtype=np.int32)

    def _lay_aside(self) -> None:
        """Write the postings of the texts since the last time."""
        lengths = np.frombuffer(self._lengths, dtype=np.int32)[self._first :]
        texts = np.repeat(np.arange(self._first, self._first + len(lengths)), lengths)
        keys = np.frombuffer(self._tokens, dtype=np.int32).astype(np.int64) << 32 | texts
        self._first, self._tokens = len(self._lengths), array("i")
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if not len(starts):
            self._grow(0)
            return
        keys, counts = keys[starts], np.diff(starts, append=len(keys))
        self.highest = max(self.highest, int(counts.max()))
        terms = keys >> 32
        start = self._blocks[-1].start + 4 * _FIELDS * self._blocks[-1].size if self._blocks else 0
        with file_problems(Path(gettempdir())), self._scratch.open("r+b") as out:
            out.seek(start)
            for column in (terms, keys & _LOW, counts):
                out.write(column.astype(np.int32).tobytes())
        self._blocks.append(_Block(start, len(keys)))
        self._grow(len(self._terms.numbers))
        self._frequency += np.bincount(terms, minlength=len(self._frequency))

    def _grow(self, size: int) -> None:
        more = max(0, size - len(self._frequency))
        self._frequency = np.concatenate([self._frequency, np.zeros(more, dtype=np.int64)])

    def _of_terms(self, first: int, last: int) -> Postings:
        """The texts and counts of a range of terms, sorted by term and text."""
        several = [self._slice(block, first, last) for block in self._blocks]
        columns = np.concatenate(several, axis=1)
        order = np.argsort(columns[0], kind="stable")
        return columns[1, order], columns[2, order]

    def _slice(self, block: _Block, first: int, last: int) -> NDArray[np.int32]:
        shape = (_FIELDS, block.size)
        held = np.memmap(self._scratch, dtype=np.int32, mode="r", offset=block.start, shape=shape)
        low, high = np.searchsorted(held[0], [first, last])
        return np.array(held[:, low:high])


def _ranges(ends: Sequence[int] | Integers, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of terms that have about `size` postings each, or are one term."""
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        yield first, last
        first = last


_NAME = f"bm25-lucene-k1={K1}-b={B}"


def bm25_name() -> str:
    """What ranks, as the tag of its runs."""
    return _NAME


def index_settings() -> Mapping[str, Any]:
    """What a part in a file depends on, beside its texts."""
    return {"postings": 3, "terms": terms_made_by()}


@dataclass(frozen=True)
class Bm25Part:
    """The postings of some texts: of each of the sorted `terms` its number.

    `end` says where the postings of each term end, by the number of the term.
    """

    lengths: npt.NDArray[np.int32]
    terms: Sequence[str]
    number: npt.NDArray[np.int32]
    end: Integers
    text: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32] | npt.NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Bm25Part:
        """The postings of texts, in the memory."""
        with scratch_file() as scratch:
            builder = _built(scratch, texts)
            none = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
            ends, parts = builder.ends(), [none, *builder.parts()]
        text, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(builder.lengths(), *_vocabulary(builder), ends, text, count)

    @classmethod
    def within(cls, arrays: Arrays) -> Bm25Part:
        """The postings that `write_part` wrote."""
        columns = (arrays[name] for name in ("number", "end", "text", "count"))
        return cls(arrays["length"], arrays.texts("terms"), *columns)

    def numbers(self, asked: Sequence[str]) -> npt.NDArray[np.int32]:
        """The number of each of some terms; -1 of one that is not here."""
        numbers = np.full(len(asked), -1, dtype=np.int32)
        for index, term in enumerate(asked):
            at = bisect_left(self.terms, term)
            if at < len(self.terms) and self.terms[at] == term:
                numbers[index] = self.number[at]
        return numbers

    def frequencies(self, numbers: npt.NDArray[np.int32]) -> Integers:
        """In how many of the texts each term stands."""
        ends = np.concatenate([[0], self.end])
        starts, following = np.maximum(numbers, 0), numbers + 1  # 0 and 0 of an absent term
        frequencies: Integers = ends[following] - ends[starts]
        return frequencies

    def of_term(self, number: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The texts in which a term stands, and how often in each."""
        start, end = int(self.end[number - 1]) if number else 0, int(self.end[number])
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
    idf: npt.NDArray[np.float32]
    numbers: Sequence[npt.NDArray[np.int32]]
    mean: float

    @classmethod
    def of(cls, parts: Sequence[Bm25Part], queries: Iterable[str]) -> Bm25:
        """The statistics of the parts, of all terms of the queries."""
        asked = [*dict.fromkeys(term for query in queries for term in terms(query))]
        numbers, frequency = [], np.zeros(len(asked), dtype=np.int64)
        count = length = 0
        for part in parts:
            numbers.append(part.numbers(asked))
            frequency += part.frequencies(numbers[-1])
            count += len(part.lengths)
            length += int(part.lengths.sum(dtype=np.int64))
        rows = {term: row for row, term in enumerate(asked)}
        return cls(parts, rows, _idf(frequency, count), numbers, length / count if length else 1.0)

    def scorer(self, part: int) -> PartScorer:
        """What scores the texts of a part."""
        return PartScorer(self, part)


class PartScorer:
    """Scores the texts of a part, query by query; what a term adds is computed once."""

    def __init__(self, index: Bm25, part: int) -> None:
        self._index, self._part = index, index.parts[part]
        lengths = self._part.lengths.astype(np.float64)
        self._saturation: Floats = K1 * ((1 - B) + B * lengths / index.mean)
        self._numbers = index.numbers[part].tolist()
        self._shares: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]] = {}
        self._scores = np.zeros(len(self), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._saturation)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """The score of each text, 0 where no term stands in it; good until the next query."""
        self._scores.fill(0)
        for term in terms(query):
            row = self._index.rows[term]
            if self._numbers[row] >= 0:
                text, share = self._shares.get(row) or self._share(row)
                self._scores[text] += share
        return self._scores

    def _share(self, row: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        text, count = self._part.of_term(self._numbers[row])
        share = count / (self._saturation[text] + count)
        self._shares[row] = text, (self._index.idf[row] * share).astype(np.float32)
        return self._shares[row]


def write_part(out: ArraysWriter, texts: Iterable[str]) -> None:
    """Write the postings of texts, which `Bm25Part.within` reads."""
    with scratch_file() as scratch, scratch_file() as counts:
        builder = _built(scratch, texts)
        in_order, number = _vocabulary(builder)
        out.add("length", [builder.lengths()])
        out.add_texts("terms", in_order)
        out.add("number", [number])
        out.add("end", [builder.ends()])
        kind = np.dtype(np.uint8 if builder.highest < 1 << 8 else np.int32)
        with counts.open("wb") as aside:
            numbers = _texts_of(builder, lambda count: aside.write(count.astype(kind).tobytes()))
            out.add("text", numbers)
        with counts.open("rb") as aside:
            blocks = iter(partial(aside.read, 1 << 22), b"")
            pieces = (np.frombuffer(block, dtype=kind) for block in blocks)
            out.add("count", chain([np.zeros(0, dtype=kind)], pieces))


def _built(scratch: Path, texts: Iterable[str]) -> PostingsBuilder:
    scratch.touch()
    builder = PostingsBuilder(scratch)
    for text in texts:
        builder.add(text)
    builder.ends()
    return builder


def _vocabulary(builder: PostingsBuilder) -> tuple[list[str], npt.NDArray[np.int32]]:
    """The terms in their order, and their numbers."""
    in_order = sorted(builder.terms)
    numbers = [builder.terms[term] for term in in_order]
    return in_order, np.array(numbers, dtype=np.int32)


def _texts_of(
    builder: PostingsBuilder, lay_aside: Callable[[npt.NDArray[np.int32]], object]
) -> Iterator[npt.NDArray[np.int32]]:
    """The texts of all postings; the counts go elsewhere meanwhile."""
    yield np.zeros(0, dtype=np.int32)
    for text, count in builder.parts():
        lay_aside(count)
        yield text


def _idf(frequency: Integers, count: int) -> npt.NDArray[np.float32]:
    """Inverse document frequency of each term, as `TermStatistics.idf`."""
    idf = [math.log(1 + (count - n + 0.5) / (n + 0.5)) for n in frequency.tolist()]
    return np.array(idf, dtype=np.float32)
