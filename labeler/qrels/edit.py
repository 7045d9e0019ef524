"""What people do to qrels: merge, regrade and cut them, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Integers
from labeler.collection.outputs import Output
from labeler.collection.whose import sources_path
from labeler.errors import BadInput, Misuse
from labeler.exchange.qrels import Meaning, hold_qrels, indexed_qrels
from labeler.files.read import rereadable
from labeler.messages import count_of
from labeler.qrels.sources import (
    Winning,
    is_listed,
    preferred_file,
    source_names,
    sources_list,
    warn_of_mixture,
)
from labeler.trec.blocks import Batch
from labeler.trec.distinct import pair_batches
from labeler.trec.index import QRELS, Index, indexed
from labeler.trec.write import GradedPart, write_graded

Warn = Callable[[str], None]
CONFLICTS = ("error", "first", "last", "max", "min", "drop")
"""Which grade wins where qrels differ: none, so that it is an error; or the pair is left out."""

LISTED = 10
"""So many conflicts are kept in words."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Which grade of a pair wins where files differ.

    `prefer` names the file, by its path or its name, with or without its ending, whose grades win;
    `conflict`, one of `CONFLICTS`, says which wins among the others.
    """

    conflict: str = "error"
    prefer: str = ""

    def __post_init__(self) -> None:
        if self.conflict not in CONFLICTS:
            problem = f"conflict is {', '.join(CONFLICTS)}; not {self.conflict!r}"
            raise Misuse(problem, parameter="conflict")


@dataclass
class MergeResult:
    """How many pairs there are, how many had several grades, and the first of these, in words.

    `sources` is the file that says where each line came from, where one was written.
    """

    pairs: int = 0
    conflicts: int = 0
    listed: list[str] = field(default_factory=list)
    sources: Path | None = None

    def __str__(self) -> str:
        more = self.conflicts - LISTED
        tail = f"; and {more:,} more" if more > 0 else ""
        have = count_of(self.conflicts, "pair has", "pairs have")
        return f"{have} several grades: {'; '.join(self.listed[:LISTED])}{tail}"


def merge_qrels(
    paths: Sequence[Path],
    output: Output | Path,
    rules: MergeRules,
    warn: Warn,
    each: Warn = lambda _: None,
) -> MergeResult:
    """Put qrels together; `each` is told of every pair whose grades differ between files.

    Where one file is preferred, and where people's grades meet others, `OUTPUT.sources.tsv` says
    where each line came from.
    """
    to, conflict, prefer = Output.of(output, paths), rules.conflict, rules.prefer
    preferred = preferred_file(paths, prefer)
    merged, names = MergeResult(), source_names(paths)
    listed = is_listed(paths, to, prefer)

    def graded() -> Iterator[GradedPart]:
        for batch, lines, pair in pair_batches(indexes, warn):
            part, conflicts, origins = _merged(batch, lines, pair, Winning(conflict, preferred))
            write(part, origins)
            merged.pairs += len(part.query)
            for line in conflicts:
                merged.conflicts += 1
                merged.listed += [line] if len(merged.listed) < LISTED else []
                each(line)
            yield part
        if merged.conflicts and conflict == "error":
            raise BadInput(
                f"{merged}; which wins? {', '.join(CONFLICTS[1:])}", parameter="conflict"
            )

    with sources_list(to if listed else None, names) as write, to.writing(), ExitStack() as stack:
        indexes = [stack.enter_context(indexed_qrels(path)) for path in paths]
        write_graded(to.path, graded())
    merged.sources = sources_path(to.path) if listed else None
    return merged


def _merged(
    batch: Batch, lines: Integers, pair: Integers, winning: Winning
) -> tuple[GradedPart, Iterator[str], Integers]:
    """The pairs with the grades that win, those whose grades differ, in words, and the files."""
    starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
    grade, origin = batch.grade[lines], batch.origin[lines]
    wins, differ = winning.lines(grade, origin, starts)
    ends = np.append(starts[1:], len(grade))
    has_grade = wins >= 0
    graded = _graded(batch, lines[starts][has_grade], grade[wins[has_grade]])

    def words() -> Iterator[str]:
        for index in np.flatnonzero(differ).tolist():
            line = int(lines[starts[index]])
            grades = ", ".join(map(str, grade[starts[index] : ends[index]].tolist()))
            query = batch.names[int(batch.query[line])].decode()
            yield f"{query} {batch.part.cell(line, 2).decode()}: {grades}"

    return graded, words(), origin[wins[has_grade]]


def _graded(batch: Batch, lines: Integers, grade: Integers) -> GradedPart:
    return GradedPart(batch.names, batch.query[lines], batch.texts(lines), grade)


def map_qrels(path: Path, output: Output | Path, meaning: Meaning, warn: Warn) -> int:
    """Write the grades that a person says that ratings mean, and the ids that queries have.

    A rating that a mapping lacks is `BadInput`, not guessed.
    """
    warn_of_mixture(path, warn)
    to = Output.of(output, [path])
    with to.writing(), rereadable():
        hold_qrels(path, warn, meaning)
        with indexed(path, QRELS) as index:
            parts = (
                _graded(batch, lines, batch.grade[lines])
                for batch, lines, _ in pair_batches([index], warn)
            )
            return write_graded(to.path, parts)


@dataclass(frozen=True)
class Subset:
    """What to keep: these queries, these documents (all, where None), of them `sample` queries.

    The values say where each id was named, in a file, or nothing.
    """

    queries: Mapping[str, str] | None = None
    documents: Mapping[str, str] | None = None
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.queries is None and self.documents is None and self.sample is None:
            raise Misuse("say what to keep: queries, documents or a sample of the queries")


def subset_qrels(path: Path, output: Output | Path, subset: Subset, warn: Warn) -> int:
    """Write the pairs of a subset; `BadInput` where an id that was named is in no line."""
    warn_of_mixture(path, warn)
    documents = np.array([d.encode() for d in subset.documents or ()] or [b""])
    present: list[Any] = []

    def parts(index: Index, queries: Collection[bytes]) -> Iterator[GradedPart]:
        for batch, lines, _ in pair_batches([index], warn):
            keep = np.array([name in queries for name in batch.names])[batch.query[lines]]
            if subset.documents is not None:
                texts = np.array(batch.texts(lines))
                keep &= np.isin(texts, documents)
                present.append(np.unique(texts[np.isin(texts, documents)]))
            yield _graded(batch, lines[keep], batch.grade[lines[keep]])
        if subset.documents is not None:
            ids = {text.decode() for part in present for text in part.tolist()}
            _refuse_unknown("documents", subset.documents, ids, f"document of {path}")

    to = Output.of(output, [path])
    with to.writing(), indexed_qrels(path) as index:
        return write_graded(to.path, parts(index, _queries_to_keep(index, subset)))


def _queries_to_keep(index: Index, subset: Subset) -> set[bytes]:
    queries = sorted(index.names())
    if subset.queries is not None:
        ids = {query_id.decode() for query_id in queries}
        _refuse_unknown("queries", subset.queries, ids, f"query of {index.path}")
        queries = sorted(query_id.encode() for query_id in subset.queries)
    size = subset.sample
    if size is not None:
        if not 1 <= size <= len(queries):
            have = count_of(len(queries), "query", "queries")
            raise Misuse(f"cannot draw {size}; there are {have} to draw from", parameter="sample")
        drawn = np.random.default_rng(subset.seed).choice(len(queries), size, replace=False)
        queries = [queries[number] for number in drawn.tolist()]
    return set(queries)


def _refuse_unknown(
    parameter: str, source_by_id: Mapping[str, str], ids: Collection[str], what: str
) -> None:
    missing = [name for name in source_by_id if name not in ids]
    if missing:
        more = f"; {len(missing) - 1:,} more are none" if len(missing) > 1 else ""
        problem = f"{missing[0]!r} is no {what}{more}"
        where = source_by_id[missing[0]]
        raise BadInput(f"{where}: {problem}") if where else BadInput(problem, parameter=parameter)
