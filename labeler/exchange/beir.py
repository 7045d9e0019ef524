"""BEIR's qrels: a header, then a query's id, a document's id and a grade, with tabs between."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines
from labeler.trec.values import grade_of, ids_of

HEADER = ("query-id", "corpus-id", "score")


def is_beir_qrels(path: Path) -> bool:
    """Whether the first line of a file is the header of BEIR's qrels."""
    with reading(path):
        first = next((line for _, line in numbered_lines(path)), "")
    return tuple(first.lstrip("\ufeff").split()) == HEADER


def read_beir_qrels(path: Path) -> Qrels:
    """The grades of BEIR's qrels; `BadInput` names a row that is none, or a pair of two grades."""
    qrels: Qrels = {}
    with reading(path) as position:
        for number, line in position.follow(numbered_lines(path)):
            cells = line.rstrip("\r").split("\t")
            if number == 1 or not line.strip():
                continue
            if len(cells) != len(HEADER):
                problem = f"expected {len(HEADER)} columns with tabs between, found {len(cells)}"
                raise position.error(problem)
            where = f"{path}:{number}"
            query_id, doc_id = ids_of(where, cells[0], cells[1])
            grade = _grade(where, cells[2])
            if qrels.setdefault(query_id, {}).setdefault(doc_id, grade) != grade:
                problem = f"{query_id} {doc_id} has {qrels[query_id][doc_id]} and {grade}"
                raise position.error(f"{problem} (two grades for one pair)")
    if not qrels:
        raise BadInput(f"{path}: no pair in it")
    return qrels


def _grade(where: str, text: str) -> int:
    """A grade as BEIR's files have it: `2`, and `2.0` is the same."""
    try:
        return grade_of(where, int(text) if text.strip().lstrip("+-").isdigit() else float(text))
    except ValueError as error:
        raise BadInput(f"{where}: expected an integer grade, found {text[:40]!r}") from error


def write_beir_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> int:
    """Write qrels as BEIR's loader reads them, sorted; how many pairs there are."""
    pairs = [(q, d, grade) for q, grades in qrels.items() for d, grade in grades.items()]
    with replacing(path) as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n")
        rows.writerow(HEADER)
        rows.writerows(sorted(pairs))
    return len(pairs)
