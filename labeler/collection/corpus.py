"""`corpus.jsonl` as BEIR writes it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.collection.lock import check_locked
from labeler.collection.rows import check_exists, metadata_of, repeated_id
from labeler.data import Document
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows
from labeler.files.row_index import RowIndex
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
    """The texts of a `corpus.jsonl`, which is read each time that they are gone through.

    `shown` is what counts as the text of a document.
    """

    path: Path
    shown: Callable[[Document], str] = text_to_search

    def __iter__(self) -> Iterator[str]:
        return map(self.shown, distinct_documents(self.path))


@dataclass(frozen=True, slots=True)
class CorpusDocuments:
    """The documents of a `corpus.jsonl`, which is read each time that they are gone through."""

    path: Path

    def __iter__(self) -> Iterator[Document]:
        return distinct_documents(self.path)


def corpus_lines(path: Path) -> Iterator[tuple[int, Document]]:
    """The documents of a `corpus.jsonl`, one after another, with the numbers of their lines."""
    check_exists(path)
    with reading(path) as position:
        for number, row in position.follow(read_rows(path)):
            yield number, document_in(path, number, row)


def document_in(path: Path, number: int, row: dict[str, Any]) -> Document:
    """The document of a row."""
    return Document(
        identifier(path, number, row, "_id"),
        text_of(path, number, row, "text", None),
        text_of(path, number, row, "title", ""),
        metadata_of(path, number, row),
    )


def write_corpus(path: Path, documents: Iterable[Document]) -> None:
    """Write a `corpus.jsonl`; it reads back as the same documents."""
    check_locked(path.parent)
    rows = (
        {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
        for d in documents
    )
    write_rows(path, rows, check=check_corpus_file)
