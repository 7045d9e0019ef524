"""Re-ranking a run for diversity, with the vectors of a collection's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats
from labeler.collection.corpus import documents_of
from labeler.collection.search import BATCH
from labeler.collection.user_files import Output
from labeler.data import Document, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import read_run
from labeler.exchange.written import write_run_as
from labeler.messages import count_of
from labeler.text.terms import Encode, text_to_search
from labeler.trec.runs import ranking
from labeler.trec.write import RankedPart

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


def diversify(
    path: Path, corpus: Path, encode: Encode, output: Output | Path, diversity: Diversity
) -> int:
    """Re-rank a run by maximal marginal relevance over the vectors that `encode` gives.

    The first documents of each query are re-ranked and the others dropped; the new scores are 1
    over the new rank. Each document is encoded once. Returns how many lines were written.
    """
    to = Output.of(output, [path, corpus])
    with to.writing():
        run = read_run(path)
        documents = _first_documents(path, run, corpus, diversity.depth)
        vectors = _vectors(documents, encode)
        return write_run_as(to.path, _re_ranked(run, vectors, diversity), diversity.tag)


def texts_to_diversify(path: Path, corpus: Path, depth: int) -> list[str]:
    """The texts of the documents that a run has among the first of any query."""
    documents = _first_documents(path, read_run(path), corpus, depth)
    return list(map(text_to_search, documents.values()))


def _first_documents(path: Path, run: Run, corpus: Path, depth: int) -> dict[str, Document]:
    """The documents of a run that are re-ranked; `BadInput` where the corpus lacks some."""
    ids = {doc_id for scores in run.values() for doc_id in ranking(scores)[:depth]}
    documents = documents_of(corpus, ids)
    if missing := sorted(ids - documents.keys()):
        count = count_of(len(missing), "document is", "documents are")
        raise BadInput(f"{path}: {count} not in {corpus}: {', '.join(missing[:_SHOWN])}")
    return documents


def _vectors(documents: Mapping[str, Document], encode: Encode) -> dict[str, NDArray[np.float32]]:
    texts = list(map(text_to_search, documents.values()))
    parts = [encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    rows = (row for part in parts for row in part)
    return dict(zip(documents, rows, strict=True))


def _re_ranked(
    run: Run, vectors: Mapping[str, NDArray[np.float32]], diversity: Diversity
) -> Iterator[RankedPart]:
    """The first documents of each query in their new order."""
    for query_id, scores in run.items():
        ids = ranking(scores)[: diversity.depth]
        unit = np.array([vectors[doc_id] for doc_id in ids], dtype=np.float64)
        values = np.array([scores[doc_id] for doc_id in ids], dtype=np.float64)
        taken = mmr(values, unit @ unit.T, diversity.balance, diversity.depth)
        texts = [ids[index].encode() for index in taken]
        query = np.zeros(len(taken), dtype=np.int64)
        yield RankedPart([query_id.encode()], query, texts, 1 / np.arange(1, len(taken) + 1))


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
