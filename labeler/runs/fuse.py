"""Several runs' files fused into one, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from labeler.collection.choose import run_name
from labeler.collection.outputs import Output
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import indexed_run, write_run_as
from labeler.messages import count_of
from labeler.runs.fusion import Fusion, Lists
from labeler.trec.blocks import Batch, batches, files_per_query, ranks_in_groups
from labeler.trec.index import Index
from labeler.trec.spread import nothing_shared
from labeler.trec.ties import in_order
from labeler.trec.write import RankedPart


def weights_of(text: str, paths: Sequence[Path]) -> tuple[float, ...]:
    """`0.3,0.7` in the order of the runs, or `dense=0.7,bm25=0.3` by their names."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    fields = [part.rpartition("=") for part in parts]
    try:
        numbers = [float(number) for _, _, number in fields]
    except ValueError as error:
        problem = f"cannot read the weights {text!r}; write them as 0.3,0.7"
        raise Misuse(problem, parameter="weights") from error
    if not np.isfinite(numbers).all():
        raise Misuse(f"the weights {text!r} must be finite numbers", parameter="weights")
    names = [name for name, equals, _ in fields if equals]
    if not names:
        return tuple(numbers)
    runs = [run_name(path) for path in paths]
    if sorted(names) != sorted(runs):
        problem = f"weights of {', '.join(names)}; the runs are {', '.join(runs)}"
        raise Misuse(problem, parameter="weights")
    return tuple(numbers[names.index(name)] for name in runs)


def fuse_files(
    paths: Sequence[Path],
    output: Output | Path,
    fusion: Fusion,
    tag: str,
    warn: Callable[[str], None] = lambda _message: None,
) -> tuple[int, int]:
    """Some runs as one; how many queries and lines it has.

    `BadInput` where no two runs have a query in common.
    """
    if len(paths) < 2:
        raise Misuse("fusing takes two runs or more")
    if fusion.method == "wsum" and len(fusion.weights) != len(paths):
        problem = f"wsum needs {len(paths)} weights, one for each run, as 0.3,0.7"
        raise Misuse(problem, parameter="weights")
    queries = 0

    def fused() -> Iterator[RankedPart]:
        nonlocal queries
        for batch in batches(indexes):
            queries += len(batch.names)
            yield _fused(batch, fusion)

    to = Output.of(output, paths)
    with to.writing(), ExitStack() as stack:
        indexes = [stack.enter_context(indexed_run(path)) for path in paths]
        _check_common(indexes, warn)
        lines = write_run_as(to.path, fused(), tag)
    return queries, lines


def _check_common(indexes: Sequence[Index], warn: Callable[[str], None]) -> None:
    common = files_per_query(indexes)
    if int(common.max()) == 1:
        first, second = indexes[:2]
        raise BadInput(nothing_shared(first, second))
    for index in indexes:
        if missing := len(common) - len(index.ids):
            count = count_of(len(common), "query", "queries")
            warn(f"{index.path} lacks {missing:,} of {count} of all runs")


def _fused(batch: Batch, fusion: Fusion) -> RankedPart:
    """The pairs of a batch by their fused scores, in trec_eval's order."""
    batch.refuse_repeated()
    order, number = batch.pairs()
    pair = np.empty_like(order)
    pair[order] = number
    lists = Lists(
        batch.origin,
        batch.query,
        np.cumsum(np.append(False, batch.group[1:] != batch.group[:-1])),
        batch.ranks,
        batch.score,
        pair,
    )
    score = fusion.scores(lists)
    first = order[np.append(True, number[1:] != number[:-1])]
    query, documents = batch.query[first], batch.documents.take(first)
    best = in_order(query, score, documents)
    best = best[ranks_in_groups(query, best)[best] <= fusion.depth]
    return RankedPart(batch.names, query[best], batch.texts(first[best]), score[best])
