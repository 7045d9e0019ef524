"""`corpus.jsonl` as BEIR writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from labeler.collection.lock import check_locked
from labeler.collection.rows import check_exists, metadata_of, repeated_id
from labeler.data import Document
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows


def read_corpus(path: Path) -> dict[str, Document]:
    """The documents of a `corpus.jsonl` by id, in the file's order."""
    documents: dict[str, Document] = {}
    for number, document in corpus_lines(path):
        if document.id in documents:
            raise repeated_id(path, number, document.id)
        documents[document.id] = document
    return documents


def corpus_lines(path: Path) -> Iterator[tuple[int, Document]]:
    """The documents of a `corpus.jsonl`, one after another, with the numbers of their lines."""
    check_exists(path)
    with reading(path) as position:
        for number, row in position.follow(read_rows(path)):
            document = Document(
                identifier(path, number, row, "_id"),
                text_of(path, number, row, "text", None),
                text_of(path, number, row, "title", ""),
                metadata_of(path, number, row),
            )
            yield number, document


def write_corpus(path: Path, documents: Iterable[Document]) -> None:
    """Write a `corpus.jsonl`; it reads back as the same documents."""
    check_locked(path.parent)
    rows = (
        {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
        for d in documents
    )
    write_rows(path, rows, check=read_corpus)
