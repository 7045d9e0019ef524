"""The built-in retrieval engines over a corpus, and the fusion of two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from labeler.collection.search.bm25 import bm25_run, bm25_tag
from labeler.collection.search.dense import dense_run
from labeler.collection.search.searched import Searched
from labeler.data import Document, Query, Run
from labeler.messages import Progress, no_progress
from labeler.runs.fusion import rrf
from labeler.text.vectors import Encoder, can_encode, embedded_encoder, encoder_id

RUN_DEPTH = 1000
FUSED = ("bm25", "dense")


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
    "bm25": Engine(bm25_run, bm25_tag),
    "dense": dense_engine(embedded_encoder)._replace(tag=encoder_id, is_available=can_encode),
}
"""The engines, by the names of their runs."""

BUILT_IN = (*ENGINES, "hybrid")
"""The names that the runs of a user's own may not have."""


def retrieve(
    documents: Searched | Mapping[str, Document],
    queries: Mapping[str, Query],
    progress: Progress = no_progress,
    encoder: Encoder | None = None,
    dense: Run | None = None,
) -> dict[str, Run]:
    """The runs of the available engines, 1,000 deep, and `hybrid`, RRF of BM25 and dense.

    `encoder` is another than the embedded one. `dense` is the dense run where there is one already,
    as from a database.
    """
    searched = documents if isinstance(documents, Searched) else Searched.within(documents)
    engines = engines_with(encoder)
    if dense is not None:
        engines["dense"] = engines["dense"]._replace(
            search=lambda *_: dense, is_available=lambda: True
        )
    runs = {
        name: engine.search(searched, list(queries.values()), RUN_DEPTH, progress)
        for name, engine in engines.items()
        if engine.is_available()
    }
    if all(name in runs for name in FUSED):
        with progress("fusing") as advance:
            fused = [runs[name] for name in FUSED]
            runs["hybrid"] = rrf(fused, depth=RUN_DEPTH, advance=advance)
    return runs


def engines_with(encoder: Encoder | None) -> dict[str, Engine]:
    """The engines, where the dense one has this encoder; None is the embedded one."""
    own = {} if encoder is None else {"dense": dense_engine(lambda: encoder)}
    return {**ENGINES, **own}


def tag_of(name: str, encoder: Encoder | None = None) -> str:
    """A run's tag, which names the engine and the encoder of a built-in one."""
    engines = engines_with(encoder)
    if name == "hybrid":
        return "-".join(["rrf", *(engines[fused].tag() for fused in FUSED)])
    return engines[name].tag() if name in engines else name
