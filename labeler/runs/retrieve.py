"""The built-in retrieval engines over a corpus, and the fusion of two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from labeler.collection.corpus import CorpusTexts
from labeler.collection.layout import AnyCollection, Collection, check_name, open_collection
from labeler.collection.queries import query_texts
from labeler.collection.search import Searched, bm25_run, dense_run
from labeler.data import Document, Query, Run
from labeler.errors import Misuse
from labeler.messages import Note, Progress, no_progress
from labeler.models.encoders import EncoderTexts, Encoding, EncodingPlan
from labeler.runs.fuse import rrf
from labeler.text.bm25 import USUAL, Bm25Settings, bm25_name
from labeler.text.terms import Encoder, can_encode, embedded_encoder, encoder_id, text_to_search
from labeler.trec.files import ranking

RUN_DEPTH = 1000
FUSED = ("bm25", "dense")


def texts_to_encode(collection: Collection) -> EncoderTexts:
    """What is searched in a collection, and what for."""
    queries = query_texts(collection.queries)
    return EncoderTexts(CorpusTexts(collection.corpus), list(queries.values()))


def plan_encoder(collection: AnyCollection, encoding: Encoding) -> EncodingPlan | None:
    """What a server would be asked before anything is searched; None where none is."""
    opened = open_collection(collection)
    return encoding.plan(opened.vectors, texts_to_encode(opened))


class Engine(NamedTuple):
    """A retrieval engine: documents, queries and a depth in, a run out.

    `tag` names the engine with its version, as the last column of its run; `is_available` is false
    where a package that it needs is missing.
    """

    search: Callable[[Searched, Sequence[Query], int, Progress], Run]
    tag: Callable[[], str]
    is_available: Callable[[], bool] = lambda: True


def dense_engine(encoder: Callable[[], Encoder]) -> Engine:
    """Retrieval by the cosine of an encoder's vectors; it is not looked for before it is used."""

    def search(searched: Searched, queries: Sequence[Query], depth: int, progress: Progress) -> Run:
        return dense_run(searched, queries, encoder(), depth, progress)

    return Engine(search, lambda: encoder().id)


ENGINES: dict[str, Engine] = {
    "bm25": Engine(bm25_run, bm25_name),
    "dense": dense_engine(embedded_encoder)._replace(tag=encoder_id, is_available=can_encode),
}
"""The engines, by the names of their runs."""

BUILT_IN = (*ENGINES, "hybrid")
"""The names that the runs of a user's own may not have."""


def check_run_name(name: str) -> None:
    """Raise `Misuse` where a run of a user's own may not be called so."""
    if name in BUILT_IN:
        raise Misuse(f"the name {name!r} is a built-in run's; take another", parameter="name")
    check_name(name)


def retrieve(
    searched: Searched,
    queries: Mapping[str, Query],
    progress: Progress = no_progress,
    encoder: Encoder | None = None,
) -> dict[str, Run]:
    """The runs of the available engines, 1,000 deep, and `hybrid`, RRF of BM25 and dense.

    `encoder` is another than the embedded one.
    """
    engines = engines_with(encoder)
    runs = {
        name: engine.search(searched, list(queries.values()), RUN_DEPTH, progress)
        for name, engine in engines.items()
        if name in FUSED and engine.is_available()
    }
    if all(name in runs for name in FUSED):
        runs["hybrid"] = rrf([runs[name] for name in FUSED], depth=RUN_DEPTH)
    return runs


def engines_with(encoder: Encoder | None, bm25: Bm25Settings = USUAL) -> dict[str, Engine]:
    """The engines, where the dense one has this encoder; None is the embedded one."""
    own = {} if encoder is None else {"dense": dense_engine(lambda: encoder)}
    return {**ENGINES, "bm25": Engine(bm25_run, lambda: bm25_name(bm25)), **own}


def tag_of(name: str, encoder: Encoder | None = None, bm25: Bm25Settings = USUAL) -> str:
    """A run's tag, which names the engine, and the encoder and the analyzer of a built-in one."""
    engines = engines_with(encoder, bm25)
    if name == "hybrid":
        return "-".join(["rrf", *(engines[fused].tag() for fused in FUSED)])
    return engines[name].tag() if name in engines else name


def note_analyzer(settings: Bm25Settings, asked: Bm25Settings, note: Note) -> None:
    """Say which language BM25 stems by, where the documents decided it, and it is not English."""
    if settings.analyzer != asked.analyzer and settings.makes_terms.name:
        note(
            f"BM25 stems words as {settings.analyzer.capitalize()}, the language of most documents"
        )


# The documents that are most like others, by their terms and by their vectors.


def neighbors(
    searched: Searched,
    seeds: Iterable[Document],
    count: int,
    encoder: Encoder | None = None,
    progress: Progress = no_progress,
) -> dict[str, dict[str, int]]:
    """Of each seed the `count` nearest documents by BM25, and by an encoder, with their best rank.

    A seed is searched for as if its text were a query, and is no neighbor of its own. What shares
    no term with it, or has a cosine of 0 or less, is none either.
    """
    asked = [Query(seed.id, text_to_search(seed)) for seed in seeds]
    runs = [bm25_run(searched, asked, count + 1, progress)]
    if encoder is not None:
        alike = encoder._replace(queries=encoder.documents)  # both sides are documents
        runs.append(dense_run(searched, asked, alike, count + 1, progress))
    near = {}
    for query in asked:
        ranks = near[query.id] = dict[str, int]()
        for run in runs:
            scores = {doc_id: score for doc_id, score in run[query.id].items() if score > 0}
            others = [doc_id for doc_id in ranking(scores) if doc_id != query.id]
            for rank, doc_id in enumerate(others[:count], start=1):
                ranks[doc_id] = min(rank, ranks.get(doc_id, rank))
    return near
