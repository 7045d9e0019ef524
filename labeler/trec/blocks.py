"""Runs of any size, a few queries at a time.

A file in which the lines of each query stand together is read in one pass, of which a block of text
is held. Of any other a copy is made in which they do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.files.read import file_problems, scratch_file
from labeler.trec.columns import (
    Fields,
    Irregular,
    Keys,
    Small,
    Stretches,
    fields,
    floats,
    id_ranks,
    integers,
    keys,
    mixed,
    numbers,
    split,
    texts_of,
)
from labeler.trec.rows import (
    QRELS_COLUMNS,
    RUN_COLUMNS,
    grade_of,
    score_of,
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


@contextmanager
def copy_by_query(path: Path, block: int, *, by_id: bool) -> Iterator[Path]:
    """A copy of a run in which the lines of each query stand together, while a block runs.

    Queries come in the order in which they first appear, or `by_id`. Held are some fifty bytes for
    each stretch of lines of one query.
    """
    numbers: dict[bytes, int] = {}
    parts: list[tuple[Small, Integers, Integers]] = []
    with file_problems(path), tempfile.TemporaryFile(buffering=0) as lines, scratch_file() as copy:
        for part in fields(path, RUN.columns, block):
            stretches, offset, end = Stretches.of(part), lines.tell(), int(part.ends[-1, -1]) + 1
            lines.write(part.text[:end].tobytes())
            start = part.starts[stretches.edges[:-1], 0]
            places = [numbers.setdefault(name, len(numbers)) for name in stretches.names]
            parts.append(
                (np.array(places, np.int32), start + offset, np.diff(np.append(start, end)))
            )
        query, starts, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(id_ranks(list(numbers))[query] if by_id else query, kind="stable")
        with copy.open("wb") as out:
            for at in order:
                lines.seek(starts[at])
                out.write(lines.read(sizes[at]))
        yield copy


# All lines of some queries at a time, from a file in which they stand together.


@dataclass(frozen=True)
class Batch:
    """The pairs of some queries with their values, query by query.

    `names` are the queries' ids; `query` says of each pair whose it is. `part` are its lines, where
    it has some.
    """

    names: list[bytes]
    query: Integers
    documents: Keys
    value: Floats | Integers
    part: Fields | None = None

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
        """`BadInput` where a query retrieves a document twice; the reader by line says which."""
        likely = np.sort(self.documents.hashes + mixed(self.query))
        if (likely[1:] == likely[:-1]).any():
            documents = self.texts(np.arange(len(self.query)))
            pairs = list(zip(self.query.tolist(), documents, strict=True))
            if len(set(pairs)) < len(pairs):
                raise BadInput("a query retrieves a document a second time")


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
        by_id = np.lexsort(words.T[::-1]) if words.shape[1] > 1 else np.argsort(words[:, 0])
        by_id = by_id[::-1]
        # the place by id is each number's lowest bits: one `sort` takes a third of the time of keys
        bits = len(by_id).bit_length()
        marks = np.sort(runs[by_id] << bits | np.arange(len(by_id)))
        order[part] = order[part][by_id[marks & (1 << bits) - 1]]
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


def streamed(path: Path, block: int) -> Iterator[Batch]:
    """All lines of a run in one pass, about `block` bytes at a time, no query in two batches.

    Raises `Scattered` at a query that appears again after another one.
    """
    done = set()
    last, held = b"", list[bytes]()  # the query whose lines may go on, and its lines so far
    for part in fields(path, RUN.columns, block):
        stretches = Stretches.of(part)
        names, edges = stretches.names, stretches.edges.tolist()
        first = 0
        if names[0] == last:  # the block goes on with the query that the one before ended with
            held.append(part.lines(0, edges[1]))
            first = 1
        if first == len(names):
            continue
        if held:
            yield _batch_of_one(last, held)
            done.add(last)
        if len(set(names)) < len(names) or not done.isdisjoint(names[first:]):
            raise Scattered
        if len(names) - 1 > first:
            whole = stretches.slice(first, len(names) - 1)
            yield _batch_of(part.slice(edges[first], edges[-2]), whole)
            done.update(whole.names)
        last, held = names[-1], [part.lines(edges[-2], edges[-1])]
    yield _batch_of_one(last, held)


def _batch_of(part: Fields, stretches: Stretches) -> Batch:
    return Batch(stretches.names, stretches.of_line, keys(part, 2), RUN.values(part), part)


def _batch_of_one(query: bytes, lines: list[bytes]) -> Batch:
    part = split(b"".join(lines), RUN.columns, 2)
    if part is None:
        raise Irregular
    return _batch_of(part, Stretches([query], np.array([0, len(part.starts)])))
