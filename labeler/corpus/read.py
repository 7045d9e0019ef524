"""The kinds of files that documents are read from, by the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from labeler.corpus.blocks import Block
from labeler.corpus.readers.docx import read_docx
from labeler.corpus.readers.epub import read_epub
from labeler.corpus.readers.html import read_html
from labeler.corpus.readers.markdown import read_markdown, read_mdx
from labeler.corpus.readers.notebook import read_notebook
from labeler.corpus.readers.outline import Extracted, read_plaintext
from labeler.corpus.readers.pdf import read_pdf
from labeler.corpus.readers.rows import (
    SourceDocument,
    SourceText,
    check_has_text,
    documents_of_rows,
    paths_of,
    takes_all_columns,
)
from labeler.corpus.readers.rst import read_rst
from labeler.entry_points import fill
from labeler.errors import BadInput, TooLarge
from labeler.exchange.documents import document_rows
from labeler.exchange.fields import FieldNames
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, head_of, shape_of, tell
from labeler.files.boundary import reading
from labeler.files.csv import read_table, read_tsv, table_lines
from labeler.files.jsonl import read_rows
from labeler.files.read import decoded, read_bytes
from labeler.messages import count_of

TEXT_READERS: dict[str, Callable[[str], tuple[str, list[Block]]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdx": read_mdx,
    ".rst": read_rst,
    ".rest": read_rst,
    ".txt": read_plaintext,
    ".text": read_plaintext,
}
"""The registry of what reads a text of some ending: it gives a title and blocks."""

_EXTRACTED: dict[str, Callable[[Path, bytes, int], Extracted]] = {
    ".pdf": read_pdf,
    ".html": lambda path, raw, _most: read_html(path, raw),
    ".htm": lambda path, raw, _most: read_html(path, raw),
    ".xhtml": lambda path, raw, _most: read_html(path, raw),
    ".docx": read_docx,
    ".epub": read_epub,
    ".ipynb": lambda path, raw, _most: read_notebook(path, decoded(path, raw)),
}
_ARCHIVES = (".pdf", ".docx", ".epub")
_PLAIN = (".txt", ".text")
_ANY_LINE_END = (".md", ".markdown", ".mdx")
_TABLES = (".csv", ".tsv")
_ROWS = (".jsonl", ".ndjson", ".json", ".parquet")
_NAMED = 5
_USUAL = FieldNames()

LARGEST_FILE = 1 << 26
"""The most bytes of a file that is one document, 64 MB, where nothing else is said."""

MARKUP = 16
"""Markup may have so many times fewer: the tree of very short blocks takes 700 times its size,
up to the bound of tokens, and plain text 12 times.
"""


def kinds_of_documents() -> tuple[str, ...]:
    """The endings of files that are one document each."""
    fill(TEXT_READERS, "readers", Callable)  # type: ignore[arg-type]  # a kind of values
    return (*TEXT_READERS, *_EXTRACTED)


def kinds_read() -> tuple[str, ...]:
    """The endings of files that are read unasked; of rows, they may be compressed (`.jsonl.gz`)."""
    fill(TEXT_READERS, "readers", Callable)  # type: ignore[arg-type]  # a kind of values
    return (*TEXT_READERS, *_EXTRACTED, *_TABLES, *_ROWS)


def kind_of(path: Path) -> str:
    """The ending that says what a file is, in lower case; "" where it says nothing."""
    name = path.name.casefold()
    ending = Path(name).suffix
    inner = Path(name.removesuffix(".gz")).suffix
    return inner if ending == ".gz" and inner in (*_TABLES, *_ROWS) else ending


def read_documents_of(
    path: Path, most: int = LARGEST_FILE, fields: FieldNames = _USUAL
) -> list[SourceDocument]:
    """The same as `documents_in`, all at once."""
    return list(documents_in(path, most, fields))


def documents_in(
    path: Path, most: int = LARGEST_FILE, fields: FieldNames = _USUAL
) -> Iterator[SourceDocument]:
    """Read the documents of a file of a known kind; `BadInput` says why there are none.

    A file that is one document has at most `most` bytes, or is `TooLarge`, and one of markup a
    sixteenth of that; of a file of rows, each row is held to the bound of a line. Rows come one by
    one: where one of them is bad, the error comes at the end, and none of them counts.
    """
    kind = kind_of(path)
    with reading(path):
        if kind in TEXT_READERS and not (kind in _PLAIN and _holds_rows(path)):
            sources: Iterable[SourceDocument] = [_of_text(path, kind, most)]
        elif kind in _EXTRACTED:
            sources = [_of_extracted(path, kind, most)]
        else:
            sources = _documents_of_rows(path, kind, fields)
        yield from sources


def _of_markup(most: int) -> int:
    return max(most // MARKUP, 1)


def _of_text(path: Path, kind: str, most: int) -> SourceDocument:
    text = decoded(path, read_bytes(path, most if kind in _PLAIN else _of_markup(most)))
    try:
        title, blocks = TEXT_READERS[kind](text)
    except TooLarge as error:
        raise TooLarge(f"{path}: {error}") from error
    spans_in = SourceText(text, any_line_end=kind in _ANY_LINE_END)
    return SourceDocument(title, blocks, spans_in=spans_in)


def _of_extracted(path: Path, kind: str, most: int) -> SourceDocument:
    raw = read_bytes(path, most if kind in _ARCHIVES else _of_markup(most))
    if not raw:
        raise BadInput(f"{path}: empty")
    read = _EXTRACTED[kind](path, raw, most)
    if read.note:
        tell(path, read.note)
    spans_in = SourceText(read.text, own=False, paged=read.paged)
    return SourceDocument(read.title, read.blocks, spans_in=spans_in)


def holds_rows(path: Path) -> bool:
    """Whether a file is one of rows by its content: JSON, JSON Lines or Parquet."""
    with reading(path):
        return _holds_rows(path) or shape_of(path, head_of(path)) == JSON


def _holds_rows(path: Path) -> bool:
    return shape_of(path, head_of(path)) in (JSON_LINES, PARQUET)


def _documents_of_rows(path: Path, kind: str, fields: FieldNames) -> Iterator[SourceDocument]:
    problems = _Problems()
    wrapped = document_rows(path, problems.add)
    if wrapped is not None:
        form, rows = wrapped.form, iter(wrapped.rows)
    elif kind in _ROWS:
        form, rows = "JSON Lines", read_rows(path, problems.add)
    else:
        form = "TSV" if kind == ".tsv" else "CSV"
        read = read_tsv if kind == ".tsv" else read_table
        rows = read(path, table_lines(path), problems.add)
    first = next(rows, None)
    if first:
        check_has_text(path, first[1], fields)
    names = ", ".join(paths_of(first[1])) if first else ""
    again: Iterator[tuple[int, dict[str, Any]]] = chain([first] if first else [], rows)
    count = 0
    for document in documents_of_rows(path, again, problems.add, fields):
        count += 1
        yield document
    if problems.count:
        problem = problems.in_words(count)
        raise BadInput(problem, parameter=problems.first[0].parameter)
    all_of_them = first is not None and takes_all_columns(first[1], fields)
    more = "; none is called the text, so all are, each with its name" if all_of_them else ""
    tell(path, f"documents from {form} (columns {names}){more}")
    if not count:
        raise BadInput(f"{path}: empty")


@dataclass
class _Problems:
    """The first bad rows of a file, and how many there are."""

    first: list[BadInput] = field(default_factory=list)
    count: int = 0

    def add(self, error: BadInput) -> None:
        """Count a bad row."""
        self.count += 1
        if len(self.first) < _NAMED:
            self.first.append(error)

    def in_words(self, good: int) -> str:
        """Describe the first bad rows, in the file's order, and count the others."""
        listed = "; ".join(map(str, self.first))
        more = f"; and {self.count - _NAMED:,} more" if self.count > _NAMED else ""
        left = f" (so its {count_of(good, 'good row was', 'good rows were')} left out too)"
        return listed + more + (left if good else "")
