"""The judged pairs of some qrels as arrays, read from their file without a Python object a line.

The same pairs as `read_qrels` has, and the same errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from labeler.arrays import Integers
from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.metrics.rankings import top_grade
from labeler.trec.columns import (
    Irregular,
    Stretches,
    Words,
    fields,
    hashed,
    integers,
    joined,
    keys,
    keys_of,
    mixed,
)
from labeler.trec.qrels import read_qrels
from labeler.trec.rows import QRELS_COLUMNS

BLOCK = 1 << 22


@dataclass(frozen=True)
class Pool:
    """The pairs of some qrels, by query (sorted by id), then by grade, best first.

    `source` is the file that they were read from, or the dict itself.
    """

    source: Path | Qrels
    queries: tuple[str, ...]
    query: Integers
    grade: Integers
    documents: Words
    """The words of each document's id, as `Keys` has them."""
    name: str
    """What messages call them."""
    has_collisions: bool = False
    """Two pairs share a hash, so that runs must be read the slow way."""
    stale: int = 0
    """How many grades of their file are of texts that have changed since."""

    @cached_property
    def number(self) -> dict[bytes, int]:
        """The index in `queries` of each query id."""
        return {query.encode(): index for index, query in enumerate(self.queries)}

    @cached_property
    def starts(self) -> Integers:
        """Where each query's pairs begin, and where the last one's end."""
        return np.searchsorted(self.query, np.arange(len(self.queries) + 1))

    @cached_property
    def qrels(self) -> Qrels:
        """The same as a dict; a file is read again, by the slow reader."""
        return read_qrels(self.source) if isinstance(self.source, Path) else self.source

    @cached_property
    def max_grade(self) -> int:
        """The largest grade."""
        return top_grade(self.grade)


def read_pool(path: Path, warn: Callable[[str], None], block: int = BLOCK) -> Pool:
    """The pairs of a qrels file; repeated pairs and bad lines as `read_qrels` has them."""
    try:
        blocks = fields(path, QRELS_COLUMNS, block)
        parts = ((Stretches.of(b), integers(b, 3), keys(b, 2).words) for b in blocks)
        pool = _pool(path, str(path), parts)
        refuse_collisions(hashed(pool.documents) + mixed(pool.query))
    except (Irregular, BadInput):  # of several bad lines the slow reader names the first
        return replace(pool_of(read_qrels(path, warn), str(path)), source=path)
    return pool


def _pool(
    source: Path | Qrels, name: str, parts: Iterable[tuple[Stretches, Integers, Words]]
) -> Pool:
    stretches, grades, words = zip(*parts, strict=True)
    names = sorted({query_id for of_part in stretches for query_id in of_part.names})
    number = {query_id: i for i, query_id in enumerate(names)}
    query = np.concatenate([np.array([number[q] for q in s.names])[s.of_line] for s in stretches])
    # the query and the grade of a pair as one number: sorted by it, best grades come first
    grade = np.concatenate(grades)
    top = int(grade.max())
    order = np.argsort(query * (top - int(grade.min()) + 1) + top - grade, kind="stable")
    queries = tuple(query_id.decode() for query_id in names)
    return Pool(source, queries, query[order], grade[order], joined(words)[order], name)


def pool_of(qrels: Qrels, name: str = "the qrels") -> Pool:
    """The pool of qrels that a program holds; queries without a pair are none of it."""
    qrels = {query_id: grades for query_id, grades in qrels.items() if grades}
    sizes = [len(grades) for grades in qrels.values()]
    edges = np.cumsum([0, *sizes])
    stretches = Stretches([query_id.encode() for query_id in qrels], edges)
    grades = np.array([grade for grades in qrels.values() for grade in grades.values()])
    ids = [doc_id.encode() for grades in qrels.values() for doc_id in grades]
    pool = _pool(qrels, name, [(stretches, grades, keys_of(ids).words)])
    try:
        refuse_collisions(hashed(pool.documents) + mixed(pool.query))
    except Irregular:
        return replace(pool, has_collisions=True)
    return pool


def refuse_collisions(marks: Words) -> None:
    """`Irregular` where two lines look like one pair; the slow reader tells whether they are."""
    ordered = np.sort(marks)
    if (ordered[1:] == ordered[:-1]).any():
        raise Irregular
