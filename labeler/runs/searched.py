"""What an engine searches: documents that are gone through one by one, and indexes of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection
from labeler.data import Document
from labeler.files.arrays import Arrays, ArraysWriter, open_arrays, writing_arrays
from labeler.files.atomic import remove_abandoned
from labeler.files.read import byte_chunks
from labeler.messages import Advance, counted

KEPT_FROM = 1 << 24
"""Indexes of a corpus of fewer bytes are not kept: they are made anew in a moment."""

_READ_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """Where the indexes of some documents are kept; `documents` is the hash of their file.

    `shape` names what is indexed of each, where that is not its title and text. An index is a file
    that is whole or not there. Its name says of which documents it is and with which settings it
    was made; those of other documents are removed when one is written. An index that takes long
    comes in parts, of so many documents each: a kill loses none but the part that was being made.
    """

    folder: Path
    documents: str
    shape: str = ""
    documents_of_a_part: int = 1 << 16

    def find(self, name: str, settings: Mapping[str, Any]) -> Arrays | None:
        """The index of a name and settings; None where there is none that is whole."""
        about = self._about(settings)
        return open_arrays(self._path(name, about), about)

    def opened(
        self, name: str, settings: Mapping[str, Any], write: Callable[[ArraysWriter], None]
    ) -> Arrays:
        """The index of a name and settings; where there is none, `write` makes it first."""
        while (arrays := self.find(name, settings)) is None:
            about = self._about(settings)
            with writing_arrays(self._path(name, about), about) as out:
                write(out)
            self._remove_others()
        return arrays

    def _about(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"documents": self.documents, "shape": self.shape, **settings}

    def _path(self, name: str, about: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{name}-{self.documents[:12]}-{digest[:12]}.index"

    def _remove_others(self) -> None:
        """Remove the indexes of other documents, and what killed processes left of any."""
        remove_abandoned(self.folder)
        for path in self.folder.glob("*.index"):
            if path.stem.split("-")[-2:-1] != [self.documents[:12]]:
                with suppress(OSError):  # another process may read it, where that forbids it
                    path.unlink()


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents to search: `again` goes through all `count` of them, each time it is called.

    `indexes` is where those of the documents are kept, None where they are not. `sha256` is the
    hash of the file that the documents are in, and empty where they are in none.
    """

    again: Callable[[], Iterator[Document]]
    count: int
    indexes: IndexFolder | None = None
    sha256: str = ""

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Searched:
        """Documents in the memory."""
        return cls(lambda: iter(documents), len(documents))

    @classmethod
    def within(cls, documents: Mapping[str, Document]) -> Searched:
        """Documents by id, wherever their texts are."""
        return cls(lambda: iter(documents.values()), len(documents))

    def counted(self, advance: Advance) -> Iterator[Document]:
        """The documents, each of them counted as it is passed."""
        return counted(self.again(), self.count, advance)


def searched_corpus(
    collection: Collection,
    advance: Advance = lambda _done, _total: None,
    shaped: Callable[[Document], Document] = lambda document: document,
    shape: str = "",
    kept_from: int = KEPT_FROM,
) -> Searched:
    """The documents of a collection, which stay in its file; `advance` counts bytes of it.

    What engines see of a document is what `shaped` makes of it; `shape` names that.
    """
    path = collection.corpus
    digest, count, size, last = hashlib.sha256(), 0, path.stat().st_size, b"\n"
    for number, chunk in enumerate(byte_chunks(path, _READ_AT_ONCE), start=1):
        digest.update(chunk)
        count += chunk.count(b"\n")
        last = chunk[-1:]
        advance(min(number * _READ_AT_ONCE, size), size)
    sha256 = digest.hexdigest()
    indexes = IndexFolder(collection.indexes, sha256, shape) if size >= kept_from else None
    return Searched(partial(_all_of, path, shaped), count + (last != b"\n"), indexes, sha256)


def _all_of(path: Path, shaped: Callable[[Document], Document]) -> Iterator[Document]:
    return map(shaped, distinct_documents(path))
