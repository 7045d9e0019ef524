"""Documents that are read one after another, their texts kept in a file in place of the memory."""

from __future__ import annotations

import json
import weakref
from array import array
from collections.abc import Iterable, Iterator, Mapping, ValuesView
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import NamedTuple

from labeler.data import Document
from labeler.files.read import file_problems
from labeler.files.row_index import RowIndex

HELD = 1 << 24
"""So many bytes stay in the memory: a small corpus needs no file."""


class Mark(NamedTuple):
    """How far documents had come at some time."""

    documents: int
    texts: int
    rows: int
    sources: int
    replaced: int


class StoredDocuments(Mapping[str, Document]):
    """Documents by id; the memory holds where each stands in a temporary file, and hashes of ids.

    Passages that were read before can be found by their title and text, and be given more sources.
    `held` is how many bytes stay in the memory.
    """

    def __init__(self, held: int = HELD) -> None:
        self._file = SpooledTemporaryFile(max_size=max(1, held), prefix="labeler-")  # noqa: SIM115  closed with this
        weakref.finalize(self, _close, self._file)
        self._starts = array("q", [0])
        self._ids, self._row_of = RowIndex(), array("I")
        self._by_text, self._first_with = RowIndex(), array("I")
        self._replaced: list[tuple[int, int]] = []
        self._sources: dict[int, list[str]] = {}
        self._sourced: list[int] = []

    @classmethod
    def of(cls, documents: Iterable[Document]) -> StoredDocuments:
        """Documents from anywhere."""
        stored = cls()
        for document in documents:
            stored.add(document)
        return stored

    def add(self, document: Document) -> None:
        """Add a document, or replace the one of its id."""
        row = [document.id, document.title, document.text, dict(document.metadata)]
        raw = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with file_problems(Path(gettempdir())):
            self._file.seek(self._starts[-1])
            self._file.write(raw)
        number, last = self._ids.add(document.id), len(self._starts) - 1
        if number == len(self._row_of):
            self._row_of.append(last)
        else:
            self._replaced.append((number, self._row_of[number]))
            self._row_of[number] = last
        self._starts.append(self._starts[-1] + len(raw))

    def add_passage(self, document: Document) -> Document | None:
        """Add a passage, unless there is one of the same title and text, which is returned."""
        number = self._by_text.add(f"{document.title}\0{document.text}")
        if number < len(self._first_with):
            return self._at(self._first_with[number])
        self._first_with.append(len(self._starts) - 1)
        self.add(document)
        return None

    def add_source(self, doc_id: str, source: str) -> None:
        """Note one more source of a document in its metadata."""
        row = self._row_of[self._number(doc_id)]
        self._sources.setdefault(row, []).append(source)
        self._sourced.append(row)

    def mark(self) -> Mark:
        """How far it has come, to go back to."""
        counts = len(self._row_of), len(self._first_with), len(self._starts), len(self._sourced)
        return Mark(*counts, len(self._replaced))

    def go_back(self, mark: Mark) -> None:
        """Forget whatever was added since a mark."""
        for number, row in reversed(self._replaced[mark.replaced :]):
            self._row_of[number] = row
        self._ids.go_back(mark.documents)
        self._by_text.go_back(mark.texts)
        del self._row_of[mark.documents :], self._first_with[mark.texts :]
        del self._replaced[mark.replaced :]
        for row in self._sourced[mark.sources :]:
            self._sources[row].pop()
        del self._starts[mark.rows :], self._sourced[mark.sources :]

    def is_before(self, doc_id: str, mark: Mark) -> bool:
        """Whether a document was there at a mark."""
        number = self._ids.find(doc_id)
        return number is not None and self._row_of[number] < mark.rows - 1

    def __getitem__(self, doc_id: str) -> Document:
        return self._sourced_at(self._row_of[self._number(doc_id)])

    def _sourced_at(self, row: int) -> Document:
        """The document of a row, with all its sources."""
        document, sources = self._at(row), self._sources.get(row)
        if not sources:
            return document
        also_in = [*document.metadata.get("also_in", ()), *sources]
        return replace(document, metadata={**document.metadata, "also_in": also_in})

    def __iter__(self) -> Iterator[str]:
        return (self._at(row).id for row in self._row_of)

    def values(self) -> ValuesView[Document]:
        """The documents in the order in which they came, each read once."""
        return _InOrder(self)

    def in_order(self) -> Iterator[Document]:
        """What `values` goes through."""
        return map(self._sourced_at, self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._ids

    def _number(self, doc_id: str) -> int:
        number = self._ids.find(doc_id)
        if number is None:
            raise KeyError(doc_id)
        return number

    def _at(self, row: int) -> Document:
        with file_problems(Path(gettempdir())):  # what is not written yet is, before it is read
            self._file.seek(self._starts[row])
            raw = self._file.read(self._starts[row + 1] - self._starts[row])
        doc_id, title, text, metadata = json.loads(raw.decode("utf-8", "surrogatepass"))
        return Document(doc_id, text, title, metadata)


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    with suppress(OSError):  # of a full disk: nothing of the file is needed any more
        file.close()


class _InOrder(ValuesView[Document]):
    """Documents in their order."""

    def __init__(self, stored: StoredDocuments) -> None:
        super().__init__(stored)
        self._stored = stored

    def __iter__(self) -> Iterator[Document]:
        return self._stored.in_order()
