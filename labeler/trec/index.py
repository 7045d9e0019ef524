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
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import file_of, file_problems, numbered_bytes, rereadable
from labeler.messages import no_query_in_common
from labeler.trec.columns import (
    Fields,
    Irregular,
    Small,
    Stretches,
    Words,
    fields,
    floats,
    integers,
    keys,
    widened,
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
    all_at_once: Callable[[Fields, int], Floats | Integers]
    parse: Callable[[Path, int, bytes], float]

    def values(self, part: Fields) -> Floats | Integers:
        """The numbers of some lines that were found well-formed."""
        try:
            return self.all_at_once(part, self.number)
        except Irregular:
            texts = [part.cell(line, self.number) for line in range(len(part.starts))]
            return np.array([self.parse(Path(), 0, text) for text in texts])


RUN = Kind(RUN_COLUMNS, 4, floats, score_of)
QRELS = Kind(QRELS_COLUMNS, 3, integers, grade_of)


@dataclass(frozen=True)
class Index:
    """Where the lines of each query stand: stretches of them, those of one query in a row.

    `query` numbers the queries in the order of their first lines, `ids` are theirs. `source` holds
    the lines with single white space between the columns; `copy` is a readable twin of `path`.
    """

    path: Path
    copy: Path
    kind: Kind
    source: IO[bytes]
    start: Integers
    size: Small
    lines: Small
    query: Small
    ids: Words

    def numbered(self) -> Iterator[tuple[int, list[bytes]]]:
        """All lines, with the numbers that they have in the file."""
        return rows(self.path, self.kind.columns, numbered_bytes(self.copy))

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
def indexed(
    path: Path, kind: Kind, block: int = BLOCK, copy: Path | None = None
) -> Iterator[Index]:
    """The index of a file, plain or gzip, or of standard input for `-`.

    `copy` holds its lines, where it holds them another way. Raises `BadInput` at the first line
    that is not what the format says.
    """
    with rereadable(), tempfile.TemporaryFile(prefix="labeler-") as spool:
        with file_problems(path), reading(path):
            bytes_of = copy or file_of(path)
            plain = _spooled(path, bytes_of, kind, block, spool)
            stretches = _together(list(_stretches(path, bytes_of, plain, kind)))
            spool.flush()
        yield Index(path, bytes_of, kind, spool, *stretches)


def _spooled(
    path: Path, copy: Path, kind: Kind, block: int, spool: IO[bytes]
) -> Iterator[tuple[Fields, int]]:
    """A file's lines, which go to the spool as plain ones, and where each block starts there."""
    try:
        for part in fields(path, kind.columns, block, copy):
            offset = spool.tell()
            spool.write(part.text[: int(part.ends[-1, -1]) + 1].tobytes())
            yield part, offset
    except BadInput:  # where a gzip file breaks off, the slow reader knows the line
        _refuse_first_wrong(path, copy, kind)
        raise


class _Located(NamedTuple):
    """Lines of one query in a row: where they start, their bytes, how many, and which of `ids`."""

    start: Integers
    size: Small
    lines: Small
    query: Small
    ids: Words


def _stretches(
    path: Path, copy: Path, parts: Iterator[tuple[Fields, int]], kind: Kind
) -> Iterator[_Located]:
    for part, offset in parts:
        _check(path, copy, part, kind)
        words = keys(part, 0).words
        new = np.append(True, (words[1:] != words[:-1]).any(axis=1))
        first = np.flatnonzero(new)
        end = int(part.ends[-1, -1]) + 1
        start = part.starts[first, 0]
        size = np.diff(np.append(start, end)).astype(np.int32)
        lines = np.diff(np.append(first, len(words))).astype(np.int32)
        query, ids = numbered_ids(words[first])
        yield _Located(start + offset, size, lines, query.astype(np.int32), ids)


def _check(path: Path, copy: Path, part: Fields, kind: Kind) -> None:
    """`BadInput` at the file's first line that is wrong, where this part has a wrong one."""
    try:
        kind.values(part)
        is_wrong = int((part.ends - part.starts)[:, [0, 2]].max()) > LONGEST_ID
    except BadInput:
        is_wrong = True
    if is_wrong:
        _refuse_first_wrong(path, copy, kind)


def _refuse_first_wrong(path: Path, copy: Path, kind: Kind) -> None:
    """Read by line, which raises what is wrong with the first line that is."""
    for number, columns in rows(path, kind.columns, numbered_bytes(copy)):
        texts(path, number, columns[0], columns[2])
        kind.parse(path, number, columns[kind.number])


def _together(parts: Sequence[_Located]) -> _Located:
    """All stretches, those of a query in a row, the queries by their first lines."""
    width = max(part.ids.shape[1] for part in parts)
    number, ids = numbered_ids(np.concatenate([widened(part.ids, width) for part in parts]))
    ends = np.cumsum([len(part.ids) for part in parts])
    rows = np.split(number.astype(np.int32), ends[:-1])
    query = np.concatenate([row[part.query] for row, part in zip(rows, parts, strict=True)])
    order = np.argsort(query, kind="stable")
    start = np.concatenate([part.start for part in parts])[order]
    size, lines = (np.concatenate([part[i] for part in parts])[order] for i in (1, 2))
    return _Located(start, size, lines, query[order], ids)


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


# Whole qrels and runs as dicts, many lines at a time; the slow readers judge unusual files.


def numbers_by_query(path: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    """The number of each document of each query, in the file's order.

    Raises `Irregular` or `BadInput` where a line is not plain, or names a pair a second time.
    """
    return values_by_query(path, kind.columns, lambda part: kind.values(part).tolist())


def values_by_query(
    path: Path, columns: str, values_of: Callable[[Fields], list[Any]]
) -> dict[str, dict[str, Any]]:
    """The same of whatever value each line has."""
    table: dict[str, dict[str, Any]] = {}
    for part in fields(path, columns, BLOCK):
        if int((part.ends - part.starts)[:, [0, 2]].max()) > LONGEST_ID:
            raise Irregular
        values, documents, stretches = values_of(part), column_texts(part, 2), Stretches.of(part)
        edges = pairwise(stretches.edges.tolist())
        for query, (first, end) in zip(stretches.names, edges, strict=True):
            own = table.setdefault(query.decode(), {})
            count = len(own) + end - first
            own.update(zip(documents[first:end], values[first:end], strict=True))
            if len(own) < count:
                raise Irregular
    return table


def column_texts(part: Fields, column: int) -> list[str]:
    """What each line has in a column."""
    text = part.text.tobytes()
    ends = zip(part.starts[:, column].tolist(), part.ends[:, column].tolist(), strict=True)
    return [text[start:end].decode() for start, end in ends]


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
