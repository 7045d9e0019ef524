"""The kinds of files that documents are read from, by the endings of their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from labeler.corpus.blocks import SourceDocument, SourceText, TitledBlocks
from labeler.corpus.losses import characters_of, recorded
from labeler.corpus.readers.asciidoc import read_asciidoc
from labeler.corpus.readers.epub import read_epub
from labeler.corpus.readers.exports import OF_NOTION, OF_SPHINX, properties, without_people
from labeler.corpus.readers.html import read_html
from labeler.corpus.readers.includes import inlined
from labeler.corpus.readers.mail import read_mail
from labeler.corpus.readers.markdown import front_matter, read_markdown
from labeler.corpus.readers.notebook import read_notebook
from labeler.corpus.readers.office import read_docx, read_pptx, read_xlsx
from labeler.corpus.readers.outline import Extracted, read_plaintext
from labeler.corpus.readers.pdf import read_pdf
from labeler.corpus.readers.rst import read_rst
from labeler.corpus.readers.tables import ROWS, documents_of_file
from labeler.entry_points import fill
from labeler.errors import BadInput, TooLarge
from labeler.exchange.fields import FieldNames
from labeler.exchange.shapes import (
    HEAD,
    JSON,
    JSON_LINES,
    PARQUET,
    SGML,
    ending_of,
    head_of,
    shape_of,
)
from labeler.exchange.tables import refuse_trec
from labeler.files.archives import LARGEST_FILE
from labeler.files.boundary import reading
from labeler.files.read import decoded, read_bytes
from labeler.messages import tell

TEXT_READERS: dict[str, Callable[[str], TitledBlocks]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdx": partial(read_markdown, mdx=True),
    ".adoc": read_asciidoc,
    ".asciidoc": read_asciidoc,
    ".rst": read_rst,
    ".rest": read_rst,
    ".txt": read_plaintext,
    ".text": read_plaintext,
}
"""The registry of what reads a text of some ending: it gives a title and blocks."""

EXTRACTED: dict[str, Callable[[Path, bytes], Extracted]] = {
    ".pdf": read_pdf,
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".docx": read_docx,
    ".epub": read_epub,
    ".xlsx": read_xlsx,
    ".pptx": read_pptx,
    ".eml": read_mail,
    **dict.fromkeys((".mhtml", ".mht"), partial(read_mail, headers=())),
    ".ipynb": lambda path, raw: read_notebook(path, decoded(path, raw)),
}
"""The registry of what takes the text out of other files' bytes."""

_PLAIN = (".txt", ".text")
_LARGE = (*_PLAIN, ".pdf", ".docx", ".epub", ".xlsx", ".pptx", ".eml", ".mhtml", ".mht")
_ANY_LINE_END = (".md", ".markdown", ".mdx")
_TABLES = (".csv", ".tsv")
_USUAL = FieldNames()
_NOTION = re.compile(r" [0-9a-f]{32}\Z")

LARGEST_MARKUP = LARGEST_FILE // 16
"""Markup may have fewer: the tree of very short blocks takes 700 times its size,
up to the bound of tokens, and plain text 12 times.
"""


def kinds_read() -> Sequence[str]:
    """The endings of files that are read unasked; of rows, they may be compressed (`.jsonl.gz`)."""
    fill(TEXT_READERS, "readers", Callable)  # type: ignore[arg-type]  # a kind of values
    return (*TEXT_READERS, *EXTRACTED, *_TABLES, *ROWS)


def kind_of(path: Path) -> str:
    """The ending that says what a file is, in lower case; "" where it says nothing."""
    inner = ending_of(path)
    return inner if inner in (*_TABLES, *ROWS) else path.suffix.casefold()


def documents_in(
    path: Path, fields: FieldNames = _USUAL, root: Path | None = None, *, people: bool = True
) -> Iterator[SourceDocument]:
    """Read the documents of a file of a known kind; `BadInput` says why there are none.

    Files that a text includes are inlined where they stand below `root`, the file's own folder by
    default. A file that is one document has a bound, or is `TooLarge`; of a file of rows, each row
    is held to the bound of a line. Rows come one by one; where one of them is bad, none of them
    counts. Without `people`, names of people are left out.
    """
    kind = kind_of(path)
    with reading(path):
        if kind in (*TEXT_READERS, *EXTRACTED) and not (kind in _PLAIN and _holds_rows(path)):
            yield _one_document(path, kind, root or path.parent, people)
        else:
            documents = documents_of_file(path, kind, fields)
            yield from documents if people else (without_people(each, ()) for each in documents)


def _one_document(path: Path, kind: str, root: Path, people: bool) -> SourceDocument:
    """A file as one document, and what it loses: each heading counts once."""
    raw = read_bytes(path, LARGEST_FILE if kind in _LARGE else LARGEST_MARKUP)
    if not raw:
        raise BadInput(f"{path}: empty")
    is_text = kind in TEXT_READERS
    is_markdown = kind in _ANY_LINE_END
    with recorded() as losses:
        read = _of_text(path, raw, kind, root) if is_text else EXTRACTED[kind](path, raw)
        metadata = {**(front_matter(read.text)[0] if is_markdown else {}), **read.metadata}
        metadata.pop("title", "")
        document = SourceDocument(read.title, read.blocks, metadata=metadata, losses=losses)
        document = document if people else without_people(document, read.people)
    if read.note:
        tell(path, read.note)
    shown = (block.text or ("", *block.headings)[-1] for block in read.blocks)
    lost = 0 if is_text else sum(each.characters for each in losses.rules.values())
    losses.characters_in = characters_of(read.text) + lost
    losses.characters_out = sum(map(characters_of, shown))
    spans_in = SourceText(read.text, own=read.own, paged=read.paged, any_line_end=is_markdown)
    return replace(document, spans_in=spans_in)


def _of_text(path: Path, raw: bytes, kind: str, root: Path) -> Extracted:
    if kind in _PLAIN:
        head = raw if len(raw) <= HEAD else raw[:HEAD].rpartition(b"\n")[0]
        refuse_trec(path, head, "documents")
    own = decoded(path, raw)
    text = own if kind in _PLAIN else inlined(own, path, root, kind)
    is_notion = kind in _ANY_LINE_END and _NOTION.search(path.stem)
    pattern = OF_NOTION if is_notion else OF_SPHINX if kind in (".rst", ".rest") else None
    metadata, body = properties(text, pattern) if pattern else ({}, text)
    try:
        title, blocks = TEXT_READERS[kind](body)
    except TooLarge as error:
        raise TooLarge(f"{path}: {error}") from error
    return Extracted(title, text, blocks, own=text is own, metadata=metadata)


def holds_rows(path: Path) -> bool:
    """Whether a file is one of rows by its content: JSON, JSON Lines or Parquet."""
    with reading(path):
        return _holds_rows(path) or shape_of(path, head_of(path)) == JSON


def _holds_rows(path: Path) -> bool:
    return shape_of(path, head_of(path)) in (JSON_LINES, PARQUET, SGML)
