"""The built-in retrieval engines over a corpus, and the fusion of two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from labeler.data import Document, Query, Run
from labeler.runs.engines.bm25 import bm25_run, bm25_tag
from labeler.runs.engines.dense import dense_run
from labeler.runs.fusion import rrf
from labeler.text.vectors import Encoder, can_encode, embedded_encoder, encoder_id

RUN_DEPTH = 1000
FUSED = ("bm25", "dense")

Advance = Callable[[int, int], None]
"""Called with how many documents of how many are indexed."""


class Engine(NamedTuple):
    """A retrieval engine: documents, queries and a depth in, a run out.

    `tag` names the engine with its version, as the last column of its run; `is_available` is false
    where a package that it needs is missing.
    """

    search: Callable[[Sequence[Document], Sequence[Query], int, Advance], Run]
    tag: Callable[[], str]
    is_available: Callable[[], bool] = lambda: True


def dense_engine(encoder: Callable[[], Encoder]) -> Engine:
    """Retrieval by the cosine of an encoder's vectors; it is not looked for before it is used."""

    def search(
        documents: Sequence[Document], queries: Sequence[Query], depth: int, advance: Advance
    ) -> Run:
        return dense_run(documents, queries, encoder(), depth, advance)

    return Engine(search, lambda: encoder().id)


ENGINES: dict[str, Engine] = {
    "bm25": Engine(bm25_run, bm25_tag),
    "dense": dense_engine(embedded_encoder)._replace(tag=encoder_id, is_available=can_encode),
}
"""The engines, by the names of their runs."""

BUILT_IN = (*ENGINES, "hybrid")
"""The names that the runs of a user's own may not have."""


def retrieve(
    documents: Mapping[str, Document],
    queries: Mapping[str, Query],
    advance: Advance = lambda done, total: None,
    encoder: Encoder | None = None,
) -> dict[str, Run]:
    """The runs of the engines that are available, 1,000 deep, and `hybrid`, RRF of BM25 and dense.

    `advance` counts the documents that an engine has indexed; `encoder` is another than the
    embedded one.
    """
    corpus, searched = list(documents.values()), list(queries.values())
    runs = {
        name: engine.search(corpus, searched, RUN_DEPTH, advance)
        for name, engine in engines_with(encoder).items()
        if engine.is_available()
    }
    if all(name in runs for name in FUSED):
        runs["hybrid"] = rrf([runs[name] for name in FUSED], depth=RUN_DEPTH)
    return runs


def engines_with(encoder: Encoder | None) -> dict[str, Engine]:
    """The engines, where the dense one has this encoder; None is the embedded one."""
    return ENGINES if encoder is None else {**ENGINES, "dense": dense_engine(lambda: encoder)}


def tag_of(name: str, encoder: Encoder | None = None) -> str:
    """A run's tag, which names the engine and the encoder of a built-in one."""
    engines = engines_with(encoder)
    if name == "hybrid":
        return "-".join(["rrf", *(engines[fused].tag() for fused in FUSED)])
    return engines[name].tag() if name in engines else name
