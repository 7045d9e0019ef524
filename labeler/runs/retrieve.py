"""Running the built-in retrievers over a collection, and adding what they find to its pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

from labeler.data import Document, Query, Run
from labeler.runs.engines.bm25 import bm25_run
from labeler.runs.engines.dense import dense_run
from labeler.runs.fusion import rrf
from labeler.text.vectors import Encode, encoder_id

RUN_DEPTH = 1000
BUILT_IN = ("bm25", "dense", "hybrid")


def retrieve(
    documents: Mapping[str, Document],
    queries: Mapping[str, Query],
    encode: Encode | None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Run]:
    """The runs of the built-in retrievers, 1,000 deep; BM25 alone where nothing can `encode`.

    `advance` counts encoded documents.
    """
    corpus, searched = list(documents.values()), list(queries.values())
    runs = {"bm25": bm25_run(corpus, searched, RUN_DEPTH)}
    if encode:
        runs["dense"] = dense_run(corpus, searched, encode, RUN_DEPTH, advance)
        runs["hybrid"] = rrf([runs["bm25"], runs["dense"]], depth=RUN_DEPTH)
    return runs


def tag_of(name: str) -> str:
    """A run's tag, which names the engine and the encoder of a built-in one."""
    if name == "bm25":
        return f"bm25s-{version('bm25s')}"
    if name in BUILT_IN:
        return encoder_id() if name == "dense" else f"rrf-bm25s-{version('bm25s')}-{encoder_id()}"
    return name
