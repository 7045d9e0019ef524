"""The kinds of files that documents are read from, by the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from labeler.corpus.blocks import Block, SourceDocument, SourceText, TitledBlocks
from labeler.corpus.losses import Losses, characters_of, recorded
from labeler.corpus.readers.asciidoc import read_asciidoc
from labeler.corpus.readers.docx import read_docx
from labeler.corpus.readers.epub import read_epub
from labeler.corpus.readers.html import read_html
from labeler.corpus.readers.includes import inlined
from labeler.corpus.readers.mail import read_mail
from labeler.corpus.readers.markdown import front_matter, read_markdown
from labeler.corpus.readers.notebook import read_notebook
from labeler.corpus.readers.office import read_pptx, read_xlsx
from labeler.corpus.readers.outline import Extracted, read_plaintext
from labeler.corpus.readers.pdf import read_pdf
from labeler.corpus.readers.rst import read_rst
from labeler.corpus.readers.tables import ROWS, documents_of_file
from labeler.entry_points import fill
from labeler.errors import BadInput, TooLarge
from labeler.exchange.fields import FieldNames
from labeler.exchange.shapes import HEAD, JSON, JSON_LINES, PARQUET, SGML, head_of, shape_of
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

_ARCHIVES = (".pdf", ".docx", ".epub", ".xlsx", ".pptx", ".eml", ".mhtml", ".mht")
_PLAIN = (".txt", ".text")
_ANY_LINE_END = (".md", ".markdown", ".mdx")
_TABLES = (".csv", ".tsv")
_USUAL = FieldNames()

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
    name = path.name.casefold()
    ending = Path(name).suffix
    inner = Path(name.removesuffix(".gz")).suffix
    return inner if ending == ".gz" and inner in (*_TABLES, *ROWS) else ending


def documents_in(
    path: Path, fields: FieldNames = _USUAL, root: Path | None = None
) -> Iterator[SourceDocument]:
    """Read the documents of a file of a known kind; `BadInput` says why there are none.

    Files that a text includes are inlined where they stand below `root`, the file's own folder by
    default. A file that is one document has a bound, or is `TooLarge`; of a file of rows, each row
    is held to the bound of a line. Rows come one by one; where one of them is bad, none of them
    counts.
    """
    kind = kind_of(path)
    with reading(path):
        if kind in TEXT_READERS and not (kind in _PLAIN and _holds_rows(path)):
            sources: Iterable[SourceDocument] = [_of_text(path, kind, root or path.parent)]
        elif kind in EXTRACTED:
            sources = [_of_extracted(path, kind)]
        else:
            sources = documents_of_file(path, kind, fields)
        yield from sources


def _of_text(path: Path, kind: str, root: Path) -> SourceDocument:
    raw = read_bytes(path, LARGEST_FILE if kind in _PLAIN else LARGEST_MARKUP)
    if kind in _PLAIN:
        head = raw if len(raw) <= HEAD else raw[:HEAD].rpartition(b"\n")[0]
        refuse_trec(path, head, "documents")
    own = decoded(path, raw)
    text = own if kind in _PLAIN else inlined(own, path, root, kind)
    try:
        with recorded() as losses:
            title, blocks = TEXT_READERS[kind](text)
    except TooLarge as error:
        raise TooLarge(f"{path}: {error}") from error
    metadata = front_matter(text)[0] if kind in _ANY_LINE_END else {}
    metadata.pop("title", "")
    spans_in = SourceText(text, own=text is own, any_line_end=kind in _ANY_LINE_END)
    losses = _counted(losses, blocks, characters_of(text))
    return SourceDocument(title, blocks, metadata=metadata, spans_in=spans_in, losses=losses)


def _counted(losses: Losses, blocks: Iterable[Block], characters_in: int) -> Losses:
    """The losses of a file with the characters of its blocks, each heading once."""
    shown = (block.text or ("", *block.headings)[-1] for block in blocks)
    losses.characters_in, losses.characters_out = characters_in, sum(map(characters_of, shown))
    return losses


def _of_extracted(path: Path, kind: str) -> SourceDocument:
    raw = read_bytes(path, LARGEST_FILE if kind in _ARCHIVES else LARGEST_MARKUP)
    if not raw:
        raise BadInput(f"{path}: empty")
    with recorded() as losses:
        read = EXTRACTED[kind](path, raw)
    if read.note:
        tell(path, read.note)
    spans_in = SourceText(read.text, own=False, paged=read.paged)
    lost = sum(each.characters for each in losses.rules.values())
    losses = _counted(losses, read.blocks, characters_of(read.text) + lost)
    return SourceDocument(read.title, read.blocks, spans_in=spans_in, losses=losses)


def holds_rows(path: Path) -> bool:
    """Whether a file is one of rows by its content: JSON, JSON Lines or Parquet."""
    with reading(path):
        return _holds_rows(path) or shape_of(path, head_of(path)) == JSON


def _holds_rows(path: Path) -> bool:
    return shape_of(path, head_of(path)) in (JSON_LINES, PARQUET, SGML)
