"""The documents of a `corpus.jsonl`, each read from the file when it is asked for.

A judged pool names few of the documents of a large corpus. What stays in memory of each
is where its line is and a hash of its id, some 40 bytes, and no text.
"""

from __future__ import annotations

import os
import weakref
from array import array
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.collection.corpus import corpus_lines, document_in, read_corpus
from labeler.collection.rows import check_exists, repeated_id
from labeler.data import Document
from labeler.errors import BadInput
from labeler.files.jsonl import row_of_line
from labeler.files.read import file_problems
from labeler.files.row_index import RowIndex

_READ_AT_ONCE = 1 << 22
_GZIP = b"\x1f\x8b"
_MOST_RECENT = 4_000_000
"""Characters of texts that are held, since a pair's document is asked for a few times in a row."""


def corpus_on_demand(path: Path) -> Mapping[str, Document]:
    """The documents of a `corpus.jsonl` by id; of a packed file, all of them are held."""
    check_exists(path)
    with file_problems(path), path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    return read_corpus(path) if is_packed else DocumentsOnDemand(path)


class DocumentsOnDemand(Mapping[str, Document]):
    """Documents by id, in the file's order; all lines are read and checked once, in the beginning.

    The file stays open: where another takes its place meanwhile, the texts are still those that
    were checked. `BadInput` says so where it was written to itself.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with file_problems(path):
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)
        self._ends = _line_ends(self._file)
        self._rows, self._lines = RowIndex(), array("I")
        self._recent: dict[str, Document] = {}
        self._recent_size = 0
        for number, document in corpus_lines(path):
            if self._rows.add(document.id) != len(self._lines):
                raise repeated_id(path, number, document.id)
            self._lines.append(number)

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        return (self._document_in(line).id for line in self._lines)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._recent or doc_id in self._rows

    def __getitem__(self, doc_id: str) -> Document:
        document = self._recent.get(doc_id)
        if document is None:
            document = self._read_document(doc_id)
            self._recent_size += len(document.text)
            if self._recent_size > _MOST_RECENT:
                self._recent, self._recent_size = {}, len(document.text)
            self._recent[doc_id] = document
        return document

    def _read_document(self, doc_id: str) -> Document:
        row = self._rows.find(doc_id)
        if row is None:
            raise KeyError(doc_id)
        document = self._document_in(self._lines[row])
        if document.id != doc_id:
            raise self._changed(self._lines[row])
        return document

    def _document_in(self, number: int) -> Document:
        """The document of a line."""
        start = int(self._ends[number - 2]) if number > 1 else 0
        end = int(self._ends[number - 1])
        with file_problems(self._path):
            raw = _read(self._file, start, end - start)
        row = row_of_line(self._path, number, raw)
        if row is None:
            raise self._changed(number)
        return document_in(self._path, number, row)

    def _changed(self, number: int) -> BadInput:
        return BadInput.at(self._path, number, "it was changed meanwhile; run the command again")


def _read(file: int, start: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, size, start)
    os.lseek(file, start, os.SEEK_SET)  # Windows
    return os.read(file, size)


def _line_ends(file: int) -> NDArray[np.int64]:
    """Where each line of a file ends, its newline included; the last one may have none."""
    ends, start = [np.zeros(0, dtype=np.int64)], 0
    for chunk in iter(partial(os.read, file, _READ_AT_ONCE), b""):
        newlines = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
        ends.append(start + newlines + 1)
        start += len(chunk)
    return np.append(np.concatenate(ends), start)
