"""What people do to qrels: merge, regrade and cut them, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Integers
from labeler.errors import BadInput, Misuse
from labeler.messages import count_of
from labeler.trec.blocks import Batch
from labeler.trec.distinct import pair_batches
from labeler.trec.index import QRELS, Index, indexed
from labeler.trec.write import GradedPart, write_graded

Warn = Callable[[str], None]
Regrade = Callable[[Integers], Integers]
CONFLICTS = ("error", "first", "last", "max", "min", "drop")
"""Which grade wins where qrels differ: none, so that it is an error; or the pair is left out."""

LISTED = 10
"""So many conflicts are kept in words."""


@dataclass
class Merged:
    """How many pairs there are, how many had several grades, and the first of these, in words."""

    pairs: int = 0
    conflicts: int = 0
    listed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = self.conflicts - LISTED
        tail = f"; and {more:,} more" if more > 0 else ""
        have = count_of(self.conflicts, "pair has", "pairs have")
        return f"{have} several grades: {'; '.join(self.listed[:LISTED])}{tail}"


def merge_qrels(
    paths: Sequence[Path], output: Path, conflict: str, warn: Warn, each: Warn = lambda _: None
) -> Merged:
    """Put qrels together; `each` is told of every pair whose grades differ between files.

    `conflict`, one of `CONFLICTS`, says which grade wins.
    """
    if conflict not in CONFLICTS:
        raise Misuse(f"--conflict is {', '.join(CONFLICTS)}; not {conflict!r}")
    merged = Merged()

    def graded() -> Iterator[GradedPart]:
        for batch, lines, pair in pair_batches(indexes, warn):
            part, conflicts = _merged(batch, lines, pair, conflict)
            merged.pairs += len(part.query)
            for line in conflicts:
                merged.conflicts += 1
                merged.listed += [line] if len(merged.listed) < LISTED else []
                each(line)
            yield part
        if merged.conflicts and conflict == "error":
            raise BadInput(f"{merged}; --conflict {'|'.join(CONFLICTS[1:])} says which wins")

    with ExitStack() as stack:
        indexes = [stack.enter_context(indexed(path, QRELS)) for path in paths]
        write_graded(output, graded())
    return merged


def _merged(
    batch: Batch, lines: Integers, pair: Integers, conflict: str
) -> tuple[GradedPart, Iterator[str]]:
    """The pairs with the grades that win, and those whose grades differ, in words."""
    starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
    grade = batch.grade[lines]
    low, high = np.minimum.reduceat(grade, starts), np.maximum.reduceat(grade, starts)
    ends = np.append(starts[1:], len(grade))
    wins = {"first": grade[starts], "last": grade[ends - 1], "min": low}
    differ = low != high
    kept = ~differ if conflict == "drop" else np.ones(len(starts), dtype=np.bool_)
    first = lines[starts][kept]
    found = _graded(batch, first, wins.get(conflict, high)[kept])

    def words() -> Iterator[str]:
        for place in np.flatnonzero(differ).tolist():
            line = int(lines[starts[place]])
            grades = ", ".join(map(str, grade[starts[place] : ends[place]].tolist()))
            query = batch.names[int(batch.query[line])].decode()
            yield f"{query} {batch.part.cell(line, 2).decode()}: {grades}"

    return found, words()


def _graded(batch: Batch, lines: Integers, grade: Integers) -> GradedPart:
    return GradedPart(batch.names, batch.query[lines], batch.texts(lines), grade)


def regrade_qrels(path: Path, output: Path, regrade: Regrade, warn: Warn) -> int:
    """Write the same pairs with other grades; how many there are."""
    with indexed(path, QRELS) as index:
        parts = (
            _graded(batch, lines, regrade(batch.grade[lines]))
            for batch, lines, _ in pair_batches([index], warn)
        )
        return write_graded(output, parts)


def binarised(at: int) -> Regrade:
    """Grades from `at` on become 1, lower ones 0; negative ones, not judged, stay."""
    return lambda grade: np.where(grade < 0, grade, (grade >= at).astype(np.int64))


def clipped(low: int | None, high: int) -> Regrade:
    """Grades outside the scale become its ends; without `low` that is 0, and negative ones, not
    judged, stay.
    """
    least = low or 0
    if least > high:
        raise Misuse(f"--low {least} is above --high {high}")
    return lambda grade: np.where((grade < 0) & (low is None), grade, np.clip(grade, least, high))


def mapping_of(text: str) -> dict[int, int]:
    """`1:0,2:1` as a dict; each grade once."""
    found: dict[int, int] = {}
    for pair in text.split(","):
        before, colon, after = pair.partition(":")
        try:
            if not colon or int(before) in found:
                raise ValueError
            found[int(before)] = int(after)
        except ValueError as error:
            raise Misuse(f"cannot read {pair!r}; write the mapping as 1:0,2:1,3:2") from error
    return found


def map_qrels(path: Path, output: Path, mapping: Mapping[int, int], warn: Warn) -> int:
    """Write grades replaced; one that the mapping lacks is `BadInput`, not guessed."""
    lacking: set[int] = set()

    def regrade(grade: Integers) -> Integers:
        present, place = np.unique(grade, return_inverse=True)
        lacking.update(set(present.tolist()) - mapping.keys())
        return np.array([mapping.get(old, 0) for old in present.tolist()], dtype=np.int64)[place]

    def parts(index: Index) -> Iterator[GradedPart]:
        for batch, lines, _ in pair_batches([index], warn):
            yield _graded(batch, lines, regrade(batch.grade[lines]))
        if lacking:
            named = ", ".join(map(str, sorted(lacking)))
            raise BadInput(f"{path}: the mapping says nothing of the grades {named}")

    with indexed(path, QRELS) as index:
        return write_graded(output, parts(index))


@dataclass(frozen=True)
class Chosen:
    """What to keep: these queries, these documents (all, where None), of them `sample` queries.

    The values say where each id was named.
    """

    queries: Mapping[str, str] | None = None
    documents: Mapping[str, str] | None = None
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.queries is None and self.documents is None and self.sample is None:
            raise Misuse("say what to keep: --queries, --documents or --sample")


def subset_qrels(path: Path, output: Path, chosen: Chosen, warn: Warn) -> int:
    """Write the chosen pairs; `BadInput` where an id that was named is not there."""
    wanted = np.array([d.encode() for d in chosen.documents or ()] or [b""])
    found: list[Any] = []

    def parts(index: Index, kept: Collection[bytes]) -> Iterator[GradedPart]:
        for batch, lines, _ in pair_batches([index], warn):
            keep = np.array([name in kept for name in batch.names])[batch.query[lines]]
            if chosen.documents is not None:
                texts = np.array(batch.texts(lines))
                keep &= np.isin(texts, wanted)
                found.append(np.unique(texts[np.isin(texts, wanted)]))
            yield _graded(batch, lines[keep], batch.grade[lines[keep]])
        if chosen.documents is not None:
            there = {text.decode() for part in found for text in part.tolist()}
            _refuse_unknown(chosen.documents, there, f"document of {path}")

    with indexed(path, QRELS) as index:
        return write_graded(output, parts(index, _queries_to_keep(index, chosen)))


def _queries_to_keep(index: Index, chosen: Chosen) -> set[bytes]:
    there = sorted(index.names())
    if chosen.queries is not None:
        _refuse_unknown(chosen.queries, {q.decode() for q in there}, f"query of {index.path}")
        there = sorted(query.encode() for query in chosen.queries)
    if chosen.sample is not None:
        if not 1 <= chosen.sample <= len(there):
            have = count_of(len(there), "query", "queries")
            raise Misuse(f"--sample {chosen.sample}: there are {have} to draw from")
        drawn = np.random.default_rng(chosen.seed).choice(len(there), chosen.sample, replace=False)
        there = [there[place] for place in drawn.tolist()]
    return set(there)


def _refuse_unknown(named: Mapping[str, str], there: Collection[str], what: str) -> None:
    missing = [name for name in named if name not in there]
    if missing:
        where = named[missing[0]]
        more = f"; {len(missing) - 1:,} more are not there" if len(missing) > 1 else ""
        raise BadInput(f"{where}: {missing[0]!r} is no {what}{more}")
