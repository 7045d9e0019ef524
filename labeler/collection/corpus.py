"""`corpus.jsonl` as BEIR writes it."""

from __future__ import annotations

import hashlib
import weakref
from array import array
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Lock

from labeler.collection.layout import check_locked
from labeler.collection.rows import Row, check_exists, records, repeated_id
from labeler.data import Document
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.jsonl import DocumentsByRow, RowIndex, row_of_line, write_rows
from labeler.files.read import file_problems, numbered_bytes
from labeler.messages import Advance, quiet
from labeler.text.terms import text_to_search


def read_corpus(path: Path) -> dict[str, Document]:
    """The documents of a `corpus.jsonl` by id, in the file's order."""
    return {document.id: document for document in distinct_documents(path)}


def check_corpus_file(path: Path) -> None:
    """Read and check all lines of a `corpus.jsonl`; `BadInput` says what is wrong with one."""
    deque(distinct_documents(path), maxlen=0)


def ids_among(path: Path, ids: Container[str]) -> set[str]:
    """Those of some ids that documents of a `corpus.jsonl` have; all lines are checked."""
    return {document.id for document in distinct_documents(path) if document.id in ids}


def documents_of(path: Path, ids: Container[str]) -> dict[str, Document]:
    """Those documents of a `corpus.jsonl` that have one of some ids, in the file's order."""
    return {document.id: document for document in distinct_documents(path) if document.id in ids}


def distinct_documents(path: Path) -> Iterator[Document]:
    """The documents of a `corpus.jsonl`, one after another; `BadInput` where an id comes again."""
    ids = RowIndex()
    for row, (number, document) in enumerate(corpus_lines(path)):
        if ids.add(document.id) != row:
            raise repeated_id(path, number, document.id)
        yield document


@dataclass(frozen=True, slots=True)
class CorpusTexts:
    """The texts of a `corpus.jsonl`, which is read each time that they are gone through."""

    path: Path

    def __iter__(self) -> Iterator[str]:
        return map(text_to_search, distinct_documents(self.path))


@dataclass(frozen=True, slots=True)
class CorpusDocuments:
    """The documents of a `corpus.jsonl`, which is read each time that they are gone through."""

    path: Path

    def __iter__(self) -> Iterator[Document]:
        return distinct_documents(self.path)


def corpus_lines(path: Path) -> Iterator[tuple[int, Document]]:
    """The documents of a `corpus.jsonl`, one after another, with the numbers of their lines."""
    return records(path, lambda row: (row.number, document_in(row)))


def document_in(row: Row) -> Document:
    """The document of a row."""
    title, metadata = row.text("title"), row.object("metadata")
    return Document(row.id("_id"), row.text("text", None), title, metadata)


