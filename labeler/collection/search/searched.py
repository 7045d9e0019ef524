"""What an engine searches: documents that are gone through one by one, and indexes of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from labeler.collection.corpus import check_corpus_file, distinct_documents
from labeler.collection.layout import Collection
from labeler.collection.parts import LINES_OF_A_PART, CorpusParts
from labeler.data import Document
from labeler.files.arrays import Arrays, ArraysWriter, open_arrays, writing_arrays
from labeler.files.atomic import remove_abandoned
from labeler.files.row_index import RowIndex
from labeler.messages import Advance, counted

KEPT_FROM = 1 << 24
"""Indexes of a corpus of fewer bytes are not kept: they are made anew in a moment."""

WritePart = Callable[[ArraysWriter, Iterator[Document]], None]
"""Writes the index of some documents."""


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """Where the indexes of a corpus are kept, a file for each part of it.

    `shape` names what is indexed of each document, where that is not its title and text, and
    `shaped` makes that of it. An index is a file that is whole or not there. Its name says of which
    lines it is and with which settings it was made; those of other lines are removed when one is
    written. A kill loses none but the part that was being made, and documents that are added to
    the corpus change none but the last.
    """

    folder: Path
    corpus: CorpusParts
    shape: str = ""
    shaped: Callable[[Document], Document] = lambda document: document

    def parts(
        self, name: str, settings: Mapping[str, Any], write: WritePart, advance: Advance
    ) -> list[Arrays]:
        """The indexes of all parts; `write` makes those that are missing, with their `ids`."""
        files = [self._index(name, part, settings) for part in self.corpus.parts]
        by_part = [open_arrays(*file) for file in files]
        missing = {number for number, part in enumerate(by_part) if part is None}
        for number, documents in self.corpus.documents(missing, self.shaped) if missing else ():
            done = number * self.corpus.lines_of_a_part
            with writing_arrays(*files[number]) as out:
                write(out, _counted(documents, done, self.corpus.lines, advance))
            by_part[number] = open_arrays(*files[number])
        if missing:
            self._remove_others()
        whole = [arrays for arrays in by_part if arrays is not None]
        if len(whole) < len(by_part):  # another process removed one, which reads another corpus
            return self.parts(name, settings, write, advance)
        self._check_distinct(whole)
        return whole

    def _index(
        self, name: str, part: str, settings: Mapping[str, Any]
    ) -> tuple[Path, dict[str, Any]]:
        """Where the index of a part is, and what is noted of it."""
        about = {"documents": part, "shape": self.shape, **settings}
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{name}-{part[:12]}-{digest[:12]}.index", about

    def _check_distinct(self, parts: Sequence[Arrays]) -> None:
        """`BadInput` where an id comes again; a file says that a corpus was found to be right."""
        path, about = self._index("ids", self.corpus.sha256, {"ids": 1})
        if open_arrays(path, about) is not None:
            return
        ids = RowIndex()
        several = (part.texts("ids") for part in parts)
        if any(ids.add(doc_id) != row for row, doc_id in enumerate(chain.from_iterable(several))):
            check_corpus_file(self.corpus.path)  # which names the line
        with writing_arrays(path, about) as out:
            out.add("documents", [np.array([len(ids)])])
        self._remove_others()

    def _remove_others(self) -> None:
        """Remove the indexes of other documents, and what killed processes left of any."""
        remove_abandoned(self.folder)
        current = {part[:12] for part in (*self.corpus.parts, self.corpus.sha256)}
        for path in self.folder.glob("*.index"):
            if not current.intersection(path.stem.split("-")[-2:-1]):
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


def searched_corpus(  # noqa: PLR0913, PLR0917  what is searched, and how it is cut
    collection: Collection,
    advance: Advance = lambda _done, _total: None,
    shaped: Callable[[Document], Document] = lambda document: document,
    shape: str = "",
    kept_from: int = KEPT_FROM,
    lines_of_a_part: int = LINES_OF_A_PART,
) -> Searched:
    """The documents of a collection, which stay in its file; `advance` counts bytes of it.

    What engines see of a document is what `shaped` makes of it; `shape` names that.
    """
    path = collection.corpus
    corpus = CorpusParts.of(path, lines_of_a_part, advance)
    is_kept = path.stat().st_size >= kept_from
    indexes = IndexFolder(collection.indexes, corpus, shape, shaped) if is_kept else None
    return Searched(partial(_all_of, path, shaped), corpus.lines, indexes, corpus.sha256)


def _all_of(path: Path, shaped: Callable[[Document], Document]) -> Iterator[Document]:
    return map(shaped, distinct_documents(path))


def _counted(
    documents: Iterable[Document], done: int, total: int, advance: Advance
) -> Iterator[Document]:
    for number, document in enumerate(documents, start=done + 1):
        yield document
        advance(number, total)
