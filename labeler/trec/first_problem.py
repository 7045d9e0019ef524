"""The first line of a run that no reader takes, or that retrieves a document a second time.

What is held does not grow with the file: of each line a hash of its pair and its number are laid
aside on the disk, and read again part by part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labeler.arrays import Integers
from labeler.errors import BadInput
from labeler.files.read import byte_blocks, numbered_bytes
from labeler.trec.columns import Fields, Words, keys, keys_of, split
from labeler.trec.dealt import PARTS, Dealt, dealing
from labeler.trec.index import Kind
from labeler.trec.rows import BYTE_ORDER_MARK, LONGEST_ID, rows, second_time, texts

_ROW = np.dtype([("mark", np.uint64), ("line", np.int64)])
_TIMES = 8
"""So many blocks of hashes and numbers are sorted at once."""
_LOOKED_UP = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)


class _Lines(NamedTuple):
    """The hashes of some lines' pairs, and the numbers of these lines in their file."""

    marks: Words
    numbers: Integers


def refuse_first_problem(path: Path, kind: Kind, block: int) -> None:
    """`BadInput` at the first line that is wrong; nothing where none is."""
    problem: BadInput | None = None
    with dealing() as dealt:
        try:
            for lines in _checked(path, kind, block):
                _lay_aside(dealt, lines)
        except _Wrong as wrong:
            _lay_aside(dealt, wrong.before)
            problem = wrong.problem
        _refuse_repeated(path, block, _likely(dealt, _TIMES * block))
    if problem is not None:
        raise problem


def refuse_bad_line(path: Path, kind: Kind, block: int) -> None:
    """`BadInput` at the first line that is wrong by itself; nothing where none is."""
    try:
        for _ in _checked(path, kind, block):
            pass
    except _Wrong as wrong:
        raise wrong.problem from wrong


class _Wrong(Exception):
    """A line is wrong: why, and the lines before it that have not been given yet."""

    def __init__(self, problem: BadInput, before: _Lines) -> None:
        super().__init__(str(problem))
        self.problem, self.before = problem, before


def _checked(path: Path, kind: Kind, block: int) -> Iterator[_Lines]:
    """The lines of each block; `_Wrong` at the first that is wrong."""
    number = 1
    blocks = byte_blocks(path, block)
    while True:
        try:
            text = next(blocks, None)
        except BadInput:  # damaged, or too long: the reader by line knows where
            yield from _one_by_one(path, kind, numbered_bytes(path), number)
            raise
        if text is None:
            break
        lines = _plain(text, kind, number)
        if lines is None:
            split_lines = enumerate(text.split(b"\n")[:-1], start=number)
            numbered = ((n, line + b"\n") for n, line in split_lines)
            yield from _one_by_one(path, kind, numbered)
        else:
            yield lines
        number += text.count(b"\n")


def _plain(text: bytes, kind: Kind, number: int) -> _Lines | None:
    """The lines of a block where all are right at first sight, else none."""
    part = split(text, kind.columns, number)
    if part is None or int((part.ends - part.starts)[:, [0, 2]].max(initial=0)) > LONGEST_ID:
        return None
    try:
        kind.values(part)
    except BadInput:
        return None
    return _Lines(_marks_in(part), number + np.arange(len(part.starts)))


def _marks_in(part: Fields) -> Words:
    return _paired(keys(part, 0).hashes, keys(part, 2).hashes)


def _paired(queries: Words, documents: Words) -> Words:
    """A hash of each pair."""
    return (queries ^ (queries >> np.uint64(31))) * _ODD + documents


def _one_by_one(
    path: Path, kind: Kind, numbered: Iterator[tuple[int, bytes]], first: int = 1
) -> Iterator[_Lines]:
    """Some lines, from the one numbered `first` on; `_Wrong` at the first that is wrong."""
    numbers: list[int] = []
    pairs: list[tuple[bytes, bytes]] = []
    try:
        for number, columns in rows(path, kind.columns, numbered):
            if number < first:
                continue
            texts(path, number, columns[0], columns[2])
            kind.parse(path, number, columns[kind.number])
            numbers.append(number)
            pairs.append((columns[0], columns[2]))
    except BadInput as error:
        raise _Wrong(error, _lines_of(pairs, numbers)) from error
    yield _lines_of(pairs, numbers)


def _lines_of(pairs: Sequence[tuple[bytes, bytes]], numbers: Sequence[int]) -> _Lines:
    queries, documents = (keys_of([pair[i] for pair in pairs]).hashes for i in (0, 1))
    return _Lines(_paired(queries, documents), np.array(numbers, dtype=np.int64))


def _lay_aside(dealt: Dealt, lines: _Lines) -> None:
    """The lines' hashes and numbers, by the first bits of the hash."""
    part = (lines.marks >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(part, kind="stable")
    rows_of_lines = np.empty(len(part), dtype=_ROW)
    rows_of_lines["mark"], rows_of_lines["line"] = lines.marks[order], lines.numbers[order]
    edges = np.append(0, np.cumsum(np.bincount(part, minlength=PARTS))).tolist()
    for number in np.flatnonzero(np.diff(edges)).tolist():
        dealt.add(number, rows_of_lines[edges[number] : edges[number + 1]].tobytes())


def _likely(dealt: Dealt, size: int) -> Integers:
    """The first lines whose hash an earlier line has, each after the last such line: `(n, 2)`."""
    likely = np.zeros((0, 2), dtype=np.int64)
    for parts in dealt.neighbours(size):
        lines = np.frombuffer(b"".join(dealt.pieces(parts)), dtype=_ROW)
        order = np.lexsort((lines["line"], lines["mark"]))
        mark, line = lines["mark"][order], lines["line"][order]
        again = np.flatnonzero(mark[1:] == mark[:-1])
        likely = np.concatenate([likely, np.stack([line[again], line[again + 1]], axis=1)])
        likely = likely[np.argsort(likely[:, 1])][:_LOOKED_UP]
    return likely


def _refuse_repeated(path: Path, block: int, likely: Integers) -> None:
    """`BadInput` at the first of the lines that names the pair of the line before it here."""
    pairs: dict[int, tuple[bytes, bytes]] = {}
    earlier = dict(likely[:, ::-1].tolist())
    for number, line in _numbered(path, block, set(likely.ravel().tolist())):
        columns = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).split()
        pairs[number] = columns[0], columns[2]
        if number in earlier and pairs[earlier[number]] == pairs[number]:
            raise second_time(path, number, *(text.decode() for text in pairs[number]))


def _numbered(path: Path, block: int, numbers: set[int]) -> Iterator[tuple[int, bytes]]:
    """The lines with these numbers."""
    first, last = 1, max(numbers, default=0)
    ordered = sorted(numbers)
    for text in byte_blocks(path, block) if numbers else ():
        count = text.count(b"\n")
        here = [number for number in ordered if first <= number < first + count]
        lines = text.split(b"\n") if here else []
        yield from ((number, lines[number - first]) for number in here)
        first += count
        if first > last:
            break