def write_corpus(path: Path, documents: Iterable[Document]) -> None:
    """Write a `corpus.jsonl`; it reads back as the same documents."""
    check_locked(path.parent)
    rows = (
        {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
        for d in documents
    )
    write_rows(path, rows, check=check_corpus_file)


# The documents of a `corpus.jsonl`, each read from the file when it is asked for.
#
# A judged pool names few of the documents of a large corpus. What stays in memory of each
# is where its line is and a hash of its id, some 40 bytes, and no text.

_GZIP = b"\x1f\x8b"
_MOST_RECENT = 256
"""Documents that are held, since a pair's document is asked for a few times in a row."""


def corpus_on_demand(path: Path) -> Mapping[str, Document]:
    """The documents of a `corpus.jsonl` by id; of a packed file, all of them are held."""
    check_exists(path)
    with file_problems(path), path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    return read_corpus(path) if is_packed else DocumentsOnDemand(path)


def _changed(path: Path) -> BadInput:
    return BadInput(f"{path}: it was changed meanwhile; run the command again")


class DocumentsOnDemand(DocumentsByRow):
    """Documents by id, in the file's order; all lines are read and checked once, in the beginning.

    The file stays open: where another takes its place meanwhile, the texts are still those that
    were checked. `BadInput` says so where it was written to itself.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with file_problems(path):
            self._file = path.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)
        self._lock = Lock()
        self.rows, self._starts, end = RowIndex(), array("Q"), 0
        self._recent: dict[str, Document] = {}
        with reading(path) as position:
            for number, raw in position.follow(numbered_bytes(path)):
                document = self._parsed(raw, number)
                if document and self.rows.add(document.id) != len(self._starts):
                    raise repeated_id(path, number, document.id)
                self._starts.extend([end] if document else [])
                end += len(raw)
        self._starts.append(end)

    def __getitem__(self, doc_id: str) -> Document:
        document = self._recent.get(doc_id) or self._read(doc_id)
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        self._recent[doc_id] = document
        return document

    def _read(self, doc_id: str) -> Document:
        document = super().__getitem__(doc_id)
        if document.id != doc_id:
            raise _changed(self._path)
        return document

    def document(self, row: int) -> Document:
        """The document of a row, from 0."""
        start, end = self._starts[row], self._starts[row + 1]
        try:
            with self._lock:
                self._file.seek(start)
                raw = self._file.read(end - start)
        except OSError:
            with file_problems(self._path):
                raise
        try:  # blank lines may follow its own
            document = self._parsed(raw[: raw.find(b"\n") + 1] or raw, 0 if start else 1)
        except BadInput as error:
            raise _changed(self._path) from error
        if document is None:
            raise _changed(self._path)
        return document

    def _parsed(self, raw: bytes, number: int) -> Document | None:
        row = row_of_line(self._path, number, raw)
        return None if row is None else document_in(Row(self._path, number, row))


# The parts of a `corpus.jsonl`: so many lines or bytes each, known by the hash of what is in them.
#
# What is derived of a part, as an index, holds for as long as the part is what it was: documents
# that are added behind it change nothing.

LINES_OF_A_PART = 1 << 16
BYTES_OF_A_PART = 1 << 27
"""A part ends with the line that makes it as large, so that long documents make shorter parts."""


def _in_parts(
    path: Path, most_lines: int, most_bytes: int
) -> Iterator[tuple[int, Iterator[tuple[int, bytes]]]]:
    """The numbered lines of a corpus, part by part."""
    part = lines = size = 0

    def part_of(line: tuple[int, bytes]) -> int:
        nonlocal part, lines, size
        if lines == most_lines or size >= most_bytes:
            part, lines, size = part + 1, 0, 0
        lines, size = lines + 1, size + len(line[1])
        return part

    return groupby(numbered_bytes(path), part_of)


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """The SHA-256 of a corpus and of each of its parts, and how many lines it has."""

    path: Path
    sha256: str
    parts: Sequence[str]
    lines: int
    lines_of_a_part: int = LINES_OF_A_PART
    bytes_of_a_part: int = BYTES_OF_A_PART

    @classmethod
    def of(
        cls,
        path: Path,
        lines_of_a_part: int = LINES_OF_A_PART,
        advance: Advance = quiet,
        bytes_of_a_part: int = BYTES_OF_A_PART,
    ) -> CorpusParts:
        """Read a corpus; `advance` counts its bytes."""
        whole, parts, lines = hashlib.sha256(), list[str](), 0
        done, size = 0, path.stat().st_size
        for _, part in _in_parts(path, lines_of_a_part, bytes_of_a_part):
            content = hashlib.sha256()
            for _number, raw in part:
                content.update(raw)
                whole.update(raw)
                lines += 1
                done += len(raw)
            parts.append(content.hexdigest())
            advance(min(done, size), size)
        return cls(path, whole.hexdigest(), tuple(parts), lines, lines_of_a_part, bytes_of_a_part)

    def documents(
        self, parts: Container[int]
    ) -> Iterator[tuple[int, Iterator[tuple[int, Document]]]]:
        """The documents of some parts with their lines, in their order; others are not parsed.

        `BadInput` says so at the end of a part that is not what it was, or not there any more.
        """
        passed = 0
        for part, lines in _in_parts(self.path, self.lines_of_a_part, self.bytes_of_a_part):
            passed = part + 1
            if part in parts:
                yield part, self._documents_in(part, lines)
        if passed < len(self.parts):
            raise _changed(self.path)

    def _documents_in(
        self, part: int, lines: Iterable[tuple[int, bytes]]
    ) -> Iterator[tuple[int, Document]]:
        content = hashlib.sha256()
        for number, raw in lines:
            content.update(raw)
            row = row_of_line(self.path, number, raw)
            if row is not None:
                yield number, document_in(Row(self.path, number, row))
        if self.parts[part : part + 1] != (content.hexdigest(),):
            raise _changed(self.path)
