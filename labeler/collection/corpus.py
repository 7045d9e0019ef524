"""`corpus.jsonl` and `queries.jsonl` as BEIR writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labeler.collection.layout import STEPS, next_step
from labeler.data import Document
from labeler.errors import BadInput, FileProblem
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows


def read_corpus(path: Path) -> dict[str, Document]:
    """The documents of a `corpus.jsonl` by id, in the file's order."""
    documents: dict[str, Document] = {}
    for number, document in corpus_lines(path):
        if document.id in documents:
            raise _twice(path, number, document.id)
        documents[document.id] = document
    return documents


def corpus_lines(path: Path) -> Iterator[tuple[int, Document]]:
    """The documents of a `corpus.jsonl`, one after another, with the numbers of their lines."""
    _must_be_there(path)
    for number, row in read_rows(path):
        yield (
            number,
            Document(
                identifier(path, number, row, "_id"),
                text_of(path, number, row, "text", None),
                text_of(path, number, row, "title", ""),
                _metadata(path, number, row),
            ),
        )


def write_corpus(path: Path, documents: Iterable[Document]) -> None:
    """Write a `corpus.jsonl`; it reads back as the same documents."""
    rows = (
        {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
        for d in documents
    )
    write_rows(path, rows, check=read_corpus)


def _must_be_there(path: Path) -> None:
    """`FileProblem` says how to make a part of a collection that is not there."""
    if path.name in STEPS and not path.exists():
        raise FileProblem(f"{path}: no such file; next: {next_step(path.parent)}")


def _twice(path: Path, number: int, found: str) -> BadInput:
    return BadInput.at(path, number, f"the id {found!r} stands in an earlier line too")


def _metadata(path: Path, number: int, row: dict[str, Any]) -> dict[str, Any]:
    value = row.get("metadata") or {}
    if not isinstance(value, dict):
        raise BadInput.at(path, number, f"expected 'metadata' to be an object, found {value!r}")
    return value
