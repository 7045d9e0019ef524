"""Qrels and runs of any size, a few queries at a time.

One pass over a file checks every line and finds where the lines of each query stand, together or
scattered; then the lines of some queries are read when they are wanted. What is held is a block of
text and some fifty bytes for each stretch of lines of one query.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import file_problems, rereadable
from labeler.messages import no_query_in_common
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
    joined,
    keys,
    mixed,
    numbers,
    split,
    words_of,
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

    `query` numbers the queries in the order of their first lines, `ids` are theirs. `source` holds
    the lines with single white space between the columns.
    """

    path: Path
    kind: Kind
    source: IO[bytes]
    start: Integers
    size: Small
    lines: Small
    query: Small
    ids: Words

    def numbered(self) -> Iterator[tuple[int, list[bytes]]]:
        """All lines, with the numbers that they have in the file."""
        return rows(self.path, self.kind.columns)

    def names(self) -> list[bytes]:
        """The queries' ids, in the order of their first lines."""
        return texts_of(self.ids)

    def text(self, stretches: Integers) -> Iterator[bytes]:
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


@contextmanager
def indexed(path: Path, kind: Kind, block: int = BLOCK) -> Iterator[Index]:
    """The index of a file, plain or gzip, or of standard input for `-`.

    Raises `BadInput` at the first line that is not what the format says.
    """
    with rereadable(), tempfile.TemporaryFile(prefix="labeler-") as spool:
        with file_problems(path), reading(path):
            plain = _spooled(path, kind, block, spool)
            stretches = _together(list(_stretches(path, plain, kind)))
            spool.flush()
        yield Index(path, kind, spool, *stretches)


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
    """Lines of one query in a row: where they start, their bytes, how many, and which of `ids`."""

    start: Integers
    size: Small
    lines: Small
    query: Small
    ids: Words


def _stretches(path: Path, parts: Iterator[tuple[Fields, int]], kind: Kind) -> Iterator[_Located]:
    for part, offset in parts:
        _check(path, part, kind)
        words = words_of(part, 0)
        new = np.append(True, (words[1:] != words[:-1]).any(axis=1))
        first = np.flatnonzero(new)
        end = int(part.ends[-1, -1]) + 1
        start = part.starts[first, 0]
        size = np.diff(np.append(start, end)).astype(np.int32)
        lines = np.diff(np.append(first, len(words))).astype(np.int32)
        query, ids = numbered_ids(words[first])
        yield _Located(start + offset, size, lines, query.astype(np.int32), ids)


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


def _together(parts: Sequence[_Located]) -> _Located:
    """All stretches, those of a query in a row, the queries by their first lines."""
    places, ids = _numbered_together([part.ids for part in parts])
    columns = [(part.start, part.size, part.lines) for part in parts]
    query = np.concatenate([row[part.query] for row, part in zip(places, parts, strict=True)])
    order = np.argsort(query, kind="stable")
    start, size, lines = (np.concatenate(column)[order] for column in zip(*columns, strict=True))
    return _Located(start, size, lines, query[order].astype(np.int32), ids)


def _numbered_together(parts: Sequence[Words]) -> tuple[list[Integers], Words]:
    """The number of each part's ids among all distinct ones, and those."""
    number, ids = numbered_ids(joined(parts))
    return np.split(number, np.cumsum(list(map(len, parts)))[:-1]), ids


