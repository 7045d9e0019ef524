"""Re-ranking a run for diversity, with the vectors of a collection's documents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.collection.corpus import corpus_lines
from labeler.collection.search import BATCH
from labeler.collection.user_files import Output
from labeler.data import Document
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import indexed_run
from labeler.exchange.written import write_run_as
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encode
from labeler.trec.index import Batch, Index, batches
from labeler.trec.write import RankedPart

Ids = NDArray[np.bytes_]
_SHOWN = 3


@dataclass(frozen=True)
class Diversity:
    """What to ask of a run: `balance` 1 is its own order, 0 novelty alone, among `depth` documents.

    `tag` is the new run's.
    """

    balance: float = 0.5
    depth: int = 100
    tag: str = "mmr"

    def __post_init__(self) -> None:
        if not 0 <= self.balance <= 1:
            raise Misuse(
                "balance lies between 0 (novelty alone) and 1 (the run as it is)",
                parameter="balance",
            )
        if self.depth < 1:
            raise Misuse("depth counts from 1", parameter="depth")


@dataclass(frozen=True)
class _Vectors:
    """The vectors of some documents, in a file; `ids` are sorted, `row` says which is whose."""

    ids: Ids
    row: Integers
    file: IO[bytes]
    width: int

    def of(self, documents: Sequence[bytes]) -> NDArray[np.float32]:
        """Their vectors, a row each."""
        size = 4 * self.width
        rows = self.row[np.searchsorted(self.ids, np.array(documents))].tolist()
        read = []
        for row in rows:
            self.file.seek(row * size)
            read.append(self.file.read(size))
        return np.frombuffer(b"".join(read), dtype=np.float32).reshape(len(rows), self.width)


def diversify(
    run: Path, corpus: Path, encode: Encode, output: Output | Path, diversity: Diversity
) -> int:
    """Re-rank a run by maximal marginal relevance over the vectors that `encode` gives.

    The first documents of each query are re-ranked and the others dropped; the new scores are 1
    over the new rank. Each document is encoded once. Returns how many lines were written.
    """
    to = Output.of(output, [run, corpus])
    with ExitStack() as stack:
        stack.enter_context(to.writing())
        index = stack.enter_context(indexed_run(run))
        vectors = stack.enter_context(_encoded(index, corpus, encode, diversity))
        parts = (_re_ranked(batch, vectors, diversity) for batch in batches([index]))
        return write_run_as(to.path, parts, diversity.tag)


def texts_to_diversify(run: Path, corpus: Path, depth: int) -> list[str]:
    """The texts of the documents that a run has among the first of any query."""
    with indexed_run(run) as index:
        ids = {text.decode() for b in batches([index]) for text in b.texts(_first(b, depth))}
    return [text_to_search(document) for _, document in corpus_lines(corpus) if document.id in ids]


def _re_ranked(batch: Batch, vectors: _Vectors, diversity: Diversity) -> RankedPart:
    lines = _first(batch, diversity.depth)
    edges = np.searchsorted(batch.query[lines], np.arange(len(batch.names) + 1)).tolist()
    order: list[int] = []
    scores: list[float] = []
    for first, last in pairwise(edges):
        unit = vectors.of(batch.texts(lines[first:last])).astype(np.float64)
        taken = mmr(
            batch.score[lines[first:last]], unit @ unit.T, diversity.balance, diversity.depth
        )
        order += [first + index for index in taken]
        scores += [1 / rank for rank in range(1, len(taken) + 1)]
    best = lines[order]
    return RankedPart(batch.names, batch.query[best], batch.texts(best), np.array(scores))


def _first(batch: Batch, depth: int) -> Integers:
    """The lines of each query's first documents, in order."""
    order: Integers = batch.ranked[batch.ranks[batch.ranked] <= depth]
    return order


@contextmanager
def _encoded(
    index: Index, corpus: Path, encode: Encode, diversity: Diversity
) -> Iterator[_Vectors]:
    """The vectors of the documents that are re-ranked; `BadInput` where the corpus lacks some."""
    ids = np.array([], dtype="S1")
    for batch in batches([index]):
        batch.refuse_repeated()
        ids = np.union1d(ids, np.array(batch.texts(_first(batch, diversity.depth))))
    row = np.full(len(ids), -1, dtype=np.int64)
    with tempfile.TemporaryFile(prefix="labeler-") as file:
        count = width = 0
        for some in _in_parts(corpus_lines(corpus)):
            documents = _to_encode(corpus, some, ids, row)
            if not documents:
                continue
            vectors = encode([text_to_search(document) for document in documents.values()])
            row[list(documents)] = np.arange(count, count + len(documents))
            count, width = count + len(documents), vectors.shape[1]
            file.write(vectors.astype(np.float32).tobytes())
        file.flush()
        if (row < 0).any():
            raise BadInput(_missing(index, corpus, ids[row < 0]))
        yield _Vectors(ids, row, file, width)


def _in_parts(lines: Iterator[tuple[int, Document]]) -> Iterator[list[tuple[int, Document]]]:
    while some := list(islice(lines, BATCH)):
        yield some


def _to_encode(
    corpus: Path, some: Sequence[tuple[int, Document]], ids: Ids, row: Integers
) -> dict[int, Document]:
    """The documents whose ids are among `ids`, by their indices there; none has a row yet."""
    keys = np.array([document.id.encode() for _, document in some])
    indices = np.minimum(np.searchsorted(ids, keys), len(ids) - 1)
    documents: dict[int, Document] = {}
    for (number, document), index in zip(some, indices.tolist(), strict=True):
        if ids[index] != document.id.encode():
            continue
        if index in documents or row[index] >= 0:
            problem = f"the id {document.id!r} stands in an earlier line too"
            raise BadInput.at(corpus, number, problem)
        documents[index] = document
    return documents


def _missing(index: Index, corpus: Path, ids: Ids) -> str:
    names = ", ".join(text.decode() for text in ids[:_SHOWN].tolist())
    first = ids[0]
    line = next(number for number, columns in index.numbered() if columns[2] == first)
    count = "1 document is" if len(ids) == 1 else f"{len(ids):,} documents are"
    return f"{index.path}:{line}: {count} not in {corpus}: {names}"


def mmr(scores: Floats, similarity: Floats, balance: float, depth: int) -> list[int]:
    """Maximal marginal relevance: which of some documents to take first, second … up to `depth`.

    Each next one maximises `balance` times its score, scaled to 0 … 1, less 1 - `balance` times its
    highest similarity to those taken (none counts as 0). `similarity` is square. Of equals the
    earlier one wins. After Carbonell and Goldstein (SIGIR 1998).
    """
    low, high = float(scores.min()), float(scores.max())
    scaled = (scores - low) / (high - low) if high > low else np.zeros_like(scores)
    nearest = np.zeros_like(scaled)
    free = np.ones(len(scores), dtype=np.bool_)
    taken: list[int] = []
    for _ in range(min(depth, len(scores))):
        gain = np.where(free, balance * scaled - (1 - balance) * nearest, -np.inf)
        best = int(np.argmax(gain))
        nearest = np.maximum(nearest, similarity[best]) if taken else similarity[best]
        free[best] = False
        taken.append(best)
    return taken
