"""The formats in which qrels are written: TREC's columns, BEIR's table, JSON, CSV and Parquet.

A format is chosen by name, or by what the file's name ends in. All take parts of sorted qrels, of
which one is held at a time.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from labeler.errors import Misuse
from labeler.exchange.export.beir import HEADER
from labeler.exchange.runs import UNSUPPORTED
from labeler.exchange.tables import parquet_writer
from labeler.files.atomic import replacing
from labeler.trec.write import GradedPart, write_graded

_COLUMNS = ("query_id", "doc_id", "relevance")
"""As ir_measures has them."""

Triple = tuple[str, str, int]


def _rows(parts: Iterable[GradedPart]) -> Iterator[Triple]:
    """Query, document and grade of each pair."""
    for part in parts:
        names = [name.decode() for name in part.names]
        documents = (doc_id.decode() for doc_id in part.documents)
        queries = (names[query] for query in part.query.tolist())
        yield from zip(queries, documents, part.grade.tolist(), strict=True)


def _write_table(path: Path, rows: Iterable[Triple], columns: Iterable[str], delimiter: str) -> int:
    count = 0
    with replacing(path) as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def _write_beir(path: Path, parts: Iterable[GradedPart]) -> int:
    return _write_table(path, _rows(parts), HEADER, "\t")


def _write_csv(path: Path, parts: Iterable[GradedPart]) -> int:
    return _write_table(path, _rows(parts), _COLUMNS, ",")


def _write_json(path: Path, parts: Iterable[GradedPart]) -> int:
    """One object, as ranx and pytrec_eval have it, a query at a time."""
    count = 0
    with replacing(path) as out:
        opening = "{"
        for query_id, rows in groupby(_rows(parts), key=itemgetter(0)):
            grades = {doc_id: grade for _, doc_id, grade in rows}
            inner = json.dumps(grades, ensure_ascii=False)
            out.write(f"{opening}{json.dumps(query_id, ensure_ascii=False)}: {inner}")
            opening = ",\n "
            count += len(grades)
        out.write("{}\n" if opening == "{" else "}\n")
    return count


def _write_parquet(path: Path, parts: Iterable[GradedPart]) -> int:
    count = 0
    types = dict(zip(_COLUMNS, ("string", "string", "int64"), strict=True))
    with parquet_writer(path, types) as write:
        for part in parts:
            rows = list(_rows([part]))
            count += len(rows)
            write([[row[column] for row in rows] for column in range(len(_COLUMNS))])
    return count


QRELS_FORMATS: dict[str, Callable[[Path, Iterable[GradedPart]], int]] = {
    "trec": write_graded,
    "beir": _write_beir,
    "json": _write_json,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
"""How qrels of a format are written; each says how many pairs there were."""

_BY_ENDING = {"tsv": "beir", "json": "json", "csv": "csv", "parquet": "parquet"}


def qrels_format_of(path: Path) -> str:
    """The format that a file's name says: TREC's of any ending that no other format has."""
    name = path.name.casefold()
    ending = Path(name.removesuffix(".gz")).suffix.removeprefix(".")
    unknown = ending in UNSUPPORTED and ending not in _BY_ENDING
    if unknown or name.endswith(".parquet.gz"):
        endings = "known: .tsv (BEIR's), .json, .csv, .parquet, .qrels (also .gz)"
        raise Misuse(f"{path}: qrels are not written as .{ending}; {endings}")
    return _BY_ENDING.get(ending, "trec")


def write_qrels_as(path: Path, parts: Iterable[GradedPart], form: str = "") -> int:
    """Write qrels in the format that the file's name says, or in `form`; how many pairs."""
    return QRELS_FORMATS[form or qrels_format_of(path)](path, parts)
