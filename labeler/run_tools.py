"""What people do to runs: look at, cut, sort, convert and fuse them, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Integers
from labeler.collection.choose import run_name
from labeler.collection.ids import KnownIds, Unknown
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import indexed_run
from labeler.fusion import Fusion, Lists
from labeler.messages import count_of
from labeler.trec.batches import Batch, batches, files_per_query, places
from labeler.trec.columns import numbers
from labeler.trec.indexed import Index
from labeler.trec.spread import SPREAD_HEADER, nothing_shared, short_names, spread
from labeler.trec.ties import contradictions, in_order, tied_pairs
from labeler.trec.write import FORMATS, Ranked, format_of


def run_stats(path: Path, known: KnownIds | None = None) -> dict[str, Any]:
    """Counts of a run, and what its scores and ranks say of each other.

    Raises `BadInput` where an id is not among the known ones.
    """
    sizes: list[Integers] = []
    ties = contradicting = 0
    lowest, highest = np.inf, -np.inf
    unknown = Unknown(known) if known else None
    with indexed_run(path) as index:
        for batch in batches([index]):
            batch.refuse_repeated()
            score, order = batch.score, batch.ranked
            sizes.append(np.bincount(batch.group))
            ties += tied_pairs(batch.group[order], score[order])
            contradicting += contradictions(batch.group, _declared(batch), score)
            lowest, highest = min(lowest, score.min()), max(highest, score.max())
            if unknown:
                unknown.look(batch)
        if unknown:
            unknown.finish(index)
    ordered = np.sort(np.concatenate(sizes))
    return {
        "run": str(path),
        "queries": len(ordered),
        "documents": int(ordered.sum()),
        "per_query": spread(ordered),
        "scores": {"least": float(lowest), "most": float(highest)},
        "tied_pairs": ties,
        "contradicting_ranks": contradicting,
    }


def run_rows(found: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """A table of the counts of some runs."""
    shown = short_names([row["run"] for row in found])
    rows = [
        [
            name,
            row["queries"],
            row["documents"],
            *row["per_query"].values(),
            *(f"{score:g}" for score in row["scores"].values()),
            row["tied_pairs"],
            row["contradicting_ranks"],
        ]
        for name, row in zip(shown, found, strict=True)
    ]
    header = ["run", "queries", "documents", *SPREAD_HEADER]
    return [*header, "lowest", "highest", "tied pairs", "contradicting ranks"], rows


def _declared(batch: Batch) -> Integers:
    """The rank that each line says it has, -1 where it says none."""
    rank = numbers(batch.part, 3)
    return np.where(rank.odd | rank.pointed | rank.negative, -1, rank.value)


@dataclass(frozen=True)
class Change:
    """What becomes of a run: its tag, how many documents a query keeps, whether queries are sorted.

    `read_as` and `write_as` are formats, where the files' names do not say them.
    """

    tag: str
    depth: int | None = None
    sort: bool = False
    read_as: str = ""
    write_as: str = ""

    def __post_init__(self) -> None:
        if self.depth is not None and self.depth < 1:
            raise Misuse("--depth counts from 1")
        for form in filter(None, (self.read_as, self.write_as)):
            if form not in FORMATS:
                raise Misuse(f"no format {form!r}; known: {', '.join(FORMATS)}")


def rewrite_run(path: Path, output: Path, change: Change) -> int:
    """Write a run changed, its documents in trec_eval's order; how many lines it has."""
    write = FORMATS[change.write_as or format_of(output)]
    with indexed_run(path, change.read_as) as index:
        parts = (_ranked(batch, change.depth) for batch in batches([index], sort=change.sort))
        return write(output, parts, change.tag)


def _ranked(batch: Batch, depth: int | None) -> Ranked:
    batch.refuse_repeated()
    order = batch.ranked
    if depth is not None:
        order = order[batch.ranks[order] <= depth]
    return Ranked(batch.names, batch.query[order], batch.texts(order), batch.score[order])


def weights_of(text: str, paths: Sequence[Path]) -> tuple[float, ...]:
    """`0.3,0.7` in the order of the runs, or `dense=0.7,bm25=0.3` by their names."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    named = [part.rpartition("=") for part in parts]
    try:
        numbers = [float(number) for _, _, number in named]
    except ValueError as error:
        raise Misuse(f"cannot read the weights {text!r}; write them as 0.3,0.7") from error
    if not np.isfinite(numbers).all():
        raise Misuse(f"the weights {text!r} must be finite numbers")
    names = [name for name, equals, _ in named if equals]
    if not names:
        return tuple(numbers)
    wanted = [run_name(path) for path in paths]
    if sorted(names) != sorted(wanted):
        raise Misuse(f"--weights names {', '.join(names)}; the runs are {', '.join(wanted)}")
    return tuple(numbers[names.index(name)] for name in wanted)


def fuse_files(
    paths: Sequence[Path],
    output: Path,
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
        raise Misuse(f"wsum needs {len(paths)} weights, one for each run, as --weights 0.3,0.7")
    queries = 0

    def fused() -> Iterator[Ranked]:
        nonlocal queries
        for batch in batches(indexes):
            queries += len(batch.names)
            yield _fused(batch, fusion)

    with ExitStack() as stack:
        indexes = [stack.enter_context(indexed_run(path)) for path in paths]
        _check_common(indexes, warn)
        lines = FORMATS[format_of(output)](output, fused(), tag)
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


def _fused(batch: Batch, fusion: Fusion) -> Ranked:
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
    best = best[places(query, best)[best] <= fusion.depth]
    return Ranked(batch.names, query[best], batch.texts(first[best]), score[best])
