"""Searching the corpus while queries are written: is a source found, does anything else answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

from labeler.collection.layout import Collection
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.search.bm25 import Bm25Index
from labeler.collection.search.dense import DenseIndex
from labeler.collection.search.searched import KEPT_FROM, Searched, searched_corpus
from labeler.data import Document, Query, Run
from labeler.messages import Progress, no_progress
from labeler.text.vectors import Encoder, can_encode, embedded_encoder

DEPTH = 100
"""A source that no retriever has among so many first documents was not found."""

_WORDS_OF_A_PASSAGE = 60


class CorpusSearch:
    """Retrievers over a corpus: BM25, and an encoder's cosine where there is one.

    Each is indexed when it is first used; the indexes of a large corpus are those that `pool`
    keeps. Without an encoder, the embedded one is taken where it is installed.
    """

    def __init__(
        self,
        searched: Searched,
        documents: Mapping[str, Document],
        encoder: Encoder | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self.documents = documents
        self._searched, self._progress = searched, progress
        self._encoder = encoder or (embedded_encoder() if can_encode() else None)
        self._neighbours: dict[str, Document | None] = {}

    @classmethod
    def of(cls, collection: Collection, progress: Progress = no_progress) -> CorpusSearch:
        """The retrievers over a collection's corpus, whose texts stay in its file.

        The progress is that of a large corpus; a small one is indexed in a moment.
        """
        documents = corpus_on_demand(collection.corpus)
        is_large = collection.corpus.stat().st_size >= KEPT_FROM
        shown = progress if is_large else no_progress
        with shown("reading the corpus") as advance:
            searched = searched_corpus(collection, advance)
        return cls(searched, documents, progress=shown)

    def with_encoder(self, encoder: Encoder) -> CorpusSearch:
        """The same, with another encoder."""
        other = copy(self)
        other._encoder = encoder
        vars(other).pop("_dense", None)
        return other

    def prepare(self) -> None:
        """Index the corpus now, so that no search has to wait for it."""
        _ = self._bm25, self._dense

    @cached_property
    def _bm25(self) -> Bm25Index:
        return Bm25Index.of(self._searched, self._progress)

    @cached_property
    def _dense(self) -> DenseIndex | None:
        if self._encoder is None:
            return None
        return DenseIndex(self._searched, self._encoder, self._progress)

    def best(self, text: str, depth: int) -> list[Document]:
        """The first documents of each retriever, each document once."""
        query = Query("", text)
        first = (doc_id for run in self._runs([query], depth).values() for doc_id in run[""])
        return [self.documents[doc_id] for doc_id in dict.fromkeys(first)]

    def ranks(self, queries: Sequence[Query]) -> list[dict[str, int | None]]:
        """The best rank of each query's sources by retriever; None beyond `DEPTH`."""
        runs = self._runs(queries, DEPTH)
        return [{name: _rank(run, query) for name, run in runs.items()} for query in queries]

    def bm25_ranks(self, queries: Sequence[Query]) -> list[int | None]:
        """The same by BM25 alone."""
        run = self._bm25.run(queries, DEPTH)
        return [_rank(run, query) for query in queries]

    def neighbour(self, document: Document) -> Document | None:
        """The most similar passage under another heading, by BM25; None where none is similar."""
        if document.id not in self._neighbours:
            self._neighbours[document.id] = self._most_similar(document)
        return self._neighbours[document.id]

    def _runs(self, queries: Sequence[Query], depth: int) -> dict[str, Run]:
        runs = {"bm25": self._bm25.run(queries, depth, self._progress)}
        if self._dense is not None:
            runs["dense"] = self._dense.run(queries, depth, self._progress)
        return runs

    def _most_similar(self, document: Document) -> Document | None:
        text = " ".join(document.text.split()[:_WORDS_OF_A_PASSAGE])
        run = self._bm25.run([Query("", f"{document.title} {text}")], DEPTH)
        others = (self.documents[doc_id] for doc_id in run[""] if doc_id != document.id)
        return next((other for other in others if other.title != document.title), None)


def _rank(run: Run, query: Query) -> int | None:
    """The rank of the first of a query's sources, counted from 1."""
    sources = {source["doc_id"] for source in query.metadata.get("source", ())}
    ranked = enumerate(run[query.id], start=1)
    return next((rank for rank, doc_id in ranked if doc_id in sources), None)