def numbered_ids(words: Words) -> tuple[Integers, Words]:
    """Equal rows by one number, counted in the order in which they first appear; and those rows."""
    order = np.lexsort(words.T[::-1])
    ordered = words[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    first = order[new]
    by_first = np.argsort(first)
    rank = np.empty_like(by_first)
    rank[by_first] = np.arange(len(by_first))
    number = np.empty(len(words), dtype=np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    return number, words[first[by_first]]


def texts_of(words: Words) -> list[bytes]:
    """The texts of some keys."""
    padded = np.ascontiguousarray(words).astype(">u8").view(f"S{8 * words.shape[1]}")
    texts: list[bytes] = padded.ravel().tolist()
    return texts


def refuse_repeated(index: Index, query: bytes, document: bytes) -> BadInput:
    """The error at the second line of a pair."""
    seen = 0
    for number, columns in index.numbered():
        seen += columns[0] == query and columns[2] == document
        if seen == 2:
            return second_time(index.path, number, query.decode(), document.decode())
    return BadInput(f"{index.path}: changed while it was read")


# How counts per query spread, and how a table names files.

_GUESSED = 10_000


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


def nothing_shared(first: Index, second: Index) -> str:
    """That two files have no query in common, some ids of each, and a guess why."""
    ids = [[name.decode() for name in index.names()[:_GUESSED]] for index in (first, second)]
    return no_query_in_common(first.path, ids[0], second.path, ids[1])


# All lines of some queries at a time, from one file or from several: what every tool reads.
#
# `streamed` reads one file in one pass, as scoring does, where each query's lines stand together;
# `batches` reads files of any order through their indexes, several at once.


@dataclass(frozen=True)
class Batch:
    """The pairs of some queries with their values, file by file, in each file query by query.

    `names` are the queries' ids; `query` and `origin` say of each pair whose it is, and from which
    file. `part` are its lines, and `indexes` the files', where they have some.
    """

    names: list[bytes]
    query: Integers
    documents: Keys
    value: Floats | Integers
    origin: Integers
    part: Fields | None = None
    indexes: Sequence[Index] = ()

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

    @property
    def grade(self) -> Integers:
        """The grade of each line of qrels."""
        return np.asarray(self.value, dtype=np.int64)

    @cached_property
    def group(self) -> Integers:
        """A number for each file and query, ascending."""
        numbered: Integers = self.origin * len(self.names) + self.query
        return numbered

    @cached_property
    def ranked(self) -> Integers:
        """The lines in trec_eval's order, in each group of its own."""
        return in_order(self.group, self.score, self.documents)

    @cached_property
    def ranks(self) -> Integers:
        """The rank of each line in its group, from 1."""
        return ranks_in_groups(self.group, self.ranked)

    def texts(self, lines: Integers) -> list[bytes]:
        """The documents' ids of some lines."""
        if self.part is None:
            return texts_of(self.documents.words[lines])
        return self.part.cells(lines, 2)

    def pairs(self) -> tuple[Integers, Integers]:
        """The lines sorted by query, document and file; and a number for each pair of the former.

        Lines of one pair in one file stay as the file has them.
        """
        words = self.documents.words
        order = np.lexsort((*words.T[::-1], self.query))
        same = (words[order][1:] == words[order][:-1]).all(axis=1)
        same &= self.query[order][1:] == self.query[order][:-1]
        return order, np.cumsum(np.append(True, ~same)) - 1

    def refuse_repeated(self) -> None:
        """`BadInput` where a file names a pair twice."""
        likely = np.sort(self.documents.hashes + mixed(self.group))
        if not (likely[1:] == likely[:-1]).any():
            return
        order, pair = self.pairs()
        again = (pair[1:] == pair[:-1]) & (self.origin[order][1:] == self.origin[order][:-1])
        if again.any():
            line = int(order[1:][again].min())
            query, (document,) = self.names[int(self.query[line])], self.texts(np.array([line]))
            raise refuse_repeated(self.indexes[int(self.origin[line])], query, document)


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
    from_one_file = np.zeros(len(part.starts), dtype=np.int64)
    columns = keys(part, 2), kind.values(part), from_one_file
    return Batch(stretches.names, stretches.of_line, *columns, part)


def _batch_of_one(query: bytes, lines: list[bytes], kind: Kind) -> Batch:
    part = split_again(b"".join(lines), kind)
    return _batch_of(part, Stretches([query], np.array([0, len(part.starts)])), kind)


def split_again(lines: bytes, kind: Kind) -> Fields:
    """The fields of lines that were found plain before."""
    part = split(lines, kind.columns, 2)
    if part is None:
        raise _Changed
    return part


def batches(indexes: Sequence[Index], *, sort: bool = False, size: int = BLOCK) -> Iterator[Batch]:
    """All lines of all files, about `size` bytes of them at a time, no query in two batches.

    Queries come in the order in which they first appear, the first file's first; or, with `sort`,
    by id.
    """
    ids, numbers = _queries_of(indexes, sort=sort)
    files = [
        _Sorted(index, row, np.argsort(row, kind="stable"))
        for index, row in zip(indexes, numbers, strict=True)
    ]
    bounds = [np.searchsorted(file.query[file.order], np.arange(len(ids) + 1)) for file in files]
    total = np.cumsum(
        sum(
            np.bincount(row, weights=index.size, minlength=len(ids))
            for row, index in zip(numbers, indexes, strict=True)
        )
    )
    cuts = np.flatnonzero(np.diff(total // size)) + 1
    edges = [0, *cuts.tolist(), len(ids)]
    for first, last in pairwise(edges):
        stretches = [slice(int(bound[first]), int(bound[last])) for bound in bounds]
        yield _batch(files, stretches, ids[first:last], first)


def _changed(indexes: Sequence[Index]) -> BadInput:
    names = ", ".join(str(index.path) for index in indexes)
    return BadInput(f"{names}: changed while it was read")


def files_per_query(indexes: Sequence[Index]) -> Integers:
    """In how many of the files each query is."""
    ids, numbers = _queries_of(indexes, sort=False)
    present = np.concatenate([np.unique(row) for row in numbers])
    return np.bincount(present, minlength=len(ids))


@dataclass(frozen=True)
class _Sorted:
    """An index, the number of each stretch's query in all files, and the stretches sorted by it."""

    index: Index
    query: Integers
    order: Integers


def _batch(files: Sequence[_Sorted], parts: Sequence[slice], ids: Words, first: int) -> Batch:
    texts: list[bytes] = []
    query, origin = [], []
    for number, (file, part_of_file) in enumerate(zip(files, parts, strict=True)):
        stretches = file.order[part_of_file]
        texts += file.index.text(stretches)
        lines = file.index.lines[stretches]
        query.append(np.repeat(file.query[stretches] - first, lines))
        origin.append(np.full(int(lines.sum()), number))
    indexes = [file.index for file in files]
    kind = indexes[0].kind
    try:
        part = split_again(b"".join(texts), kind)
    except _Changed as error:
        raise _changed(indexes) from error
    if len(part.starts) != sum(map(len, query)):
        raise _changed(indexes)
    columns = keys(part, 2), kind.values(part), np.concatenate(origin)
    return Batch(texts_of(ids), np.concatenate(query), *columns, part, indexes)


def _queries_of(indexes: Sequence[Index], *, sort: bool) -> tuple[Words, list[Integers]]:
    """The ids of all files' queries in order, and the place of each stretch's query among them."""
    places, ids = _numbered_together([index.ids for index in indexes])
    if sort:
        order = np.lexsort(ids.T[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        places, ids = [rank[row] for row in places], ids[order]
    return ids, [row[index.query] for row, index in zip(places, indexes, strict=True)]
