"""All lines of some queries at a time, of a file in which the lines of a query stand apart.

One pass deals the lines out to the parts of a temporary file, those of a query to one part. What is
held is a block of text, or a part; it does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Integers
from labeler.trec.blocks import Batch, split_again
from labeler.trec.columns import Bytes, Fields, fields, keys
from labeler.trec.dealt import PARTS, Dealt, dealing
from labeler.trec.index import Kind, numbered_ids, texts_of

_TIMES = 8
"""A part of more than so many blocks is dealt out once more."""

_LEVELS = 3
"""So often at most: lines that stay together then are those of one query."""


@dataclass(frozen=True)
class _Plan:
    """What the lines are, and how many bytes of them make a batch."""

    kind: Kind
    block: int


def regrouped(path: Path, kind: Kind, block: int) -> Iterator[Batch]:
    """All lines of a file, about `block` bytes at a time, no query in two batches.

    Queries come in no order; each one's lines come in that of the file.
    """
    return _batches(fields(path, kind.columns, block), _Plan(kind, block), 0)


def _batches(parts: Iterable[Fields], plan: _Plan, level: int) -> Iterator[Batch]:
    with dealing() as dealt:
        for part in parts:
            _deal(dealt, part, level)
        for together in dealt.neighbours(plan.block):
            size = sum(dealt.sizes[number] for number in together)
            if size > _TIMES * plan.block and level < _LEVELS:
                pieces = (split_again(p, plan.kind) for p in dealt.pieces(together))
                yield from _batches(pieces, plan, level + 1)
            else:
                yield _batch(b"".join(dealt.pieces(together)), plan.kind)


def _deal(dealt: Dealt, part: Fields, level: int) -> None:
    """Lay each line aside, by a hash of its query."""
    hashes = keys(part, 0).hashes >> np.uint64(56 - 8 * level)
    of_line = (hashes & np.uint64(PARTS - 1)).astype(np.uint8)
    order = np.argsort(of_line, kind="stable")
    counts = np.bincount(of_line, minlength=PARTS)
    starts, sizes = part.starts[order, 0], (part.ends[:, -1] + 1 - part.starts[:, 0])[order]
    text, ends = _gathered(part.text, starts, sizes), np.append(0, np.cumsum(sizes))
    edges = ends[np.append(0, np.cumsum(counts))].tolist()
    for number in np.flatnonzero(counts).tolist():
        dealt.add(number, text[edges[number] : edges[number + 1]])


def _gathered(text: Bytes, starts: Integers, sizes: Integers) -> bytes:
    """Stretches of a text, one after another."""
    shift = starts - (np.cumsum(sizes) - sizes)
    return text[np.repeat(shift, sizes) + np.arange(int(sizes.sum()))].tobytes()


def _batch(lines: bytes, kind: Kind) -> Batch:
    """The lines of some queries, sorted by query."""
    part = split_again(lines, kind)
    query, ids = numbered_ids(keys(part, 0).words)
    order = np.argsort(query, kind="stable")
    part = Fields(part.text, part.starts[order], part.ends[order], part.number)
    return Batch(kind, (), part, texts_of(ids), query[order], np.zeros_like(query))
