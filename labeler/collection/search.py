"""The built-in retrieval engines over a corpus: BM25, and the cosine of vectors."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Collected
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Integers
from labeler.collection.corpus import (
    LINES_OF_A_PART,
    CorpusParts,
    check_corpus_file,
    corpus_lines,
    distinct_documents,
)
from labeler.collection.layout import Collection
from labeler.data import Document, Query, Run
from labeler.files.arrays import Arrays, ArraysWriter, TextsOnDemand, open_arrays, writing_arrays
from labeler.files.atomic import remove_abandoned
from labeler.files.jsonl import RowIndex
from labeler.messages import Advance, Progress, batched, counted, no_progress
from labeler.text.bm25 import (
    USUAL,
    Bm25,
    Bm25Part,
    Bm25Settings,
    PartScorer,
    index_settings,
    write_part,
)
from labeler.text.terms import Encoder, encode, text_to_search
from labeler.trec.files import best

# What an engine searches: documents that are gone through one by one, and indexes of them.

KEPT_FROM = 1 << 24
"""Indexes of a corpus of fewer bytes are not kept: they are made anew in a moment."""

WritePart = Callable[[ArraysWriter, Iterator[str]], None]
"""Writes the index of some documents' texts."""


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """Where the indexes of a corpus are kept, a file for each part of it.

    An index is a file that is whole or not there. Its name says of which lines it is and with which
    settings it was made; those of other lines are removed when one is written. A kill loses none
    but the part that was being made, and documents that are added to the corpus change none but the
    last.
    """

    folder: Path
    corpus: CorpusParts

    def parts(
        self, name: str, settings: Mapping[str, Any], write: WritePart, advance: Advance
    ) -> list[Arrays]:
        """The indexes of all parts; `write` makes those that are missing."""
        files = [self._index(name, part, settings) for part in self.corpus.parts]
        by_part = [open_arrays(*file) for file in files]
        missing = {number for number, part in enumerate(by_part) if part is None}
        for number, documents in self.corpus.documents(missing) if missing else ():
            ids = list[str]()
            with writing_arrays(*files[number]) as out:
                write(out, _texts(_counted(documents, self.corpus.lines, advance), ids))
                out.add_texts("ids", ids)
            by_part[number] = open_arrays(*files[number])
        whole = [arrays for arrays in by_part if arrays is not None]
        if len(whole) < len(by_part):  # another process removed one, which reads another corpus
            return self.parts(name, settings, write, advance)
        if missing:
            self._remove_others()
            self._check_distinct(whole, [files[number][0] for number in missing])
        return whole

    def _index(
        self, name: str, part: str, settings: Mapping[str, Any]
    ) -> tuple[Path, dict[str, Any]]:
        """Where the index of a part is, and what is noted of it."""
        about = {"documents": part, **settings}
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{name}-{part[:12]}-{digest[:12]}.index", about

    def _check_distinct(self, parts: Sequence[Arrays], made: Iterable[Path]) -> None:
        """`BadInput` where an id comes again; what was `made` is then removed."""
        ids = RowIndex()
        several = (part.texts("ids") for part in parts)
        if any(ids.add(doc_id) != row for row, doc_id in enumerate(chain.from_iterable(several))):
            for path in made:
                path.unlink(missing_ok=True)
            check_corpus_file(self.corpus.path)  # which names the line

    def _remove_others(self) -> None:
        """Remove the indexes of other documents, and what killed processes left of any."""
        remove_abandoned(self.folder)
        current = {part[:12] for part in self.corpus.parts}
        for path in self.folder.glob("*.index"):
            if not current.intersection(path.stem.split("-")[-2:-1]):
                with suppress(OSError):  # another process may read it, where that forbids it
                    path.unlink()


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents to search: `again` goes through all `count` of them, each time it is called.

    `indexes` is where those of the documents are kept, None where they are not. `sha256` is the
    hash of the file that the documents are in, and empty where they are in none. `bm25` is how BM25
    searches them.
    """

    again: Callable[[], Iterator[Document]]
    count: int
    indexes: IndexFolder | None = None
    sha256: str = ""
    bm25: Bm25Settings = USUAL

    @classmethod
    def of(cls, documents: Collected[Document]) -> Searched:
        """Documents that can be gone through again, wherever their texts are."""
        return cls(lambda: iter(documents), len(documents))

    def counted(self, advance: Advance) -> Iterator[Document]:
        """The documents, each of them counted as it is passed."""
        return counted(self.again(), self.count, advance)


def searched_corpus(
    collection: Collection,
    progress: Progress = no_progress,
    kept_from: int = KEPT_FROM,
    lines_of_a_part: int = LINES_OF_A_PART,
    bm25: Bm25Settings = USUAL,
) -> Searched:
    """The documents of a collection, which stay in its file; `progress` counts bytes of it.

    Where `bm25` names no analyzer, that of the language of most of the first documents is taken.
    """
    path = collection.corpus
    with progress("reading the corpus") as advance:
        corpus = CorpusParts.of(path, lines_of_a_part, advance)
    is_kept = path.stat().st_size >= kept_from
    indexes = IndexFolder(collection.indexes, corpus) if is_kept else None
    first = (document.text for _, document in islice(corpus_lines(path), _FIRST))
    settings, documents = bm25.for_texts(first), partial(distinct_documents, path)
    return Searched(documents, corpus.lines, indexes, corpus.sha256, settings)


_FIRST = 200
"""The language of so many documents is looked at."""


def _counted(
    documents: Iterable[tuple[int, Document]], total: int, advance: Advance
) -> Iterator[Document]:
    for number, document in documents:
        yield document
        advance(number, total)


# The best rows of a query, of scores that come part by part.


class BestRows:
    """Keeps the `depth` rows of the highest scores; of equal ones, those whose ids are last.

    No row of less than `floor` can be among them any more. `ids` are those of the rows, which are
    looked up where scores tie, and in the end.
    """

    def __init__(self, depth: int, ids: Sequence[str]) -> None:
        self._depth, self._ids = depth, ids
        self._rows = np.zeros(0, np.int64)
        self._scores = np.zeros(0, np.float32)
        self.floor = -np.inf

    def __len__(self) -> int:
        return len(self._rows)

    def near(self, scores: NDArray[np.float32]) -> Integers:
        """Those of some rows that may be among the best, by scores that are off by a little."""
        near = np.flatnonzero(scores >= self.floor - _ROUNDING)
        if len(near) > self._depth:
            floor = float(np.partition(scores[near], -self._depth)[-self._depth])
            near = near[scores[near] >= floor - _ROUNDING]
        return near

    def add(self, rows: Integers, scores: NDArray[np.float32]) -> None:
        """Take further rows and their scores."""
        if not len(rows):
            return
        self._rows = np.concatenate([self._rows, rows])
        self._scores = np.concatenate([self._scores, scores])
        if len(self._rows) <= self._depth:
            return
        self.floor = float(np.partition(self._scores, -self._depth)[-self._depth])
        self._take(np.flatnonzero(self._scores >= self.floor))
        if len(self._rows) > 2 * self._depth:
            self._break_ties()

    def ranked(self) -> dict[str, float]:
        """The ids of the best rows with their scores, ties by id descending."""
        return best(self._scores, [self._ids[row] for row in self._rows.tolist()], self._depth)

    def _break_ties(self) -> None:
        above, tied = self._scores > self.floor, np.flatnonzero(self._scores == self.floor)
        room = self._depth - int(above.sum())
        last = sorted(tied.tolist(), key=lambda at: self._ids[int(self._rows[at])])[-room:]
        self._take(np.concatenate([np.flatnonzero(above), np.array(last, np.int64)]))

    def _take(self, places: Integers) -> None:
        self._rows, self._scores = self._rows[places], self._scores[places]


# The ids of documents whose index lies in several files.

_OPEN = 64
"""So many of the files are open at a time."""


class IdsInParts(TextsOnDemand):
    """The ids of several files as if they stood in one."""

    def __init__(self, parts: Sequence[Arrays]) -> None:
        self._ends = [*accumulate(part.shape("ids end")[0] for part in parts)]
        self._texts = lru_cache(maxsize=_OPEN)(lambda part: parts[part].texts("ids"))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, index: int) -> str:
        """The id of one row, from 0."""
        part = bisect_right(self._ends, index)
        return self._texts(part).at(index - (self._ends[part - 1] if part else 0))


# BM25 as a retrieval engine.


def bm25_run(
    searched: Searched, queries: Sequence[Query], depth: int, progress: Progress = no_progress
) -> Run:
    """Rank by BM25 (Lucene's variant); documents without a query term are left out."""
    return Bm25Index.of(searched, progress).run(queries, depth, progress)


@dataclass(frozen=True)
class Bm25Index:
    """The index of documents in parts, and their ids: kept in files, or made in the memory."""

    parts: Sequence[Bm25Part]
    ids: Sequence[str]
    settings: Bm25Settings = USUAL

    @classmethod
    def of(cls, searched: Searched, progress: Progress = no_progress) -> Bm25Index:
        """The index of documents; what is missing of it is made first."""
        if searched.indexes is not None:
            indexed = _kept_parts(searched.indexes, progress, searched.bm25)
            return cls(_PartsInFiles(indexed), IdsInParts(indexed), searched.bm25)
        ids: list[str] = []
        with progress("indexing, BM25") as advance:
            texts = _texts(searched.counted(advance), ids)
            return cls([Bm25Part.of(texts, searched.bm25)], ids, searched.bm25)

    def run(self, queries: Sequence[Query], depth: int, progress: Progress = no_progress) -> Run:
        """The ranking of each query, part by part for all queries."""
        index = Bm25.of(self.parts, [query.text for query in queries], self.settings)
        several = [BestRows(depth, self.ids) for _ in queries]
        first, steps = 0, len(self.parts) * len(queries)
        with progress("searching, BM25") as advance:
            for part in range(len(self.parts)):
                scorer = PartScorer(index, part)
                for number, (query, best) in enumerate(zip(queries, several, strict=True), start=1):
                    scores = scorer.scores(query.text)
                    rows = np.flatnonzero(scores >= best.floor if best.floor > 0 else scores > 0)
                    best.add(rows + first, scores[rows])
                    advance(part * len(queries) + number, steps)
                first += len(scorer)
        return {query.id: best.ranked() for query, best in zip(queries, several, strict=True)}


def _kept_parts(folder: IndexFolder, progress: Progress, bm25: Bm25Settings) -> list[Arrays]:
    def write(out: ArraysWriter, texts: Iterator[str]) -> None:
        write_part(out, texts, bm25)

    with progress("indexing, BM25") as advance:
        return folder.parts("bm25", index_settings(bm25), write, advance)


class _PartsInFiles(Sequence[Bm25Part]):
    """Parts of an index, each opened when it is looked at: a process may open few files."""

    def __init__(self, parts: Sequence[Arrays]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: int) -> Bm25Part:  # type: ignore[override]  # none asks for slices
        return Bm25Part.within(self._parts[number])


def _texts(documents: Iterator[Document], ids: list[str]) -> Iterator[str]:
    """The texts of documents; their ids are added to `ids`."""
    for document in documents:
        ids.append(document.id)
        yield text_to_search(document)


# The cosine of vectors as a retrieval engine, which come a block at a time.

Vectors = NDArray[np.float32]

BATCH = 1024
ROWS_AT_ONCE = 1 << 14
"""Of 256 numbers, 16 MB."""
_QUERIES_AT_ONCE = 256
_ROUNDING = 1e-4
"""Far more than a product of unit vectors in 32-bit floats is ever off."""


def dense_run(
    searched: Searched,
    queries: Sequence[Query],
    encoder: Encoder,
    depth: int,
    progress: Progress = no_progress,
) -> Run:
    """Rank by the cosine of the vectors that `encoder` gives."""
    return DenseIndex.of(searched, encoder, progress).run(queries, depth, progress)


@dataclass(frozen=True)
class DenseIndex:
    """The vectors of documents, to be searched again and again, and their ids.

    They are held where the documents are few, and those of the embedded encoder kept with the other
    indexes. Those of a server are gone through each time; they are kept elsewhere.
    """

    encoder: Encoder
    blocks: Callable[[Progress], Iterator[Vectors]]
    ids: Sequence[str]

    @classmethod
    def of(cls, searched: Searched, encoder: Encoder, progress: Progress) -> DenseIndex:
        """The vectors of documents; what is missing of them is made first."""
        ids: list[str] = []
        passed = partial(_encoded, searched, encoder, ids)
        if searched.indexes is None:
            held = [*passed(progress)]
            return cls(encoder, lambda _progress: iter(held), ids)
        if encoder.documents is not encode:
            return cls(encoder, passed, ids)
        parts = _kept_vectors(searched.indexes, encoder, progress)
        return cls(encoder, partial(_kept_blocks, parts), IdsInParts(parts))

    def run(self, queries: Sequence[Query], depth: int, progress: Progress = no_progress) -> Run:
        """The ranking of each query.

        A block's products are computed at once, which is fast, and whose last digits depend on how
        the block was cut. So those that may be among the best are computed again in 64 bits, one by
        one: equal texts have equal scores, wherever they stand.
        """
        vectors = self.encoder.queries([query.text for query in queries])
        several = [BestRows(depth, self.ids) for _ in queries]
        first = 0
        for block in self.blocks(progress):
            for start in range(0, len(vectors), _QUERIES_AT_ONCE):
                products = vectors[start : start + _QUERIES_AT_ONCE] @ block.T
                for number, product in enumerate(products, start):
                    near = several[number].near(product)
                    exact = block[near].astype(float) @ vectors[number].astype(float)
                    several[number].add(near + first, exact.astype(np.float32))
            first += len(block)
        return {query.id: best.ranked() for query, best in zip(queries, several, strict=True)}


def _encoded(
    searched: Searched, encoder: Encoder, ids: list[str], progress: Progress
) -> Iterator[Vectors]:
    """The vectors of all documents, a batch at a time; their ids take the place of `ids`."""
    ids.clear()
    with progress("encoding") as advance:
        texts = batched(_texts(searched.counted(advance), ids), BATCH)
        yield from map(encoder.documents, texts)


def _kept_vectors(folder: IndexFolder, encoder: Encoder, progress: Progress) -> list[Arrays]:
    """The index of vectors in parts; a kill loses none but the part that is being encoded."""

    def write(out: ArraysWriter, texts: Iterator[str]) -> None:
        out.add("vectors", map(encoder.documents, batched(texts, BATCH)))

    with progress("encoding") as advance:
        return folder.parts("vectors", {"vectors": 2, "encoder": encoder.id}, write, advance)


def _kept_blocks(parts: Sequence[Arrays], progress: Progress) -> Iterator[Vectors]:
    """The rows of an index of vectors, a block at a time."""
    rows, done = sum(part.shape("vectors")[0] for part in parts), 0
    with progress("searching, dense") as advance:
        for part in parts:
            for first in range(0, part.shape("vectors")[0], ROWS_AT_ONCE):
                block = part.rows("vectors", first, first + ROWS_AT_ONCE)
                yield block
                done += len(block)
                advance(done, rows)
