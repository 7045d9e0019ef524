"""Several runs fused into one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.collection.user_files import Output
from labeler.data import Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import read_run
from labeler.exchange.written import write_run_as
from labeler.messages import Note, count_of, no_query_in_common
from labeler.options import COUNT, Bounds, Options, check_options, option
from labeler.trec.blocks import in_order, ranks_in_groups
from labeler.trec.columns import Small, keys_of
from labeler.trec.pairs import NONE, PairColumns, joined_pairs
from labeler.trec.write import ranked_part

# Rank fusion: the scores of several runs as one.


@dataclass(frozen=True)
class Lists:
    """What some runs retrieve, a line for each document: run by run, query by query.

    `group` numbers the lists from 0, ascending (none is empty); `rank` counts from 1 in each;
    `pair` numbers the pairs of query and document.
    """

    run: Integers
    group: Integers
    rank: Integers
    score: Floats
    pair: Integers

    @property
    def scaled(self) -> Floats:
        """The scores, from 0 for the lowest of their list to 1 for its highest; 0 among equals."""
        starts = np.flatnonzero(np.append(True, self.group[1:] != self.group[:-1]))
        lowest = np.minimum.reduceat(self.score, starts)[self.group]
        reach = np.maximum.reduceat(self.score, starts)[self.group] - lowest
        scaled: Floats = np.zeros_like(reach)
        np.divide(self.score - lowest, reach, out=scaled, where=reach > 0)
        return scaled


def added(number: Integers, values: Floats) -> Floats:
    """The sums of the values of equal numbers, added one by one in their order."""
    return np.asarray(np.bincount(number, weights=values), dtype=np.float64)


SCORES = "Fusing by score"


@dataclass(frozen=True, slots=True)
class Fusion(Options):
    """How to fuse: `k` is RRF's, `norm` and `weights` are for the methods that add scores.

    `rrf` adds 1 / (k + rank); `combsum` adds scores, `combmnz` also multiplies by how many runs
    found the document (Fox and Shaw, TREC-2, 1994); `wsum` adds them weighted. With the `norm`
    `min-max` scores are on a scale that runs share, with `none` as they are, by ranx's names.
    """

    method: Literal["rrf", "combsum", "combmnz", "wsum"] = option(
        "rrf", "Reciprocal rank fusion, or scores added."
    )
    k: float = option(60, "RRF's constant.", Bounds(0, 10**9))
    norm: Literal["min-max", "none"] = option(
        "min-max", "How scores are scaled before they are added.", panel=SCORES
    )
    weights: tuple[float, ...] = ()
    depth: int = option(1000, "Documents to keep a query.", COUNT)

    def __post_init__(self) -> None:
        check_options(self)
        if not all(map(math.isfinite, self.weights)):
            raise Misuse("weights are finite numbers", parameter="weights")
        if self.weights and self.method != "wsum":
            raise Misuse(f"weights are for the method wsum, not {self.method}", parameter="weights")

    def scores(self, lists: Lists) -> Floats:
        """The fused score of each pair, added in the order of the runs."""
        if self.method == "rrf":
            return added(lists.pair, 1 / (self.k + lists.rank))
        scaled = lists.score if self.norm == "none" else lists.scaled
        if self.method == "wsum":
            scaled = np.array(self.weights)[lists.run] * scaled
        sums = added(lists.pair, scaled)
        return sums * np.bincount(lists.pair) if self.method == "combmnz" else sums


def weights_of(text: str) -> tuple[float, ...]:
    """The weights in a text, as `0.3,0.7`, in the order of the runs."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise Misuse(
            f"cannot read the weights {text!r}; write them as 0.3,0.7", parameter="weights"
        ) from error


def rrf(runs: Sequence[Run], k: float = 60, depth: int = 1000) -> Run:
    """Reciprocal rank fusion: a document's score is the sum of 1/(k + rank) over the runs.

    Ranks count from 1; at most `depth` documents of a query are kept. Runs that lack a query add
    nothing to it. After Cormack, Clarke and Buettcher (SIGIR 2009).
    """
    columns = [PairColumns.of(run, np.float64) for run in runs]
    return fused(columns, Fusion(k=k, depth=depth)).as_dict()


def fuse_files(
    paths: Sequence[Path],
    output: Output | Path,
    fusion: Fusion,
    tag: str,
    warn: Note = lambda _message: None,
) -> tuple[int, int]:
    """Some runs as one; how many queries and lines it has.

    `BadInput` where no two runs have a query in common.
    """
    if len(paths) < 2:
        raise Misuse("fusing takes two runs or more")
    if fusion.method == "wsum" and len(fusion.weights) != len(paths):
        raise Misuse(
            f"wsum needs {len(paths)} weights, one for each run, as 0.3,0.7", parameter="weights"
        )
    to = Output.of(output, paths)
    with to.writing():
        runs = [read_run(path) for path in paths]
        times = Counter(query for run in runs for query in run)
        if max(times.values()) == 1:
            raise BadInput(no_query_in_common(paths[0], runs[0], paths[1], runs[1]))
        for path, run in zip(paths, runs, strict=True):
            if missing := len(times) - len(run):
                warn(
                    f"{path} lacks {missing:,} of {count_of(len(times), 'query', 'queries')} of "
                    "all runs"
                )
        whole = fused(runs, fusion)
        parts = (ranked_part(batch, np.arange(len(batch.query))) for batch in whole.batches())
        lines = write_run_as(to.path, parts, tag)
    return len(whole.queries), lines


def fused(runs: Sequence[PairColumns[float]], fusion: Fusion) -> PairColumns[float]:
    """Runs as one, the documents of each query in trec_eval's order of their fused scores."""
    joined = joined_pairs(runs)
    firsts = np.cumsum([0, *(len(run.queries) for run in runs)])[:-1]
    lists = Lists(
        np.repeat(np.arange(len(runs)), [run.size for run in runs]),
        np.concatenate([run.query + first for run, first in zip(runs, firsts, strict=True)]),
        np.concatenate([run.ranks() for run in runs]),
        np.concatenate([run.value for run in runs]),
        np.concatenate([_pairs_in(row) for row in joined.row.T]),
    )
    score = fusion.scores(lists)
    query = joined.query.astype(np.int64)
    best = in_order(query, score, keys_of(joined.documents).take(joined.document))
    best = best[ranks_in_groups(query, best)[best] <= fusion.depth]
    sizes = np.bincount(query[best], minlength=len(joined.queries))
    edges = np.append(0, np.cumsum(sizes))
    columns = (joined.document[best], score[best])
    return PairColumns(joined.queries, edges, joined.documents, *columns)


def _pairs_in(row: Small) -> Integers:
    """The number of each pair of a set among all pairs, of which `row` says where it stands."""
    held = np.flatnonzero(row != NONE)
    pairs = np.empty_like(held)
    pairs[row[held]] = held
    return pairs
