"""Qrels and runs of any size, a few queries at a time.

One pass over a file checks every line and finds where the lines of each query stand, together or
scattered; then the lines of some queries are read when they are wanted. What is held is a block of
text and some fifty bytes for each stretch of lines of one query.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import file_problems, rereadable
from labeler.trec.columns import (
    Fields,
    Irregular,
    Keys,
    Small,
    Stretches,
    Words,
    fields,
    floats,
    integers,
    keys,
    mixed,
    numbers,
    split,
)
from labeler.trec.rows import (
    LONGEST_ID,
    QRELS_COLUMNS,
    RUN_COLUMNS,
    grade_of,
    rows,
    score_of,
    second_time,
    texts,
)

BLOCK = 1 << 21


class Kind(NamedTuple):
    """A kind of file: its columns, which of them holds numbers, and how one of these is read."""

    columns: str
    number: int
    dtype: Any
    all_at_once: Callable[[Fields, int], Floats | Integers]
    parse: Callable[[Path, int, bytes], float]

    def values(self, part: Fields) -> Floats | Integers:
        """The numbers of some lines that were found well-formed."""
        try:
            return self.all_at_once(part, self.number)
        except Irregular:
            texts = [part.cell(line, self.number) for line in range(len(part.starts))]
            return np.array([self.parse(Path(), 0, text) for text in texts])


RUN = Kind(RUN_COLUMNS, 4, np.float64, floats, score_of)
QRELS = Kind(QRELS_COLUMNS, 3, np.int32, integers, grade_of)


@dataclass(frozen=True)
class Index:
    """Where the lines of each query stand: stretches of them, those of one query in a row.

    `query` numbers the queries, whose ids are `names`, in the order of their first lines. `source`
    holds the lines with single white space between the columns.
    """

    path: Path
    kind: Kind
    source: IO[bytes]
    start: Integers
    size: Small
    lines: Small
    query: Integers
    names: list[bytes]

    def by_id(self) -> Index:
        """The same, the queries in the order of their ids."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        query = rank[self.query]
        by_query = np.argsort(query, kind="stable")
        columns = {name: getattr(self, name)[by_query] for name in ("start", "size", "lines")}
        names = [self.names[at] for at in order]
        return replace(self, query=query[by_query], names=names, **columns)

    def text(self, stretches: slice) -> Iterator[bytes]:
        """The lines of some stretches; neighbours are read at once."""
        start, size = self.start[stretches], self.size[stretches]
        if not len(start):
            return
        breaks = np.flatnonzero(start[1:] != (start + size)[:-1]) + 1
        firsts = np.append(0, breaks)
        total = np.add.reduceat(size, firsts, dtype=np.int64)
        for offset, length in zip(start[firsts].tolist(), total.tolist(), strict=True):
            self.source.seek(offset)
            lines = self.source.read(length)
            yield lines if lines.endswith(b"\n") else lines + b"\n"

    def repeated(self, query: bytes, document: bytes) -> BadInput:
        """The error at the second line of a pair."""
        seen = 0
        for number, columns in rows(self.path, self.kind.columns):
            seen += columns[0] == query and columns[2] == document
            if seen == 2:
                return second_time(self.path, number, query.decode(), document.decode())
        return self.changed()

    def changed(self) -> BadInput:
        """The error of a file whose lines are others than before."""
        return BadInput(f"{self.path}: changed while it was read")


@contextmanager
def indexed(path: Path, kind: Kind, block: int = BLOCK) -> Iterator[Index]:
    """The index of a file, plain or gzip, or of standard input for `-`.

    Raises `BadInput` at the first line that is not what the format says.
    """
    with rereadable(), tempfile.TemporaryFile(prefix="labeler-") as spool:
        names: dict[bytes, int] = {}
        with file_problems(path), reading(path):
            plain = _spooled(path, kind, block, spool)
            parts = [_located(path, *part, kind, names) for part in plain]
            spool.flush()
        start, size, lines, query = (np.concatenate(c) for c in zip(*parts, strict=True))
        order = np.argsort(query, kind="stable")
        columns = start[order], size[order], lines[order], query[order]
        yield Index(path, kind, spool, *columns, list(names))


def _spooled(path: Path, kind: Kind, block: int, spool: IO[bytes]) -> Iterator[tuple[Fields, int]]:
    """A file's lines, which go to the spool as plain ones, and where each block starts there."""
    try:
        for part in fields(path, kind.columns, block):
            offset = spool.tell()
            spool.write(part.text[: int(part.ends[-1, -1]) + 1].tobytes())
            yield part, offset
    except BadInput:  # where a gzip file breaks off, the slow reader knows the line
        _refuse_first_wrong(path, kind)
        raise


