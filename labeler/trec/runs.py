"""Runs in TREC's six columns, plain or gzip: `query Q0 document rank score tag`."""

from __future__ import annotations

from pathlib import Path

from labeler.data import Run
from labeler.errors import BadInput
from labeler.trec.rows import RUN_COLUMNS, rows, score_of, texts


def read_run(path: Path) -> Run:
    """The scores of a run, queries and documents in the file's order; the rank is not read."""
    run: Run = {}
    for number, columns in rows(path, RUN_COLUMNS):
        query_id, doc_id = texts(path, number, columns[0], columns[2])
        score = score_of(path, number, columns[4])
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput.at(path, number, f"{query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score
    return run


def read_loose_run(path: Path) -> tuple[Run, str]:
    """The scores of a run and its tag, as trec_eval reads them.

    Columns after the sixth are ignored, and the last line's tag is the run's.
    """
    run: Run = {}
    tag = b""
    for number, columns in rows(path, RUN_COLUMNS, more=True):
        query_id, doc_id = texts(path, number, columns[0], columns[2])
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput.at(path, number, f"{query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score_of(path, number, columns[4])
        tag = columns[5]
    return run, tag.decode("utf-8", "replace")
