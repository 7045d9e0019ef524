"""Qrels in TREC's four columns, plain or gzip, read strictly: `query iteration document grade`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Integers
from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.messages import Note, count_of
from labeler.trec.index import QRELS, Batch, Index, batches
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


# The pairs of qrels, each once: what stands there twice is counted, or refused.


@dataclass
class RepeatedPairs:
    """How many pairs one file names once more: with the same grade, and with another."""

    index: Index
    same: int = 0
    other_grades: int = 0

    def finish(self, warn: Note) -> None:
        """`BadInput` lists pairs of two grades; the others are a warning."""
        path = self.index.path
        if self.other_grades:
            gathered(_graded_rows(path, self.index.numbered()), path, warn)
        if self.same:
            warn(same_grade(path, self.same))


def distinct_lines(batch: Batch, repeats: Sequence[RepeatedPairs]) -> tuple[Integers, Integers]:
    """The lines sorted by query, document and file, each pair of a file once; and pair numbers.

    What is left out is noted in the `repeats` of its file.
    """
    lines, pair = batch.pairs()  # those of one pair stay in the file's order
    origin = batch.origin[lines]
    again = np.append(False, (pair[1:] == pair[:-1]) & (origin[1:] == origin[:-1]))
    if again.any():
        firsts = lines[np.maximum.accumulate(np.where(again, 0, np.arange(len(lines))))]
        differs = batch.grade[lines] != batch.grade[firsts]
        for number, of_file in enumerate(repeats):
            mine = again & (origin == number)
            of_file.same += int((mine & ~differs).sum())
            of_file.other_grades += int((mine & differs).sum())
    return lines[~again], pair[~again]


def pair_batches(
    indexes: Sequence[Index], warn: Note
) -> Iterator[tuple[Batch, Integers, Integers]]:
    """Batches by query id, with its distinct lines, sorted by query, document and file, and their
    pairs' numbers. At the end `warn` is told what was repeated, or `BadInput` is raised."""
    repeats = [RepeatedPairs(index) for index in indexes]
    for batch in batches(indexes, sort=True):
        yield batch, *distinct_lines(batch, repeats)
    for of_file in repeats:
        of_file.finish(warn)
