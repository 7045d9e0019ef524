"""Searching the corpus while queries are written: is a source found, does anything else answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from labeler.arrays import Floats
from labeler.data import Document, Query
from labeler.errors import Misconfigured
from labeler.text.bm25 import Bm25, Bm25Part
from labeler.text.terms import text_to_search
from labeler.text.vectors import DENSE_EXTRA, Encoder, can_encode, embedded_encoder

DEPTH = 100
"""A source that no retriever has among so many first documents was not found."""

_WORDS_OF_A_PASSAGE = 60
_BATCH = 1024


class CorpusSearch:
    """Retrievers over a corpus: BM25, and an encoder's cosine where there is one.

    Each is indexed when it is first used. Without an encoder, the embedded one is taken where it is
    installed.
    """

    def __init__(self, documents: Sequence[Document], encoder: Encoder | None = None) -> None:
        self.documents = documents
        self._encoder = encoder or (embedded_encoder() if can_encode() else None)
        self._row = {document.id: row for row, document in enumerate(documents)}
        self._neighbours: dict[str, Document | None] = {}

    @cached_property
    def _postings(self) -> Bm25Part:
        return Bm25Part.of(map(text_to_search, self.documents))

    @cached_property
    def _cosines(self) -> Callable[[str], Floats]:
        """What gives the cosines of a query's text to all documents."""
        if self._encoder is None:
            raise Misconfigured(DENSE_EXTRA)
        documents, queries = self._encoder.documents, self._encoder.queries
        texts = [text_to_search(document) for document in self.documents]
        batches = [documents(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        vectors = np.concatenate(batches) if batches else documents([])
        return lambda text: (vectors @ queries([text])[0]).astype(np.float64)

    def scores(self, text: str) -> dict[str, Floats]:
        """The scores of all documents by retriever, `-inf` where one does not match."""
        lexical = Bm25.of([self._postings], [text]).scores(text).astype(np.float64)
        scores = {"bm25": np.where(lexical > 0, lexical, -np.inf)}
        if self._encoder is not None:
            scores["dense"] = self._cosines(text)
        return scores

    def best(self, text: str, depth: int) -> list[Document]:
        """The first documents of each retriever, each document once."""
        places: dict[int, None] = {}
        for scores in self.scores(text).values():
            order = np.argsort(-scores, kind="stable")[:depth]
            places |= dict.fromkeys(int(at) for at in order if np.isfinite(scores[at]))
        return [self.documents[at] for at in places]

    def ranks(self, query: Query) -> dict[str, int | None]:
        """The best rank of a query's sources by retriever; None beyond `DEPTH`."""
        sources = [self._row[s["doc_id"]] for s in query.metadata.get("source", ())]
        return {name: _rank(s, sources) for name, s in self.scores(query.text).items()}

    def neighbour(self, document: Document) -> Document | None:
        """The most similar passage under another heading, by BM25; None where none is similar."""
        if document.id not in self._neighbours:
            self._neighbours[document.id] = self._most_similar(document)
        return self._neighbours[document.id]

    def _most_similar(self, document: Document) -> Document | None:
        text = " ".join(document.text.split()[:_WORDS_OF_A_PASSAGE])
        text = f"{document.title} {text}"
        scores = Bm25.of([self._postings], [text]).scores(text)
        for at in np.argsort(-scores, kind="stable")[:DEPTH]:
            other = self.documents[int(at)]
            if scores[at] <= 0:
                return None
            if other.id != document.id and other.title != document.title:
                return other
        return None


def _rank(scores: Floats, sources: Sequence[int]) -> int | None:
    """The rank of the best of some documents, counted from 1; of equals, the earlier is first."""
    best = max(sources, key=lambda row: (scores[row], -row), default=None)
    if best is None or not np.isfinite(scores[best]):
        return None
    rank = 1 + int((scores > scores[best]).sum() + (scores[:best] == scores[best]).sum())
    return rank if rank <= DEPTH else None
