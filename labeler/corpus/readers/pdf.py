"""PDF: the text of its pages as paragraphs, under the headings that its bookmarks name."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.corpus.blocks import Block
from labeler.corpus.readers.outline import LARGEST_FILE, PAGE, Extracted
from labeler.errors import BadInput, Misconfigured, TooLarge
from labeler.files.read import in_megabytes
from labeler.messages import count_of, missing_extra

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

NEEDS = missing_extra("pdf", "PDF files need")
_FEW_CHARACTERS = 50
"""A page of an image with fewer characters of text is a scan, whatever these say."""

_MOST_PAGES = 20_000
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st", "\0": " "}
)
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]$")
_DIGITS = re.compile(r"\d+")
_SENTENCE_END = (".", "!", "?", ":", "。", "؟", "…", ".”", '."')
_SHORT_LINE = 0.8
_REPEATED_PAGES = 3
_EDGE = 2


def read_pdf(path: Path, raw: bytes) -> Extracted:
    """The text of a PDF, a form feed between its pages.

    `BadInput` says where it is encrypted, or holds images alone. Lines that repeat at the top or
    the bottom of most pages are left out, and words put together that a line's end divides.
    """
    with _quiet():
        reader = _opened(path, raw)
        if len(reader.pages) > _MOST_PAGES:
            raise TooLarge(f"{path}: more than {_MOST_PAGES:,} pages; divide it")
        pages, scans, size = list[list[str]](), 0, 0
        for page in reader.pages:
            text = page.extract_text().translate(_LIGATURES).replace(PAGE, " ")
            size += len(text)
            if size > LARGEST_FILE:
                bound = in_megabytes(LARGEST_FILE)
                raise TooLarge(f"{path}: more text than the {bound} of a document")
            scans += len(text.strip()) < _FEW_CHARACTERS and _has_image(page)
            pages.append(_lines(text))
        _refuse_scans(path, pages, scans)
        headings = _bookmarks(reader)
        title = str((reader.metadata and reader.metadata.title) or "").strip()
    blocks, shown = _blocks(_without_repeated(pages), headings)
    is_title = " " in title and len(title) < 300
    note = f"{count_of(scans, 'page holds', 'pages hold')} only an image, not read" if scans else ""
    return Extracted(title if is_title else "", shown, blocks, paged=True, note=note)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the parser's own warnings of damaged files stay unsaid."""
    logger = logging.getLogger("pypdf")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def _opened(path: Path, raw: bytes) -> PdfReader:
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise Misconfigured(NEEDS) from error
    reader = PdfReader(BytesIO(raw))
    if reader.is_encrypted:
        problem = "encrypted; save it without a password first (qpdf can)"
        raise BadInput(f"{path}: {problem}")
    return reader


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _has_image(page: PageObject) -> bool:
    """Whether a page shows an image, which need not be decoded to know."""
    resources: Any = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources is not None else None
    if objects is None:
        return False
    inner = (value.get_object() for value in objects.get_object().values())
    return any(each.get("/Subtype") == "/Image" for each in inner)


def _refuse_scans(path: Path, pages: Sequence[Sequence[str]], scans: int) -> None:
    if scans and scans == len(pages):
        held = count_of(scans, "page")
        problem = f"only images ({held}); recognize its text first (ocrmypdf does)"
        raise BadInput(f"{path}: {problem}")
    if not any(pages):
        raise BadInput(f"{path}: no text in it")


def _bookmarks(reader: PdfReader) -> dict[tuple[int, str], int]:
    """The level of each heading by its page's number and its words; empty without bookmarks."""
    levels: dict[tuple[int, str], int] = {}

    def add(entries: Sequence[Any], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                if level < 6:
                    add(entry, level + 1)
                continue
            number = reader.get_destination_page_number(entry)
            if number is not None and number >= 0 and len(levels) < _MOST_PAGES:
                levels[number, _key(str(entry.title or ""))] = level

    try:
        add(reader.outline, 1)
    except Exception:  # damaged bookmarks cost the headings alone, never the text
        return {}
    return levels


def _key(line: str) -> str:
    """A heading's words without its number, as bookmarks have them with or without it."""
    return re.sub(r"^[\dA-Z]{0,3}(?:\.\d+)*\.?\s+|\W+", "", line.translate(_LIGATURES)).casefold()


def _without_repeated(pages: Sequence[list[str]]) -> list[list[str]]:
    """The pages without lines that stand at the edge of most of them, numbers apart."""
    if len(pages) < _REPEATED_PAGES:
        return list(pages)
    edges = Counter(
        key for page in pages for key in {_DIGITS.sub("#", line) for line in _edge_of(page)}
    )
    often = {key for key, count in edges.items() if count > len(pages) / 2}
    return [_inside(page, often) for page in pages]


def _edge_of(page: Sequence[str]) -> list[str]:
    return [*page[:_EDGE], *page[-_EDGE:]]


def _inside(page: list[str], often: set[str]) -> list[str]:
    last = len(page) - _EDGE
    return [
        line
        for position, line in enumerate(page)
        if not ((position < _EDGE or position >= last) and _DIGITS.sub("#", line) in often)
    ]


def _blocks(
    pages: Sequence[Sequence[str]], levels: dict[tuple[int, str], int]
) -> tuple[list[Block], str]:
    """The paragraphs of all pages with the headings above them, and the text that they make."""
    blocks: list[Block] = []
    parts: list[str] = []
    path: list[tuple[int, str]] = []
    line = 1
    for number, page in enumerate(pages):
        for text in _paragraphs(page, number, levels):
            level = levels.get((number, _key(text))) if len(text) < 200 else None
            if level is not None:
                path = [(above, name) for above, name in path if above < level] + [(level, text)]
            headings = tuple(name for _, name in path)
            blocks.append(Block("" if level is not None else text, headings, line))
            parts += [text, "\n\n"]
            line += 2 + text.count("\n")
        parts.append(PAGE)
    return blocks, "".join(parts[:-1])


def _paragraphs(
    page: Sequence[str], number: int, levels: dict[tuple[int, str], int]
) -> Iterator[str]:
    """The lines of a page put together: a short line that ends a sentence ends a paragraph."""
    widths = sorted(map(len, page))
    width = widths[len(widths) * 9 // 10] if widths else 0
    words = ""
    for line in page:
        if (number, _key(line)) in levels:
            if words:
                yield words
            yield line
            words = ""
            continue
        words = _continued(words, line)
        if len(line) < _SHORT_LINE * width and line.endswith(_SENTENCE_END):
            yield words
            words = ""
    if words:
        yield words


def _continued(words: str, line: str) -> str:
    if not words:
        return line
    if _HYPHEN.search(words) and line[:1].islower():
        return words[:-1] + line
    return f"{words} {line}"
