"""Fusing and re-ranking run files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.data import Document, Run
from labeler.errors import BadInput, Misuse
from labeler.formats.trec import read_run
from labeler.fusion import combine, cut, mmr, rrf
from labeler.search.dense import encode

METHODS = ("rrf", "combsum", "combmnz", "wsum")
NORMS = ("min-max", "zscore", "none")


@dataclass(frozen=True)
class Fusion:
    """How to fuse: `k` is RRF's, `norm` and `weights` are for the methods that add scores."""

    method: str = "rrf"
    k: float = 60
    norm: str = "min-max"
    weights: tuple[float, ...] = ()
    depth: int = 1000

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise Misuse(f"no method {self.method!r}; known: {', '.join(METHODS)}")
        if self.norm not in NORMS:
            raise Misuse(f"no norm {self.norm!r}; known: {', '.join(NORMS)}")
        if self.depth < 1 or self.k < 0:
            raise Misuse("--depth counts from 1 and --k from 0")
        if self.weights and self.method != "wsum":
            raise Misuse(f"--weights are for the method wsum, not {self.method}")


def fuse_files(paths: Sequence[Path], fusion: Fusion) -> Run:
    """Some runs as one."""
    if len(paths) < 2:
        raise Misuse("fusing takes two runs or more")
    if fusion.method == "wsum" and len(fusion.weights) != len(paths):
        raise Misuse(f"wsum needs {len(paths)} weights, one for each run, as --weights 0.3,0.7")
    runs = [read_run(path) for path in paths]
    if fusion.method == "rrf":
        return rrf(runs, fusion.k, fusion.depth)
    return combine(runs, fusion.method, fusion.norm, fusion.weights or None, fusion.depth)


def diversify(run: Run, documents: Mapping[str, Document], balance: float, depth: int) -> Run:
    """A run re-ranked by maximal marginal relevance over the embedded encoder's vectors.

    The first `depth` documents of each query are re-ranked and the others dropped; the new scores
    are 1 over the new rank.
    """
    if not 0 <= balance <= 1:
        raise Misuse("--lambda lies between 0 (novelty alone) and 1 (the run as it is)")
    top = {query_id: cut(scores, depth) for query_id, scores in run.items()}
    wanted = sorted({doc_id for scores in top.values() for doc_id in scores})
    if missing := [doc_id for doc_id in wanted if doc_id not in documents]:
        raise BadInput(f"{len(missing)} documents of the run are not in the corpus: {missing[0]}")
    vectors = encode([f"{documents[d].title}\n{documents[d].text}" for d in wanted])
    rows = {doc_id: i for i, doc_id in enumerate(wanted)}
    found: Run = {}
    for query_id, scores in top.items():
        unit = vectors[[rows[doc_id] for doc_id in scores]]
        order = mmr(scores, (unit @ unit.T).tolist(), balance, depth)
        found[query_id] = {doc_id: 1 / rank for rank, doc_id in enumerate(order, start=1)}
    return found
