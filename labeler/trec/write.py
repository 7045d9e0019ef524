"""Qrels and runs written whole or not at all: a file is read back before it takes its place.

Dicts, rows one by one and columns come in, and parts of runs that are handled some queries at a
time. One way goes out: lines, written, read back, renamed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from math import isfinite
from pathlib import Path

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.files.atomic import replacing_bytes
from labeler.files.read import byte_blocks
from labeler.messages import Advance, counted, quiet
from labeler.trec.blocks import Batch
from labeler.trec.columns import Codes, Small, id_ranks, ids_at, split
from labeler.trec.files import ranking
from labeler.trec.pairs import PairColumns
from labeler.trec.rows import LARGEST_GRADE, QRELS_COLUMNS, RUN_COLUMNS, shown

_BLOCK = 1 << 20
_LINES = 25_000
"""So many lines are made at a time."""

_QRELS_LINE = b"%b 0 %b %d\n"
_RUN_LINE = b"%b Q0 %b %d %a %b\n"


@dataclass(frozen=True)
class RankedPart:
    """Some queries' documents in their final order; `query` ascends, a place in `names`."""

    names: list[bytes]
    query: Integers
    documents: list[bytes]
    score: Floats

    def by_query(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Each query with the scores of its documents."""
        edges = np.searchsorted(self.query, np.arange(len(self.names) + 1)).tolist()
        for name, (first, last) in zip(self.names, pairwise(edges), strict=True):
            ids = [doc_id.decode() for doc_id in self.documents[first:last]]
            yield name.decode(), dict(zip(ids, self.score[first:last].tolist(), strict=True))


def ranked_part(batch: Batch, order: Integers) -> RankedPart:
    """Some lines of a run, in the order that they are to have, query by query."""
    return RankedPart(batch.names, batch.query[order], batch.texts(order), batch.score[order])


def write_run(path: Path, run: Run, tag: str, advance: Advance = quiet) -> None:
    """Write a run in trec_eval's order, gzip where `path` ends in `.gz`; it reads back exactly.

    `advance` counts queries.
    """

    def ranked(query_id: str, scores: Mapping[str, float]) -> RankedPart:
        ids = ranking(scores)
        score = np.array([float(scores[doc_id]) for doc_id in ids])
        if not np.isfinite(score).all():
            doc_id, odd = next(item for item in scores.items() if not isfinite(item[1]))
            raise BadInput(
                f"{path}: {query_id} {doc_id}: expected a finite number as score, found {odd!r}"
            )
        documents = [doc_id.encode() for doc_id in ids]
        return RankedPart([query_id.encode()], np.zeros(len(ids), np.int64), documents, score)

    write_ranked(path, starmap(ranked, counted(run.items(), len(run), advance, every=10)), tag)


def write_ranked(path: Path, parts: Iterable[RankedPart], tag: str) -> int:
    """Write a run a part at a time, ranks counted from 1; how many lines it has."""
    if tag.split() != [tag]:
        raise Misuse(f"the tag {tag!r} must be one word, as it is a column of the run")
    last = tag.encode()

    def lines(part: RankedPart) -> list[bytes]:
        starts = np.searchsorted(part.query, np.arange(len(part.names)))
        rank = np.arange(1, len(part.query) + 1) - starts[part.query]
        names = [part.names[query] for query in part.query.tolist()]
        rows = zip(names, part.documents, rank.tolist(), part.score.tolist(), strict=True)
        return [_RUN_LINE % (*row, last) for row in rows]

    return _write(path, RUN_COLUMNS, map(lines, parts))


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write qrels sorted by query and document; they read back as the same grades."""
    rows = ((query, doc, grade) for query, grades in qrels.items() for doc, grade in grades.items())
    write_sorted_qrels(path, rows)


def write_sorted_qrels(path: Path, grades: Iterable[tuple[str, str, int]]) -> None:
    """Write `(query, document, grade)` sorted by query and document; no pair twice."""
    sorting = GradesToSort(path)
    for row in grades:
        sorting.add(*row)
    sorting.write(path)


class GradesToSort:
    """Grades that come one by one, to be written to `path`, or in its place, sorted.

    Twelve bytes of each are held, and the distinct ids.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._query, self._document, self._value = Codes(), Codes(), array("i")

    def add(self, query_id: str, doc_id: str, grade: int) -> None:
        """Take one more grade, of another pair than all before."""
        if abs(grade) > LARGEST_GRADE:
            raise BadInput(
                f"{self._path}: {query_id} {doc_id}: expected an integer grade, found {grade}"
            )
        self._query.add(query_id)
        self._document.add(doc_id)
        self._value.append(grade)

    def write(self, path: Path) -> None:
        """Write qrels sorted by query and document."""
        queries, ids = tuple(self._query.place), tuple(self._document.place)
        query, document = self._query.code, self._document.code
        value = np.array(self._value, dtype=np.int32)
        order = np.lexsort((id_ranks(ids)[document], id_ranks(queries)[query]))
        lines = _grade_lines(queries, ids, query[order], document[order], value[order])
        _write(path, QRELS_COLUMNS, lines)


def write_columns(path: Path, qrels: PairColumns[int]) -> int:
    """Write qrels whose pairs are sorted already; how many lines they have."""
    columns = qrels.query, qrels.document, qrels.value
    return _write(path, QRELS_COLUMNS, _grade_lines(qrels.queries, qrels.documents, *columns))


def _grade_lines(
    queries: Sequence[str], documents: Sequence[str], query: Small, document: Small, value: Small
) -> Iterator[list[bytes]]:
    """Blocks of lines, of places of queries and of documents and of grades."""
    names = [query_id.encode() for query_id in queries]
    for first in range(0, len(query), _LINES):
        rows = slice(first, first + _LINES)
        ids = [doc_id.encode() for doc_id in ids_at(documents, document[rows])]
        of = [names[at] for at in query[rows].tolist()]
        yield [_QRELS_LINE % row for row in zip(of, ids, value[rows].tolist(), strict=True)]


def _write(path: Path, columns: str, blocks: Iterable[Sequence[bytes]]) -> int:
    """Write blocks of lines and read them back; how many lines there are."""
    count = 0
    with replacing_bytes(path, lambda written: _check(written, path, columns, count)) as out:
        for lines in blocks:
            count += len(lines)
            out.write(b"".join(lines))
    return count


def _check(written: Path, path: Path, columns: str, count: int) -> None:
    """Read a file back: `count` lines, each with its columns, which hold no white space."""
    number, width = 1, len(columns.split())
    for block in byte_blocks(written, _BLOCK):
        part, lines = split(block, columns, number), block.count(b"\n")
        number += lines
        if part is None or len(part.starts) != lines:
            odd = (line for line in block.split(b"\n")[:-1] if len(line.split()) != width)
            problem = "an id with white space or a leading #?"
            if (line := next(odd, None)) is not None:
                problem = f"expected {width} columns ({columns}) in {shown(line)}"
            raise BadInput(f"{path}: would not read back as it was written; {problem}")
    if number - 1 != count:
        raise BadInput(f"{path}: {count:,} lines were written, but {number - 1:,} are read back")
