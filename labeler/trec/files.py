"""Qrels and runs in TREC's columns, plain or gzip, read strictly.

A line of qrels is `query iteration document grade`, a run's `query Q0 document rank score tag`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import byte_blocks, numbered_lines, rereadable
from labeler.messages import Note, count_of, quiet
from labeler.trec.blocks import BLOCK, QRELS, RUN, Batch, Scattered, copy_by_query, streamed
from labeler.trec.columns import Irregular
from labeler.trec.pairs import PairColumns, read_numbers
from labeler.trec.rows import QRELS_COLUMNS, RUN_COLUMNS, grade_of, rows, score_of, texts

if TYPE_CHECKING:
    import numpy.typing as npt

Made = TypeVar("Made")

SHOWN = 3

GradedRow = tuple[int | str, str, str, int]
"""The number of a line, or what else says where; a query, a document and its grade."""


def read_qrels(path: Path | str, warn: Note = quiet) -> PairColumns[int]:
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


def read_qrels_by_line(path: Path, warn: Note = quiet) -> Qrels:
    """The same, line by line: it knows the lines that are wrong, and takes several times longer."""

    def graded() -> Iterator[GradedRow]:
        for number, columns in rows(path, QRELS_COLUMNS):
            query_id, doc_id = texts(path, number, columns[0], columns[2])
            yield number, query_id, doc_id, grade_of(path, number, columns[3])

    with reading(path):
        return gathered(graded(), path, warn)


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


# The order in which trec_eval ranks documents: by score, then by id, both descending.


def ranking(scores: Mapping[str, float]) -> list[str]:
    """The documents as trec_eval orders them: score descending, then document id descending.

    Ids compare by their UTF-8 bytes, which is the order of their code points.
    """
    return sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)


def best(scores: npt.NDArray[np.float32], ids: Sequence[str], depth: int) -> dict[str, float]:
    """The `depth` ids of the highest finite scores, highest first, ties by id descending.

    `scores` is `(documents,)`; documents scored `-inf` are left out.
    """
    candidates = np.flatnonzero(np.isfinite(scores))
    if len(candidates) > depth:
        floor = np.partition(scores[candidates], -depth)[-depth]
        candidates = candidates[scores[candidates] >= floor]
    ranked = sorted(((float(scores[i]), ids[i]) for i in candidates.tolist()), reverse=True)
    return {doc_id: score for score, doc_id in ranked[:depth]}


# The tag of a run: what its system calls itself.

_COLUMNS = 6
_BLOCK = 1 << 22


def read_tag(path: Path) -> str:
    """The last column of a run's first line; empty where there is none."""
    for _, line in numbered_lines(path):
        columns = line.split()
        if len(columns) == _COLUMNS:
            return columns[-1]
        if columns and not columns[0].startswith("#"):
            return ""
    return ""


def last_tag(path: Path) -> str:
    """The last column of a run's last line that is neither blank nor a comment: trec_eval's tag.

    Of a run that was found to have six columns throughout.
    """
    last = b""
    for block in byte_blocks(path, _BLOCK):
        lines = (line.split() for line in reversed(block.split(b"\n")))
        tags = (line[-1] for line in lines if line and not line[0].startswith(b"#"))
        last = next(tags, last)
    return last.decode("utf-8", "replace")


def read_run(path: Path | str) -> PairColumns[float]:
    """The scores of a run, `run[query][document]`, in the file's order; the rank is not read.

    `BadInput` names the line that is not six columns, has no finite score, or retrieves a document
    a second time. Of what a program holds already, `labeler.trec.memory.as_run` makes the same.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bm25.trec"
    >>> _ = path.write_text("q1 Q0 d1 1 2.5 bm25\\nq1 Q0 d2 2 1 bm25\\n")
    >>> read_run(path).as_dict()
    {'q1': {'d1': 2.5, 'd2': 1.0}}
    """
    return read_numbers(Path(path), RUN, read_run_by_line)


def through_run(
    path: Path,
    use: Callable[[Iterable[Batch]], Made],
    block: int = BLOCK,
    *,
    by_id: bool = False,
) -> Made:
    """What `use` makes of a run's lines, about `block` bytes at a time, no query in two batches.

    It is called anew where lines turn out to be scattered, or wrong: then the reader by line names
    the first that is. Queries come in the order in which they first appear, or `by_id`.
    """
    with rereadable():
        with suppress(Irregular, BadInput):
            with suppress(Scattered):
                if not by_id:
                    return use(streamed(path, block))
            with copy_by_query(path, block, by_id=by_id) as copy:
                return use(streamed(copy, block))
        run = PairColumns.of(read_run_by_line(path), np.float64)
        return use((run.by_id() if by_id else run).batches())


def read_run_by_line(path: Path) -> Run:
    """The same, line by line: it knows the line that is wrong, and takes several times as long."""
    return read_loose_run(path, more=False)[0]


def read_loose_run(path: Path, *, more: bool = True) -> tuple[Run, str]:
    """The scores of a run and its last line's tag, as trec_eval reads them.

    With `more` columns than six in a line those after the sixth are ignored.
    """
    run: dict[str, dict[str, float]] = {}
    tag = b""
    with reading(path):
        for number, columns in rows(path, RUN_COLUMNS, more=more):
            query_id, doc_id = texts(path, number, columns[0], columns[2])
            score, tag = score_of(path, number, columns[4]), columns[5]
            scores = run.setdefault(query_id, {})
            if doc_id in scores:
                raise BadInput.at(
                    path, number, f"{query_id:.80} retrieves {doc_id:.80} a second time"
                )
            scores[doc_id] = score
    return run, tag.decode("utf-8", "replace")
