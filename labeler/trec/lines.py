"""The lines of qrels and runs as columns, one query after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.trec.columns import Fields, Keys, fields, floats, from_lines, keys, numbers, widened
from labeler.trec.rows import RUN_COLUMNS, rows


@dataclass(frozen=True)
class Groups:
    """Lines of one query in a row: the queries' ids, and the number of each line's query."""

    names: list[bytes]
    group: Integers

    @classmethod
    def of(cls, part: Fields) -> Groups:
        """The queries of a block, from its first column."""
        words = keys(part, 0).words
        new = np.append(True, (words[1:] != words[:-1]).any(axis=1))
        names = [part.bytes(int(line), 0) for line in np.flatnonzero(new)]
        return cls(names, np.cumsum(new) - 1)


@dataclass(frozen=True)
class Lines:
    """Lines of a run, one query after another."""

    names: list[bytes]
    group: Integers
    documents: Keys
    score: Floats
    declared: Integers

    @classmethod
    def of(cls, part: Fields) -> Lines:
        """A block of a run."""
        groups = Groups.of(part)
        rank = numbers(part, 3)
        declared = np.where(rank.odd | rank.pointed | rank.negative, -1, rank.value)
        return cls(groups.names, groups.group, keys(part, 2), floats(part, 4), declared)

    def slice(self, first: int, last: int) -> Lines:
        """The lines of the queries from `first` up to `last`."""
        start, end = np.searchsorted(self.group, [first, last])
        part = slice(int(start), int(end))
        return Lines(
            self.names[first:last],
            self.group[part] - first,
            self.documents.take(part),
            self.score[part],
            self.declared[part],
        )

    def then(self, more: Lines) -> Lines:
        """Both, where a query that ends the one and begins the other is one."""
        same = bool(self.names) and self.names[-1] == more.names[0]
        shift = len(self.names) - same
        return Lines(
            self.names + more.names[same:],
            np.concatenate([self.group, more.group + shift]),
            joined([self.documents, more.documents]),
            np.concatenate([self.score, more.score]),
            np.concatenate([self.declared, more.declared]),
        )


class Scattered(Exception):
    """A query's lines do not stand together."""


def run_blocks(path: Path, block: int) -> Iterator[Lines]:
    """The lines of a run, no query in two of the parts."""
    held: Lines | None = None
    seen: set[bytes] = set()
    for part in fields(path, RUN_COLUMNS, block):
        lines = Lines.of(part)
        lines = lines if held is None else held.then(lines)
        last = len(lines.names) - 1
        if last:
            yield lines.slice(0, last)
        if len(set(lines.names)) <= last or not seen.isdisjoint(lines.names):
            raise Scattered
        seen.update(lines.names[:last])
        held = lines.slice(last, last + 1)
    if held is not None:
        yield held


def gathered(path: Path) -> Fields:
    """The whole run with each query's lines together, in the order of their first ones."""
    by_query: dict[bytes, list[bytes]] = {}
    for _, columns in rows(path, RUN_COLUMNS):
        by_query.setdefault(columns[0], []).append(b" ".join(columns) + b"\n")
    return from_lines((line for lines in by_query.values() for line in lines), RUN_COLUMNS)


def joined(parts: list[Keys]) -> Keys:
    """All keys, one part after another."""
    width = max(part.words.shape[1] for part in parts)
    words = np.concatenate([widened(part.words, width) for part in parts])
    return Keys(words, np.concatenate([part.hashes for part in parts]))
