"""BM25 of a query over many texts: Lucene's variant, its index in parts, in the memory or in files.

A part holds what its texts alone say: which terms stand where, how often, and how long each text
is. What all texts say together (how many they are, how long on average, how many have a term) is
counted when the parts are put together. So scores do not depend on how texts are cut into parts,
and further texts leave earlier parts as they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labeler.arrays import Floats, Integers
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.files.temporary import scratch_file
from labeler.text.postings import PostingsBuilder
from labeler.text.terms import K1, B, terms, terms_made_by

_NAME = f"bm25-lucene-k1={K1}-b={B}"


def bm25_name() -> str:
    """What ranks, as the tag of its runs."""
    return _NAME


def index_settings() -> Mapping[str, Any]:
    """What a part in a file depends on, beside its texts."""
    return {"postings": 2, "terms": terms_made_by()}


@dataclass(frozen=True)
class Bm25Part:
    """The postings of some texts: `hashes` are those of its terms, in order.

    `end` says where the postings of each term end, by the number of the term.
    """

    lengths: npt.NDArray[np.int32]
    hashes: Integers
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
            hashes, in_order, number = _vocabulary(builder)
            none = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
            ends, parts = builder.ends(), [none, *builder.parts()]
        text, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(builder.lengths(), hashes, in_order, number, ends, text, count)

    @classmethod
    def within(cls, arrays: Arrays) -> Bm25Part:
        """The postings that `write_part` wrote."""
        columns = (arrays[name] for name in ("number", "end", "text", "count"))
        return cls(arrays["length"], arrays["hash"], arrays.texts("terms"), *columns)

    def numbers(self, asked: Sequence[str], hashes: Integers) -> npt.NDArray[np.int32]:
        """The number of each of some terms, given with their hashes; -1 of one that is not here."""
        numbers = np.full(len(asked), -1, dtype=np.int32)
        first = np.searchsorted(self.hashes, hashes)
        last = np.searchsorted(self.hashes, hashes, side="right")
        for index in np.flatnonzero(first < last).tolist():
            for at in range(int(first[index]), int(last[index])):
                if self.terms[at] == asked[index]:
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
        hashes = np.array([*map(_hash_of, asked)], dtype=np.int64)
        numbers, frequency = [], np.zeros(len(asked), dtype=np.int64)
        count = length = 0
        for part in parts:
            numbers.append(part.numbers(asked, hashes))
            frequency += part.frequencies(numbers[-1])
            count += len(part.lengths)
            length += int(part.lengths.sum(dtype=np.int64))
        rows = {term: row for row, term in enumerate(asked)}
        return cls(parts, rows, _idf(frequency, count), numbers, length / count if length else 1.0)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """The scores of all texts for one of the queries, in the order of the parts."""
        none = np.zeros(0, dtype=np.float32)
        parts = [scorer.scores(query).copy() for scorer in map(self.scorer, range(len(self.parts)))]
        return np.concatenate([none, *parts])

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
        hashes, in_order, number = _vocabulary(builder)
        out.add("length", [builder.lengths()])
        out.add("hash", [hashes])
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


def _vocabulary(builder: PostingsBuilder) -> tuple[Integers, list[str], npt.NDArray[np.int32]]:
    """The terms by their hashes, in order: the hashes, the terms, and their numbers."""
    in_turn = [*builder.terms]
    hashes = np.array([*map(_hash_of, in_turn)], dtype=np.int64)
    order = np.argsort(hashes, kind="stable")
    numbers = np.array([*builder.terms.values()], dtype=np.int32)
    return hashes[order], [in_turn[row] for row in order.tolist()], numbers[order]


def _hash_of(term: str) -> int:
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


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
