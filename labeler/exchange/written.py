"""The formats in which qrels and runs are written: TREC's columns, JSON, tables.

A format is chosen by name, or by what the file's name ends in. Qrels are columns; runs are parts,
of which one is held at a time. All say how many pairs there were.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from labeler.errors import Misuse
from labeler.exchange.shapes import ending_of
from labeler.exchange.tables import parquet_writer
from labeler.files.archives import write_workbook
from labeler.files.atomic import replacing, replacing_bytes
from labeler.files.jsonl import plain_id
from labeler.messages import batched
from labeler.trec.pairs import PairColumns
from labeler.trec.write import RankedPart, write_columns, write_ranked

BEIR_HEADER = ("query-id", "corpus-id", "score")
_QRELS_COLUMNS = {"query_id": "string", "doc_id": "string", "relevance": "int64"}
_RUN_COLUMNS = {"query_id": "string", "doc_id": "string", "score": "double"}
"""As ir_measures has them."""

_RANKED = ("query_id", "doc_id", "rank", "score")

Rows = Iterable[Sequence[Any]]
"""Cells by row and column."""


def write_table(path: Path, columns: Iterable[str], rows: Rows, delimiter: str = ",") -> int:
    """Write a table of text whose first row names the columns; how many rows it has."""
    count = 0
    with replacing(path) as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def _write_workbook(path: Path, columns: Iterable[str], rows: Rows) -> int:
    with replacing_bytes(path) as out:
        return write_workbook(out, chain([tuple(columns)], rows)) - 1


def _write_nested(path: Path, queries: Iterable[tuple[str, Mapping[str, float]]]) -> int:
    """One object, as BEIR, ranx and pytrec_eval have it, a query at a time."""
    count = 0
    with replacing(path) as out:
        opening = "{"
        for query_id, values in queries:
            plain = {plain_id(doc_id): value for doc_id, value in values.items()}
            inner = json.dumps(plain, ensure_ascii=False)
            out.write(f"{opening}{json.dumps(plain_id(query_id), ensure_ascii=False)}: {inner}")
            opening = ",\n "
            count += len(values)
        out.write("{}\n" if opening == "{" else "}\n")
    return count


_BATCH = 10_000


def write_parquet(path: Path, types: Mapping[str, str], rows: Rows) -> int:
    """Write columns of these types, some thousand rows at a time; how many rows there are."""
    count = 0
    with parquet_writer(path, types) as write:
        for batch in batched(rows, _BATCH):
            write(list(map(list, zip(*batch, strict=True))))
            count += len(batch)
    return count


def _graded(qrels: PairColumns[int]) -> Iterator[Sequence[Any]]:
    """Query, document and grade of each pair."""
    return ((*pair, grade) for pair, grade in qrels.by_pair())


def _ranked(parts: Iterable[RankedPart]) -> Iterator[Sequence[Any]]:
    """Query, document, rank and score of each row."""
    for part in parts:
        for query_id, scores in part.by_query():
            for rank, (doc_id, score) in enumerate(scores.items(), start=1):
                yield query_id, doc_id, rank, score


def _plain(rows: Rows) -> Iterator[Sequence[Any]]:
    """Rows whose first two cells are ids, these as their own system has them."""
    return ((plain_id(row[0]), plain_id(row[1]), *row[2:]) for row in rows)


def _in_tsv(rows: Rows) -> Iterator[Sequence[Any]]:
    """The same for TSV, in which ids with a tab or the end of a line stay escaped."""
    for row in rows:
        (plain,) = _plain([row])
        yield row if {"\t", "\n", "\r"} & {*plain[0], *plain[1]} else plain


QRELS_FORMATS: dict[str, Callable[[Path, PairColumns[int]], int]] = {
    "trec": write_columns,
    "beir": lambda path, qrels: write_table(path, BEIR_HEADER, _in_tsv(_graded(qrels)), "\t"),
    "json": lambda path, qrels: _write_nested(path, qrels.items()),
    "csv": lambda path, qrels: write_table(path, _QRELS_COLUMNS, _plain(_graded(qrels))),
    "parquet": lambda path, qrels: write_parquet(path, _QRELS_COLUMNS, _plain(_graded(qrels))),
    "xlsx": lambda path, qrels: _write_workbook(path, _QRELS_COLUMNS, _plain(_graded(qrels))),
}
"""How sorted qrels are written in a format."""

RUN_FORMATS: dict[str, Callable[[Path, Iterable[RankedPart], str], int]] = {
    "trec": write_ranked,
    "json": lambda path, parts, _tag: _write_nested(
        path, (query for part in parts for query in part.by_query())
    ),
    "parquet": lambda path, parts, _tag: write_parquet(
        path, _RUN_COLUMNS, ((q, d, score) for q, d, _, score in _plain(_ranked(parts)))
    ),
    "csv": lambda path, parts, _tag: write_table(path, _RANKED, _plain(_ranked(parts))),
    "xlsx": lambda path, parts, _tag: _write_workbook(path, _RANKED, _plain(_ranked(parts))),
}
"""How runs of a format are written; parts come in with a tag."""

_OF_RUNS = {"json": "json", "csv": "csv", "parquet": "parquet", "xlsx": "xlsx"}
_OF_QRELS = {"tsv": "beir", **_OF_RUNS}
_OTHERS = ("tsv", "jsonl", "ndjson", "feather", "arrow", "pkl", "lz4", "zip", "bz2")
"""Endings of files in which nobody expects TREC's columns."""


def _format_of(path: Path, what: str, formats: Mapping[str, str]) -> str:
    """The format that a file's name says: TREC's of any ending that no other format has."""
    name = path.name.casefold()
    ending = ending_of(path).removeprefix(".")
    if (ending in _OTHERS and ending not in formats) or name.endswith(".parquet.gz"):
        endings = ", ".join(f".{each}" for each in formats)
        raise Misuse(
            f"{path}: {what} are not written as .{ending}; "
            f"known: {endings}, any other for TREC's columns (also .gz)"
        )
    return formats.get(ending, "trec")


def qrels_format_of(path: Path) -> str:
    """The format of qrels that a file's name says; `Misuse` where that is none of ours."""
    return _format_of(path, "qrels", _OF_QRELS)


def write_run_as(path: Path, parts: Iterable[RankedPart], tag: str, form: str = "") -> int:
    """Write a run in the format that its name says, or in `form`; how many documents it has."""
    return RUN_FORMATS[form or _format_of(path, "runs", _OF_RUNS)](path, parts, tag)
