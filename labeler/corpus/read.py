"""The kinds of files that documents are read from, by the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from labeler.corpus.chunk import Block
from labeler.corpus.readers.markdown import read_markdown, read_mdx
from labeler.corpus.readers.plaintext import read_plaintext
from labeler.corpus.readers.rows import SourceDocument, documents_of_rows
from labeler.corpus.readers.rst import read_rst
from labeler.errors import BadInput
from labeler.files.csv import read_table, read_tsv
from labeler.files.encoding import decoded, read_bytes
from labeler.files.jsonl import read_rows
from labeler.messages import count_of

_TEXTS: dict[str, Callable[[str], tuple[str, list[Block]]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdx": read_mdx,
    ".rst": read_rst,
    ".rest": read_rst,
    ".txt": read_plaintext,
    ".text": read_plaintext,
}
_TABLES = (".csv", ".tsv")
_ROWS = (".jsonl", ".ndjson")
_NAMED = 5

KINDS = (*_TEXTS, *_TABLES, *_ROWS)
"""The endings of files that can be read; files of rows may be compressed (`.jsonl.gz`)."""


def kind_of(path: Path) -> str:
    """The ending that says what a file is, in lower case; "" where it says nothing."""
    name = path.name.casefold()
    ending = Path(name).suffix
    inner = Path(name.removesuffix(".gz")).suffix
    return inner if ending == ".gz" and inner in (*_TABLES, *_ROWS) else ending


def read_documents_of(path: Path) -> list[SourceDocument]:
    """Read the documents of a file of a known kind; `BadInput` says why there are none."""
    kind = kind_of(path)
    raw = read_bytes(path)
    text = decoded(path, raw)
    if kind in _TEXTS:
        title, blocks = _TEXTS[kind](text)
        return [SourceDocument(title, blocks)]
    problems: list[BadInput] = []
    if kind in _ROWS:
        rows: Iterator[tuple[int, dict[str, Any]]] = read_rows(path, problems.append)
    else:
        rows = (read_tsv if kind == ".tsv" else read_table)(path, text, problems.append)
    documents = documents_of_rows(path, rows, problems.append)
    if problems:
        raise BadInput(_all_bad(problems, len(documents)))
    return documents


def _all_bad(problems: Sequence[BadInput], good: int) -> str:
    """Describe the first bad rows of a file, in its order, and count the others."""
    listed = "; ".join(map(str, problems[:_NAMED]))
    more = f"; and {len(problems) - _NAMED:,} more" if len(problems) > _NAMED else ""
    left = f" (so its {count_of(good, 'good row was', 'good rows were')} left out too)"
    return listed + more + (left if good else "")
