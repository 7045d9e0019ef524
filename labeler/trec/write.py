"""Runs and qrels written some queries at a time, read back before they are put in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput, Misconfigured, Misuse
from labeler.files.atomic import replacing, replacing_bytes
from labeler.files.read import byte_blocks
from labeler.trec.columns import split
from labeler.trec.files import QRELS_COLUMNS, RUN_COLUMNS

PARQUET_EXTRA = "parquet files need pyarrow: pip install pyarrow"
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Ranked:
    """Some queries' documents in their final order; `query` ascends, a place in `names`."""

    names: list[bytes]
    query: Integers
    documents: list[bytes]
    score: Floats

    def each(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Query by query."""
        edges = np.searchsorted(self.query, np.arange(len(self.names) + 1)).tolist()
        for name, (first, last) in zip(self.names, pairwise(edges), strict=True):
            ids = [doc_id.decode() for doc_id in self.documents[first:last]]
            yield name.decode(), dict(zip(ids, self.score[first:last].tolist(), strict=True))


@dataclass(frozen=True)
class Graded:
    """Some queries' grades, sorted; `query` is a place in `names`."""

    names: list[bytes]
    query: Integers
    documents: list[bytes]
    grade: Integers


def write_ranked(path: Path, parts: Iterable[Ranked], tag: str) -> int:
    """Write a run in TREC's columns, ranks counted from 1; how many lines it has."""
    if tag.split() != [tag]:
        raise Misuse(f"the tag {tag!r} must be one word, as it is a column of the run")
    last = tag.encode()

    def blocks() -> Iterator[tuple[int, bytes]]:
        for part in parts:
            starts = np.searchsorted(part.query, np.arange(len(part.names)))
            rank = np.arange(1, len(part.query) + 1) - starts[part.query]
            names = [part.names[place] for place in part.query.tolist()]
            rows = zip(names, part.documents, rank.tolist(), part.score.tolist(), strict=True)
            yield len(names), b"".join([b"%b Q0 %b %d %a %b\n" % (*row, last) for row in rows])

    return _write(path, RUN_COLUMNS, blocks())


def write_graded(path: Path, parts: Iterable[Graded]) -> int:
    """Write qrels; how many lines they have."""

    def blocks() -> Iterator[tuple[int, bytes]]:
        for part in parts:
            names = [part.names[place] for place in part.query.tolist()]
            rows = zip(names, part.documents, part.grade.tolist(), strict=True)
            yield len(names), b"".join([b"%b 0 %b %d\n" % row for row in rows])

    return _write(path, QRELS_COLUMNS, blocks())


def _write(path: Path, columns: str, blocks: Iterable[tuple[int, bytes]]) -> int:
    count = 0
    with replacing_bytes(path, lambda written: _check(written, path, columns, count)) as out:
        for lines, block in blocks:
            count += lines
            out.write(block)
    return count


def _check(written: Path, path: Path, columns: str, meant: int) -> None:
    """Refuse a file in which not every line has its columns, each without white space."""
    found = 0
    for block in byte_blocks(written, _BLOCK):
        part = split(block, columns, found + 1)
        found += len(part.starts) if part is not None else meant + 1
    if found != meant:
        raise BadInput(
            f"{path}: would not read back as it was written; an id with white space or a leading #?"
        )


def write_json(path: Path, parts: Iterable[Ranked], _tag: str) -> int:
    """Write a run as BEIR does: `{query: {document: score}}`."""
    count = 0
    with replacing(path) as out:
        opening = "{"
        for part in parts:
            count += len(part.query)
            for name, scores in part.each():
                inner = json.dumps(scores, ensure_ascii=False)
                out.write(f"{opening}{json.dumps(name, ensure_ascii=False)}: {inner}")
                opening = ", "
        out.write("}" if opening == ", " else "{}")
    return count


def write_parquet(path: Path, parts: Iterable[Ranked], _tag: str) -> int:
    """Write the columns `query_id`, `doc_id`, `score`, as ir_measures' DataFrames have them."""
    arrow, parquet = pyarrow()
    types = {"query_id": arrow.string(), "doc_id": arrow.string(), "score": arrow.float64()}
    schema = arrow.schema(types)
    count = 0
    with replacing_bytes(path) as out, parquet.ParquetWriter(out, schema) as writer:
        for part in parts:
            count += len(part.query)
            names = [part.names[place].decode() for place in part.query.tolist()]
            ids = [doc_id.decode() for doc_id in part.documents]
            writer.write_table(arrow.table([names, ids, part.score], schema=schema))
    return count


def pyarrow() -> tuple[Any, Any]:
    """The optional package and its parquet module."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Misconfigured(PARQUET_EXTRA) from error
    return pyarrow, pyarrow.parquet


Write = Callable[[Path, Iterable[Ranked], str], int]
FORMATS: dict[str, Write] = {"trec": write_ranked, "json": write_json, "parquet": write_parquet}
"""How runs are written, by what the file's name ends in; `trec` for any other ending."""


OTHERS = ("csv", "tsv", "jsonl", "ndjson", "xlsx", "feather", "arrow", "pkl", "lz4", "zip", "bz2")
"""Endings of files that hold something else than a run as TREC has it."""


def format_of(path: Path) -> str:
    """The format that a file's name says; `Misuse` where that is none of ours."""
    ending = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".").casefold()
    if ending in OTHERS or path.name.casefold().endswith(".parquet.gz"):
        raise Misuse(f"{path}: runs are not read or written as .{ending}; {_KNOWN}")
    return ending if ending in FORMATS else "trec"


_KNOWN = "known: .json (BEIR's), .parquet, .trec (also .trec.gz)"
