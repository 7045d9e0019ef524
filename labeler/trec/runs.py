"""Runs in TREC's six columns, plain or gzip: `query Q0 document rank score tag`."""

from __future__ import annotations

from pathlib import Path

from labeler.data import Run
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import rereadable
from labeler.trec.by_block import numbers_by_query
from labeler.trec.columns import Irregular
from labeler.trec.index import RUN
from labeler.trec.rows import RUN_COLUMNS, rows, score_of, second_time, texts


def read_run(path: Path | str) -> Run:
    """Read a run as `{query: {document: score}}`, in the file's order; the rank is not read.

    `BadInput` names the line that is not six columns, has no finite score, or retrieves a document
    a second time. Of what a program holds already, `labeler.trec.memory.as_run` makes the same.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bm25.trec"
    >>> _ = path.write_text("q1 Q0 d1 1 2.5 bm25\\nq1 Q0 d2 2 1 bm25\\n")
    >>> read_run(path)
    {'q1': {'d1': 2.5, 'd2': 1.0}}
    """
    path = Path(path)
    with rereadable():
        try:
            with reading(path):
                return numbers_by_query(path, RUN)
        except (Irregular, BadInput):
            return read_run_by_line(path)


def read_run_by_line(path: Path) -> Run:
    """The same, line by line: it knows the line that is wrong, and takes several times as long."""
    run: Run = {}
    with reading(path):
        for number, columns in rows(path, RUN_COLUMNS):
            _add(run, path, number, columns)
    return run


def read_loose_run(path: Path) -> tuple[Run, str]:
    """The scores of a run and its tag, as trec_eval reads them.

    Columns after the sixth are ignored, and the last line's tag is the run's.
    """
    run: Run = {}
    tag = b""
    with reading(path):
        for number, columns in rows(path, RUN_COLUMNS, more=True):
            _add(run, path, number, columns)
            tag = columns[5]
    return run, tag.decode("utf-8", "replace")


def _add(run: Run, path: Path, number: int, columns: list[bytes]) -> None:
    """Put one line's document into the run."""
    query_id, doc_id = texts(path, number, columns[0], columns[2])
    score = score_of(path, number, columns[4])
    scores = run.setdefault(query_id, {})
    if doc_id in scores:
        raise second_time(path, number, query_id, doc_id)
    scores[doc_id] = score
