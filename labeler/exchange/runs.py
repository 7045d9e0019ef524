"""Runs in BEIR's JSON and in parquet, a part at a time, as the lines of a TREC run."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.files.jsonl import strict_decoder
from labeler.files.read import byte_chunks, file_problems
from labeler.files.temporary import scratch_file
from labeler.trec.indexed import RUN, Index, indexed
from labeler.trec.write import format_of, pyarrow

Row = tuple[str, str, float]
_CHUNK = 1 << 20
_SHAPE = "expected an object of query: {document: score}"
_COLUMNS = ["query_id", "doc_id", "score"]


@contextmanager
def indexed_run(path: Path, form: str = "") -> Iterator[Index]:
    """The index of a run in TREC's columns, in BEIR's JSON or in parquet.

    `form` says which it is where the file's name does not.
    """
    read = READERS.get(form or format_of(path))
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


def json_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSON run, of which one query's are held."""
    seen: set[str] = set()
    text = _Text(path)
    try:
        for query_id, scores in _members(text):
            where = f"{path}:{text.line}: query {query_id!r}"
            if not isinstance(scores, dict):
                raise BadInput(f"{where}: {_SHAPE}")
            if query_id in seen:
                raise BadInput(f"{where} stands there twice")
            seen.add(query_id)
            for doc_id, score in scores.items():
                yield _row(where, query_id, doc_id, score)
    except (ValueError, RecursionError) as error:
        raise BadInput.at(path, text.line, f"{_SHAPE} ({_reason(error)})") from error


def _reason(error: ValueError | RecursionError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a parquet file with the columns `query_id`, `doc_id` and `score`."""
    arrow, parquet = pyarrow()
    number = 0
    with file_problems(path):
        try:
            with parquet.ParquetFile(path) as file:
                if missing := set(_COLUMNS) - set(file.schema_arrow.names):
                    raise BadInput(f"{path}: no column {', '.join(sorted(missing))}; {_NEEDED}")
                for batch in file.iter_batches(1 << 16, columns=_COLUMNS):
                    columns = [batch.column(name).to_pylist() for name in _COLUMNS]
                    for row in zip(*columns, strict=True):
                        number += 1
                        yield _row(f"{path}:{number}", *row)
        except arrow.ArrowException as error:
            raise BadInput(f"{path}: not parquet: {error}") from error


_NEEDED = f"expected {', '.join(_COLUMNS)}"
READERS: dict[str, Callable[[Path], Iterable[Row]]] = {"json": json_rows, "parquet": parquet_rows}


def _row(where: str, query_id: Any, doc_id: Any, score: Any) -> Row:
    number = isinstance(score, int | float) and not isinstance(score, bool)
    if not number or not math.isfinite(score):
        raise BadInput(f"{where}: expected a finite number as score, found {score!r:.40}")
    query = _id(where, query_id)
    if query.startswith("#"):
        raise BadInput(f"{where}: a query id that begins with #, as comments do in TREC files")
    return query, _id(where, doc_id), float(score)


def _id(where: str, found: Any) -> str:
    text = str(found) if type(found) is int else found
    if not isinstance(text, str) or text.split() != [text] or "\0" in text:
        raise BadInput(f"{where}: expected an id without white space, found {found!r:.40}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{where}: half a surrogate pair in the id {found!r:.40}") from error
    return text


def _members(text: _Text) -> Iterator[tuple[str, Any]]:
    """The members of a file's one JSON object."""
    text.expect("{")
    if text.next() == "}":
        text.expect("}")
    else:
        while True:
            name = text.value()
            if not isinstance(name, str):
                raise ValueError(f"found {name!r:.40} for a name")
            text.expect(":")
            yield name, text.value()
            if text.next() != ",":
                text.expect("}")
                break
            text.expect(",")
    if text.next():
        raise ValueError("more text after the object")


class _Text:
    """A file's text, of which what is still to be read is held."""

    def __init__(self, path: Path) -> None:
        self.chunks = byte_chunks(path, _CHUNK)
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.held, self.place, self.above = "", 0, 1

    @property
    def line(self) -> int:
        """The number of the line that is read."""
        return self.above + self.held.count("\n", 0, self.place)

    def more(self) -> bool:
        """Read on, twice as much each time; whether there was more."""
        self.above = self.line
        wanted = max(_CHUNK, len(self.held) - self.place)
        parts = [self.held[self.place :]]
        got = 0
        for chunk in self.chunks:
            parts.append(self.decode(chunk))
            got += len(chunk)
            if got >= wanted:
                break
        self.held, self.place = "".join(parts), 0
        return got > 0

    def next(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            rest = self.held[self.place : self.place + 1]
            if rest and not rest.isspace():
                return rest
            self.place += len(rest)
            if not rest and not self.more():
                return ""

    def expect(self, character: str) -> None:
        """Pass a character; `ValueError` where another stands."""
        found = self.next()
        if found != character:
            raise ValueError(f"expected {character!r}, found {found or 'the end'!r}")
        self.place += 1

    def value(self) -> Any:
        """The next JSON value."""
        self.next()
        while True:
            try:
                found, self.place = _DECODER.raw_decode(self.held, self.place)
            except json.JSONDecodeError:
                if not self.more():
                    raise
            else:
                return found


_DECODER = strict_decoder("{key!r} stands there twice in one query")