class _Located(NamedTuple):
    """Lines of one query in a row: where they start, their bytes, how many, and whose they are."""

    start: Integers
    size: Small
    lines: Small
    query: Integers


def _located(
    path: Path, part: Fields, offset: int, kind: Kind, names: dict[bytes, int]
) -> _Located:
    """The stretches of a block; `names` numbers the queries, and takes those that are new."""
    _check(path, part, kind)
    stretches = Stretches.of(part)
    start = part.starts[stretches.edges[:-1], 0]
    size = np.diff(np.append(start, int(part.ends[-1, -1]) + 1)).astype(np.int32)
    query = [names.setdefault(name, len(names)) for name in stretches.names]
    lines = np.diff(stretches.edges).astype(np.int32)
    return _Located(start + offset, size, lines, np.array(query, dtype=np.int64))


def _check(path: Path, part: Fields, kind: Kind) -> None:
    """`BadInput` at the file's first line that is wrong, where this part has a wrong one."""
    try:
        kind.values(part)
        is_wrong = int((part.ends - part.starts)[:, [0, 2]].max()) > LONGEST_ID
    except BadInput:
        is_wrong = True
    if is_wrong:
        _refuse_first_wrong(path, kind)


def _refuse_first_wrong(path: Path, kind: Kind) -> None:
    """Read by line, which raises what is wrong with the first line that is."""
    for number, columns in rows(path, kind.columns):
        texts(path, number, columns[0], columns[2])
        kind.parse(path, number, columns[kind.number])


# How counts per query spread, and how a table names files.

SPREAD = ("least", "median", "most")


SPREAD_HEADER = ("fewest per query", "median", "most")


def short_names(paths: Sequence[str]) -> list[str]:
    """Paths as a table shows them: without their folders, where that tells them apart."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def spread(ordered: Integers) -> dict[str, int]:
    """The least, the median and the largest of some sorted counts."""
    indices = (0, len(ordered) // 2, -1)
    return {name: int(ordered[index]) for name, index in zip(SPREAD, indices, strict=True)}


# All lines of some queries at a time, from one file: what scoring and the tools for runs read.
#
# `streamed` reads a file in one pass, as scoring does, where each query's lines stand together;
# `batches` reads a file of any order through its index.


@dataclass(frozen=True)
class Batch:
    """The pairs of some queries with their values, query by query.

    `names` are the queries' ids; `query` says of each pair whose it is. `part` are its lines, and
    `index` the file's, where they have some.
    """

    names: list[bytes]
    query: Integers
    documents: Keys
    value: Floats | Integers
    part: Fields | None = None
    index: Index | None = None

    @property
    def score(self) -> Floats:
        """The score of each line of runs."""
        return np.asarray(self.value, dtype=np.float64)

    @cached_property
    def declared(self) -> Integers:
        """The rank that each line of runs says it has, -1 where it says none."""
        if self.part is None:
            return np.full(len(self.query), -1)
        rank = numbers(self.part, 3)
        return np.where(rank.odd | rank.pointed | rank.negative, -1, rank.value)

    @cached_property
    def ranked(self) -> Integers:
        """The lines in trec_eval's order, query by query."""
        return in_order(self.query, self.score, self.documents)

    @cached_property
    def ranks(self) -> Integers:
        """The rank of each line in its query, from 1."""
        return ranks_in_groups(self.query, self.ranked)

    def texts(self, lines: Integers) -> list[bytes]:
        """The documents' ids of some lines."""
        if self.part is None:
            return texts_of(self.documents.words[lines])
        return self.part.cells(lines, 2)

    def refuse_repeated(self) -> None:
        """`BadInput` where a query retrieves a document twice."""
        likely = np.sort(self.documents.hashes + mixed(self.query))
        if self.index is None or not (likely[1:] == likely[:-1]).any():
            return
        documents, seen = self.texts(np.arange(len(self.query))), set[tuple[int, bytes]]()
        for pair in zip(self.query.tolist(), documents, strict=True):
            if pair in seen:
                raise self.index.repeated(self.names[pair[0]], pair[1])
            seen.add(pair)


