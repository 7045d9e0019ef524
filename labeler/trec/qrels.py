"""Qrels in TREC's four columns, plain or gzip, read strictly: `query iteration document grade`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.messages import Note, count_of
from labeler.trec.blocks import QRELS
from labeler.trec.pairs import PairColumns, read_numbers
from labeler.trec.rows import QRELS_COLUMNS, grade_of, rows, texts

SHOWN = 3

GradedRow = tuple[int | str, str, str, int]
"""The number of a line, or what else says where; a query, a document and its grade."""


def read_qrels(path: Path | str, warn: Note = lambda _message: None) -> PairColumns[int]:
    """The grades of a qrels file, `qrels[query][document]`, in the file's order.

    A pair that stands there twice with one grade is counted in a warning; with two grades it is
    `BadInput`, which names the pairs. Lines that begin with `#` are comments. Of what a program
    holds already, `labeler.trec.memory.as_qrels` makes the same.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "human.qrels"
    >>> _ = path.write_text("q1 0 d1 2\\nq1 0 d2 0\\n")
    >>> read_qrels(path).as_dict()
    {'q1': {'d1': 2, 'd2': 0}}
    """
    return read_numbers(Path(path), QRELS, lambda path: read_qrels_by_line(path, warn))


def read_qrels_by_line(path: Path, warn: Note = lambda _message: None) -> Qrels:
    """The same, line by line: it knows the lines that are wrong, and takes several times longer."""
    with reading(path):
        return gathered(_graded_rows(path, rows(path, QRELS_COLUMNS)), path, warn)


def _graded_rows(path: Path, lines: Iterable[tuple[int, list[bytes]]]) -> Iterator[GradedRow]:
    for number, columns in lines:
        query_id, doc_id = texts(path, number, columns[0], columns[2])
        yield number, query_id, doc_id, grade_of(path, number, columns[3])


def gathered(rows: Iterable[GradedRow], source: Path | str, warn: Note) -> Qrels:
    """The qrels of rows of a line or what else says where, a query, a document and its grade.

    A pair that stands there twice with one grade is counted in a warning; with two grades it is
    `BadInput`. Messages call the rows `source`.
    """
    qrels: dict[str, dict[str, int]] = {}
    repeated = 0
    conflicts: list[str] = []
    for where, query_id, doc_id, grade in rows:
        grades = qrels.setdefault(query_id, {})
        if doc_id not in grades:
            grades[doc_id] = grade
        elif grades[doc_id] == grade:
            repeated += 1
        else:
            problem = f"{query_id:.80} {doc_id:.80} has {grades[doc_id]} and {grade}"
            row = f"{source}:{where}" if isinstance(where, int) else where
            conflicts.append(f"{row}: {problem}")
    if conflicts:
        more = len(conflicts) - SHOWN
        listed = "; ".join(conflicts[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
        raise BadInput(f"{listed} (two grades for one pair)")
    if repeated:
        lines = count_of(repeated, "repeated line", "repeated lines")
        warn(f"{source}: {lines}, the same pair with the same grade")
    return qrels
