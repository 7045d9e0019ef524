"""`chunk`: which length of passages lets retrieval find the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import numpy as np

from labeler.collection.corpus import read_corpus
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    is_collection,
    locked,
    open_collection,
)
from labeler.collection.queries import read_queries, write_queries
from labeler.corpus.blocks import lengths_of
from labeler.corpus.documents import read_documents
from labeler.corpus.ingest import ingest, inputs_of, settings_of
from labeler.corpus.rechunk import check_unedited
from labeler.data import Document, Query
from labeler.errors import BadInput, Misuse
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.queries.passages import heading_queries
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Table, table_of
from labeler.runs.retrieve import retrieve
from labeler.stats.means import bounded_interval
from labeler.text.languages import count_words
from labeler.trec.runs import ranking

DEPTH = 10
READ = 1_000
"""So many words of the ranking are read, however many passages they are."""

_HEADINGS = 50


class Span(NamedTuple):
    """Where in a file the passage stands that a query was written for."""

    source: str
    start: int
    end: int


class Chunking(NamedTuple):
    """How one retriever does with passages of one length.

    `right` is the share of queries with a right passage among the first ten: one that shares half
    of the shorter of itself and the source span. `covered` is the share of the source span that the
    first thousand words of the ranking hold. Both are means over queries with intervals.
    """

    words: int
    passages: int
    run: str
    right: Annotated[Interval, Column("right", f"right in {DEPTH}", ".3f", ends=".3f")]
    covered: Annotated[Interval, Column("covered", f"covered in {READ:,} words", ".3f", ends=".3f")]


@dataclass(frozen=True, eq=False, repr=False)
class ChunkComparison(Result):
    """The chunkings side by side, over so many queries; `own_words` is the collection's length.

    `of_headings` says that headings stood in for queries.
    """

    queries: int
    own_words: int
    chunkings: tuple[Chunking, ...]
    of_headings: Hidden[bool] = False

    @property
    def sentences(self) -> list[str]:
        """What the figures are shares of, and where the queries come from."""
        came = f"the queries were written for passages of about {self.own_words} words"
        if self.of_headings:
            came = "headings stood in for queries: they stand in the titles that are searched, too"
        return [
            f"over {count_of(self.queries, 'query', 'queries')}, with 95% intervals; {came}",
            "right: the share of queries with a passage of their source among the first ten",
            "covered: how much of the source stands in the first passages, 1,000 words of them",
        ]

    def tables(self) -> list[Table]:
        """A row for each length and retriever."""
        return [table_of("chunkings", Chunking, self.chunkings)]

    def __repr__(self) -> str:
        lengths = dict.fromkeys(chunking.words for chunking in self.chunkings)
        return f"ChunkComparison({', '.join(map(str, lengths))} words, {self.queries} queries)"


def compare_chunkings(
    source: AnyCollection,
    words: Sequence[int] = (100, 200, 400),
    *,
    control: Control | None = None,
) -> ChunkComparison:
    """Cut the documents of a collection in several ways, and look for the sources of its queries.

    `source` is a collection that `ingest` made, whose queries name the passages that they were
    written for; or a folder of documents, whose headings then stand in for queries. Nothing is
    written into either. The longer a passage, the more of a source it holds, and the fewer of them
    can be read: `covered` lets each length read as many words.

    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pets.md").write_text("# Cats\\n\\n" + "A cat sleeps. " * 200)
    ...     compare_chunkings(folder, [50, 100])
    ChunkComparison(50, 100 words, 1 queries)
    """
    control = control or Control()
    if not words:
        raise Misuse("expected one length or more", parameter="words")
    lengths = [lengths_of(each).usual for each in dict.fromkeys(words)]
    if Path(source.folder if isinstance(source, Collection) else source).is_dir() and (
        isinstance(source, Collection) or is_collection(Path(source))
    ):
        opened = open_collection(source)
        return _compared(opened, lengths, control)
    with TemporaryDirectory(prefix="labeler-chunk-") as folder:
        made = Collection(Path(folder))
        ingest(str(source), made, control=control)
        queries = heading_queries(read_corpus(made.corpus).values(), _HEADINGS, seed=0)
        with locked(made):
            write_queries(made.queries, queries)
        compared = _compared(made, lengths, control)
        return replace(compared, of_headings=True)


def _compared(collection: Collection, lengths: Sequence[int], control: Control) -> ChunkComparison:
    names, own = inputs_of(collection), settings_of(collection)
    old = read_corpus(collection.corpus)
    queries = read_queries(collection.queries)
    spans = {q.id: sources for q in queries.values() if (sources := list(_spans(q, old)))}
    if not names or not spans:
        problem = "no query names the passage that it was written for, with its place in a file"
        missing = "its card does not say where the documents are" if not names else problem
        raise BadInput(f"{collection.folder}: {missing}; nothing to compare chunkings by")
    asked = {id_: queries[id_] for id_ in spans}
    chunkings: list[Chunking] = []
    for words in lengths:
        with control.progress(f"files for {words} words") as advance:
            read = read_documents(names, (), advance, own.of_length(words))
        check_unedited(old, read.documents)
        runs = retrieve(read.documents, asked, control.progress)
        for name, run in runs.items():
            ranked = {id_: ranking(run.get(id_, {})) for id_ in asked}
            chunkings.append(_scored(words, name, ranked, spans, read.documents))
    return ChunkComparison(len(asked), own.files.words, tuple(chunkings))


def _spans(query: Query, documents: Mapping[str, Document]) -> Iterator[Span]:
    """Where the passages stand that a query was written for."""
    listed = query.metadata.get("source")
    for source in listed if isinstance(listed, list) else ():
        document = documents.get(str(source.get("doc_id"))) if isinstance(source, dict) else None
        span = _span_of(document) if document else None
        if span:
            yield span


def _span_of(document: Document) -> Span | None:
    metadata = document.metadata
    source, start, end = (metadata.get(key) for key in ("source", "start", "end"))
    if isinstance(source, str) and type(start) is int and type(end) is int and start < end:
        return Span(source, start, end)
    return None


def _scored(
    words: int,
    name: str,
    ranked: Mapping[str, Sequence[str]],
    spans: Mapping[str, Sequence[Span]],
    documents: Mapping[str, Document],
) -> Chunking:
    right, covered = [], []
    for id_, ranking_ in ranked.items():
        top = [_span_of(documents[doc_id]) for doc_id in ranking_[:DEPTH]]
        right.append(float(any(_is_right(p, s) for p in top if p for s in spans[id_])))
        read = [
            p for doc_id in _first_words(ranking_, documents) if (p := _span_of(documents[doc_id]))
        ]
        covered.append(sum(_covered(s, read) for s in spans[id_]) / len(spans[id_]))
    return Chunking(words, len(documents), name, _interval(right), _interval(covered))


def _overlap(first: Span, second: Span) -> int:
    if first.source != second.source:
        return 0
    return max(0, min(first.end, second.end) - max(first.start, second.start))


def _is_right(passage: Span, source: Span) -> bool:
    shorter = min(passage.end - passage.start, source.end - source.start)
    return 2 * _overlap(passage, source) >= shorter


def _first_words(ranked: Sequence[str], documents: Mapping[str, Document]) -> Iterator[str]:
    """The first passages of a ranking, as long as they have no more words than are read."""
    room = READ
    for doc_id in ranked:
        room -= count_words(documents[doc_id].text)
        if room < 0:
            return
        yield doc_id


def _covered(source: Span, passages: Sequence[Span]) -> float:
    """The share of a span that passages hold, each character once."""
    pieces = sorted(
        (max(p.start, source.start), min(p.end, source.end))
        for p in passages
        if _overlap(p, source)
    )
    total, reached = 0, source.start
    for start, end in pieces:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total / (source.end - source.start)


def _interval(values: Sequence[float]) -> Interval:
    array = np.asarray(values, dtype=np.float64)
    ends = bounded_interval(array, (0.0, 1.0))
    low, high = ends or (None, None)
    return Interval(float(array.mean()), low, high)