def texts_of(words: Words) -> list[bytes]:
    """The texts of some keys."""
    padded = np.ascontiguousarray(words).astype(">u8").view(f"S{8 * words.shape[1]}")
    texts: list[bytes] = padded.ravel().tolist()
    return texts


def in_order(group: Integers, score: Floats, documents: Keys) -> Integers:
    """Where the lines of ascending groups go in trec_eval's order: by score, then by document id.

    Both descend; ids compare by their bytes.
    """
    order = np.arange(len(group))
    same = group[1:] == group[:-1]
    rising = same & (score[1:] > score[:-1])
    if rising.any():  # only the groups that are not sorted yet are
        unsorted = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        unsorted[group[1:][rising]] = True
        lines = np.flatnonzero(unsorted[group])
        order[lines] = lines[np.lexsort((-score[lines], group[lines]))]
    score = score[order]
    tied = same & (score[1:] == score[:-1])
    if tied.any():
        part = np.append(tied, False) | np.append(False, tied)
        runs = np.cumsum(np.append(True, ~tied))  # a number for each run of equal scores
        runs = runs[part]
        words = documents.words[order[part]]
        # ids descend: the complement of big-endian words orders them so; the last key counts most
        by_id = [~words[:, i] for i in reversed(range(words.shape[1]))]
        order[part] = order[part][np.lexsort((*by_id, runs))]
    return order


def ranks_in_groups(group: Integers, order: Integers) -> Integers:
    """The place of each line in its group, from 1, where `order` sorts lines by ascending group."""
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order)) - starts[group[order]] + 1
    return ranks


class Scattered(Exception):
    """The lines of a query do not stand together."""


class _Changed(Exception):
    """Lines that were plain are not any more."""


def streamed(path: Path, kind: Kind, block: int) -> Iterator[Batch]:
    """All lines of a file in one pass, about `block` bytes at a time, no query in two batches.

    Raises `Scattered` at a query that appears again after another one.
    """
    done: set[bytes] = set()
    last, held = b"", list[bytes]()  # the query whose lines may go on, and its lines so far
    for part in fields(path, kind.columns, block):
        stretches = Stretches.of(part)
        names, edges = stretches.names, stretches.edges.tolist()
        first = 0
        if names[0] == last:  # the block goes on with the query that the one before ended with
            held.append(part.lines(0, edges[1]))
            first = 1
        if first == len(names):
            continue
        if held:
            yield _batch_of_one(last, held, kind)
            done.add(last)
        if len(set(names)) < len(names) or not done.isdisjoint(names[first:]):
            raise Scattered
        if len(names) - 1 > first:
            whole = stretches.slice(first, len(names) - 1)
            yield _batch_of(part.slice(edges[first], edges[-2]), whole, kind)
            done.update(whole.names)
        last, held = names[-1], [part.lines(edges[-2], edges[-1])]
    yield _batch_of_one(last, held, kind)


def _batch_of(part: Fields, stretches: Stretches, kind: Kind) -> Batch:
    return Batch(stretches.names, stretches.of_line, keys(part, 2), kind.values(part), part)


def _batch_of_one(query: bytes, lines: list[bytes], kind: Kind) -> Batch:
    part = split_again(b"".join(lines), kind)
    return _batch_of(part, Stretches([query], np.array([0, len(part.starts)])), kind)


def split_again(lines: bytes, kind: Kind) -> Fields:
    """The fields of lines that were found plain before."""
    part = split(lines, kind.columns, 2)
    if part is None:
        raise _Changed
    return part


def batches(index: Index, size: int = BLOCK) -> Iterator[Batch]:
    """All lines of a file, about `size` bytes of them at a time, no query in two batches.

    Queries come in the order of the index.
    """
    bounds = np.searchsorted(index.query, np.arange(len(index.names) + 1))
    total = np.cumsum(np.bincount(index.query, weights=index.size, minlength=len(index.names)))
    cuts = np.flatnonzero(np.diff(total // size)) + 1
    for first, last in pairwise([0, *cuts.tolist(), len(index.names)]):
        stretches = slice(int(bounds[first]), int(bounds[last]))
        lines = index.lines[stretches]
        query = np.repeat(index.query[stretches] - first, lines)
        try:
            part = split_again(b"".join(index.text(stretches)), index.kind)
        except _Changed as error:
            raise index.changed() from error
        if len(part.starts) != len(query):
            raise index.changed()
        columns = keys(part, 2), index.kind.values(part), part
        yield Batch(index.names[first:last], query, *columns, index)
