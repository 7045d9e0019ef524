"""Documents that are read one after another, their texts kept in a file in place of the memory."""

from __future__ import annotations

import hashlib
import json
import weakref
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import NamedTuple

from labeler.data import Document
from labeler.files.read import file_problems

HELD = 1 << 24
"""So many bytes stay in the memory: a small corpus needs no file."""


class Mark(NamedTuple):
    """How far documents had come at some time."""

    documents: int
    texts: int
    rows: int
    sources: int


class StoredDocuments(Mapping[str, Document]):
    """Documents by id; the memory holds their ids and where each stands in a temporary file.

    Passages that were read before can be found by their title and text, and be given more sources.
    `held` is how many bytes stay in the memory.
    """

    def __init__(self, held: int = HELD) -> None:
        self._file = SpooledTemporaryFile(max_size=max(1, held), prefix="labeler-")  # noqa: SIM115  closed with this
        weakref.finalize(self, self._file.close)
        self._starts = array("q", [0])
        self._row_of: dict[str, int] = {}
        self._by_text: dict[int, int] = {}
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
        self._row_of[document.id] = len(self._starts) - 1
        self._starts.append(self._starts[-1] + len(raw))

    def add_passage(self, document: Document) -> Document | None:
        """Add a passage, unless there is one of the same title and text, which is returned."""
        key = _key_of(document)
        row = self._by_text.setdefault(key, len(self._starts) - 1)
        if row == len(self._starts) - 1:
            self.add(document)
            return None
        first = self._at(row)
        if (first.title, first.text) == (document.title, document.text):
            return first
        self.add(document)
        return None

    def add_source(self, doc_id: str, source: str) -> None:
        """Note one more source of a document in its metadata."""
        row = self._row_of[doc_id]
        self._sources.setdefault(row, []).append(source)
        self._sourced.append(row)

    def mark(self) -> Mark:
        """How far it has come, to go back to."""
        counts = len(self._row_of), len(self._by_text), len(self._starts), len(self._sourced)
        return Mark(*counts)

    def go_back(self, mark: Mark) -> None:
        """Forget whatever was added since a mark."""
        while len(self._row_of) > mark.documents:
            self._row_of.popitem()
        while len(self._by_text) > mark.texts:
            self._by_text.popitem()
        for row in self._sourced[mark.sources :]:
            self._sources[row].pop()
        del self._starts[mark.rows :], self._sourced[mark.sources :]

    def is_before(self, doc_id: str, mark: Mark) -> bool:
        """Whether a document was there at a mark."""
        return self._row_of.get(doc_id, mark.rows) < mark.rows - 1

    def __getitem__(self, doc_id: str) -> Document:
        row = self._row_of[doc_id]
        document, sources = self._at(row), self._sources.get(row)
        if not sources:
            return document
        also_in = [*document.metadata.get("also_in", ()), *sources]
        return replace(document, metadata={**document.metadata, "also_in": also_in})

    def __iter__(self) -> Iterator[str]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._row_of

    def _at(self, row: int) -> Document:
        self._file.seek(self._starts[row])
        raw = self._file.read(self._starts[row + 1] - self._starts[row])
        doc_id, title, text, metadata = json.loads(raw.decode("utf-8", "surrogatepass"))
        return Document(doc_id, text, title, metadata)


def _key_of(document: Document) -> int:
    """A number that equal titles and texts share, and few others."""
    text = f"{document.title}\0{document.text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
