"""Qrels in TREC's four columns, plain or gzip, read strictly: `query iteration document grade`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import rereadable
from labeler.messages import count_of
from labeler.trec.by_block import numbers_by_query
from labeler.trec.columns import Irregular
from labeler.trec.index import QRELS
from labeler.trec.rows import QRELS_COLUMNS, grade_of, rows, texts

SHOWN = 3

GradedRow = tuple[int | str, str, str, int]
"""The number of a line, or what else says where; a query, a document and its grade."""


def read_qrels(path: Path | str, warn: Callable[[str], None] = lambda _message: None) -> Qrels:
    """Read a qrels file as `{query: {document: grade}}`, in the file's order.

    A pair that stands there twice with one grade is counted in a warning; with two grades it is
    `BadInput`, which names the pairs. Lines that begin with `#` are comments. Of what a program
    holds already, `labeler.trec.memory.as_qrels` makes the same.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "human.qrels"
    >>> _ = path.write_text("q1 0 d1 2\\nq1 0 d2 0\\n")
    >>> read_qrels(path)
    {'q1': {'d1': 2, 'd2': 0}}
    """
    path = Path(path)
    with rereadable():
        try:
            with reading(path):
                return numbers_by_query(path, QRELS)
        except (Irregular, BadInput):
            return read_qrels_by_line(path, warn)


def read_qrels_by_line(path: Path, warn: Callable[[str], None] = lambda _message: None) -> Qrels:
    """The same, line by line: it knows the lines that are wrong, and takes several times longer."""
    with reading(path):
        return gathered(_graded_lines(path), path, warn)


def _graded_lines(path: Path) -> Iterator[GradedRow]:
    for number, columns in rows(path, QRELS_COLUMNS):
        query_id, doc_id = texts(path, number, columns[0], columns[2])
        yield number, query_id, doc_id, grade_of(path, number, columns[3])


def gathered(rows: Iterable[GradedRow], source: Path | str, warn: Callable[[str], None]) -> Qrels:
    """The qrels of rows of a line or what else says where, a query, a document and its grade.

    A pair that stands there twice with one grade is counted in a warning; with two grades it is
    `BadInput`. Messages call the rows `source`.
    """
    qrels: Qrels = {}
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
        raise BadInput(two_grades(conflicts, len(conflicts)))
    if repeated:
        warn(same_grade(source, repeated))
    return qrels


def two_grades(conflicts: list[str], total: int) -> str:
    """What to say of lines that contradict earlier ones."""
    more = total - len(conflicts[:SHOWN])
    listed = "; ".join(conflicts[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
    return f"{listed} (two grades for one pair)"


def same_grade(path: Path | str, repeated: int) -> str:
    """What to say of lines that only repeat earlier ones."""
    lines = count_of(repeated, "repeated line", "repeated lines")
    return f"{path}: {lines}, the same pair with the same grade"
