"""All lines of some queries at a time, from one file or from several: what every tool reads.

`streamed` reads one file in one pass, as scoring does, where each query's lines stand together;
`batches` reads files of any order through their indexes, several at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.errors import BadInput
from labeler.trec.columns import (
    Fields,
    Keys,
    Stretches,
    Words,
    fields,
    keys,
    mixed,
    numbers,
    split,
    widened,
)
from labeler.trec.index import (
    BLOCK,
    Index,
    Kind,
    numbered_ids,
    refuse_repeated,
    texts_of,
)


@dataclass(frozen=True)
class Batch:
    """The lines of some queries, file by file, in each file query by query.

    `names` are the queries' ids; `query` and `origin` say of each line whose it is, and from which
    file. `indexes` are the files', where they have some.
    """

    kind: Kind
    indexes: Sequence[Index]
    part: Fields
    names: list[bytes]
    query: Integers
    origin: Integers

    @cached_property
    def documents(self) -> Keys:
        """The document of each line."""
        return keys(self.part, 2)

    @cached_property
    def score(self) -> Floats:
        """The score of each line of runs."""
        return np.asarray(self.kind.values(self.part), dtype=np.float64)

    @cached_property
    def declared(self) -> Integers:
        """The rank that each line of runs says it has, -1 where it says none."""
        rank = numbers(self.part, 3)
        return np.where(rank.odd | rank.pointed | rank.negative, -1, rank.value)

    @cached_property
    def grade(self) -> Integers:
        """The grade of each line of qrels."""
        return np.asarray(self.kind.values(self.part), dtype=np.int64)

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
        text = self.part.text.tobytes()
        starts, ends = self.part.starts[lines, 2].tolist(), self.part.ends[lines, 2].tolist()
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]

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
            query, document = self.names[int(self.query[line])], self.part.cell(line, 2)
            raise refuse_repeated(self.indexes[int(self.origin[line])], query, document)


def in_order(
    group: Integers, score: Floats, documents: Keys, hits: Integers | None = None
) -> Integers:
    """Where the lines of ascending groups go in trec_eval's order: by score, then by document id.

    Both descend; ids compare by their bytes. Where only the places of some `hits` lines count,
    ties without any of them are left as they are.
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
        if hits is not None:
            part &= _with_a_hit(runs, order, hits)
        runs = runs[part]
        words = documents.words[order[part]]
        # ids descend: the complement of big-endian words orders them so; the last key counts most
        by_id = [~words[:, i] for i in reversed(range(words.shape[1]))]
        order[part] = order[part][np.lexsort((*by_id, runs))]
    return order


def _with_a_hit(runs: Integers, order: Integers, hits: Integers) -> Flags:
    """Which places lie in a run of ties that holds one of the `hits` lines."""
    is_hit = np.zeros(len(order), dtype=np.bool_)
    is_hit[hits] = True
    holds = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    holds[runs[is_hit[order]]] = True
    in_such_ties: Flags = holds[runs]
    return in_such_ties


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
    return Batch(kind, (), part, stretches.names, stretches.of_line, from_one_file)


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
    ids, numbers = _together(indexes, sort=sort)
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
    ids, numbers = _together(indexes, sort=False)
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
    return Batch(kind, indexes, part, texts_of(ids), np.concatenate(query), np.concatenate(origin))


def _together(indexes: Sequence[Index], *, sort: bool) -> tuple[Words, list[Integers]]:
    """The ids of all files' queries in order, and the place of each stretch's query among them."""
    width = max(index.ids.shape[1] for index in indexes)
    number, ids = numbered_ids(np.concatenate([widened(i.ids, width) for i in indexes]))
    if sort:
        order = np.lexsort(ids.T[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        number, ids = rank[number], ids[order]
    ends = np.cumsum([len(index.ids) for index in indexes])
    rows = np.split(number, ends[:-1])
    return ids, [row[index.query] for row, index in zip(rows, indexes, strict=True)]
