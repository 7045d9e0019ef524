"""The formats of runs: TREC's columns, BEIR's JSON and parquet, read as lines of a TREC run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from labeler.errors import BadInput, Misuse
from labeler.exchange.json_runs import read_json_run, write_json_run
from labeler.exchange.parquet import read_parquet_run, write_parquet_run
from labeler.files.temporary import scratch_file
from labeler.trec.index import RUN, Index, indexed
from labeler.trec.write import RankedPart, write_ranked


class RunFormat(NamedTuple):
    """How runs of a format are read and written: rows come out, and parts with a tag go in.

    `read` is None of TREC's own columns, which need no reading of another kind.
    """

    read: Callable[[Path], Iterable[tuple[str, str, float]]] | None
    write: Callable[[Path, Iterable[RankedPart], str], int]


FORMATS = {
    "trec": RunFormat(None, write_ranked),
    "json": RunFormat(read_json_run, write_json_run),
    "parquet": RunFormat(read_parquet_run, write_parquet_run),
}
"""The formats of runs by what a file's name ends in; `trec` is also any other ending."""

UNSUPPORTED = (
    "csv",
    "tsv",
    "jsonl",
    "ndjson",
    "xlsx",
    "feather",
    "arrow",
    "pkl",
    "lz4",
    "zip",
    "bz2",
)
"""Endings of files that hold something else than a run as TREC has it."""

_FORMATS_IN_WORDS = "known: .json (BEIR's), .parquet, .trec (also .trec.gz)"


def format_of(path: Path) -> str:
    """The format that a file's name says; `Misuse` where that is none of ours."""
    ending = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".").casefold()
    if ending in UNSUPPORTED or path.name.casefold().endswith(".parquet.gz"):
        raise Misuse(f"{path}: runs are not read or written as .{ending}; {_FORMATS_IN_WORDS}")
    return ending if ending in FORMATS else "trec"


def write_run_as(path: Path, parts: Iterable[RankedPart], tag: str, form: str = "") -> int:
    """Write a run in the format that its name says, or in `form`; how many documents it has."""
    return FORMATS[form or format_of(path)].write(path, parts, tag)


@contextmanager
def indexed_run(path: Path, form: str = "") -> Iterator[Index]:
    """The index of a run in the format that its name says, or in `form`."""
    read = FORMATS[form or format_of(path)].read
    if read is None:
        with indexed(path, RUN) as index:
            yield index
        return
    with scratch_file() as lines:
        with lines.open("w", encoding="utf-8", newline="\n") as out:
            rows = (f"{query} Q0 {doc} 1 {score!r} -\n" for query, doc, score in read(path))
            out.writelines(rows)
        if not lines.stat().st_size:
            raise BadInput(f"{path}: no query with a document in it")
        with indexed(path, RUN, copy=lines) as index:
            yield index
