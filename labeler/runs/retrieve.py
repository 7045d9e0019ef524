"""The built-in retrieval engines over a corpus, and the fusion of two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from labeler.data import Document, Query, Run
from labeler.runs.engines.bm25 import bm25_run, bm25_tag
from labeler.runs.engines.dense import embedded_run
from labeler.runs.fusion import rrf
from labeler.text.vectors import can_encode, encoder_id

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


ENGINES: dict[str, Engine] = {
    "bm25": Engine(bm25_run, bm25_tag),
    "dense": Engine(embedded_run, encoder_id, can_encode),
}
"""The engines, by the names of their runs."""

BUILT_IN = (*ENGINES, "hybrid")
"""The names that the runs of a user's own may not have."""


def retrieve(
    documents: Mapping[str, Document],
    queries: Mapping[str, Query],
    advance: Advance = lambda done, total: None,
) -> dict[str, Run]:
    """The runs of the engines that are available, 1,000 deep, and `hybrid`, RRF of BM25 and dense.

    `advance` counts the documents that an engine has indexed.
    """
    corpus, searched = list(documents.values()), list(queries.values())
    runs = {
        name: engine.search(corpus, searched, RUN_DEPTH, advance)
        for name, engine in ENGINES.items()
        if engine.is_available()
    }
    if all(name in runs for name in FUSED):
        runs["hybrid"] = rrf([runs[name] for name in FUSED], depth=RUN_DEPTH)
    return runs


def tag_of(name: str) -> str:
    """A run's tag, which names the engine and the encoder of a built-in one."""
    if name == "hybrid":
        return "-".join(["rrf", *(ENGINES[fused].tag() for fused in FUSED)])
    return ENGINES[name].tag() if name in ENGINES else name
