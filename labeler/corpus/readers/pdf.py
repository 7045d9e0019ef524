"""PDF: the text of its pages as headings, paragraphs and rows of tables, by where it stands."""

from __future__ import annotations

import logging
import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.corpus.blocks import Block
from labeler.corpus.losses import drop
from labeler.corpus.readers.outline import PAGE, Extracted, Outline, fenced, indentation
from labeler.errors import BadInput, TooLarge
from labeler.files.archives import refuse_long
from labeler.files.boundary import needing
from labeler.messages import count_of, missing_extra

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_FEW_CHARACTERS = 50
"""A page of an image with fewer characters of text is a scan, whatever these say."""

_MOST_PAGES = 20_000
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st", "\0": " "}
)
_SENTENCE_END = (".", "!", "?", ":", "。", "؟", "…", ".”", '."')
_SHORT_LINE = 0.8


def read_pdf(path: Path, raw: bytes) -> Extracted:
    """The text of a PDF, a form feed between its pages.

    `BadInput` says where it is encrypted, or holds images alone. Headings are what is larger than
    most of the text, or bold. Page numbers are left out, and lines that stand at one place of most
    pages; words that a line's end divides are joined.
    """
    with _quiet():
        reader = _opened(path, raw)
        if len(reader.pages) > _MOST_PAGES:
            raise TooLarge(f"{path}: more than {_MOST_PAGES:,} pages; divide it")
        pages = []
        scans = 0
        size = 0
        for page in reader.pages:
            lines = _lines(page)
            characters = sum(len(cell.text) for line in lines for cell in line)
            size += characters
            refuse_long(path, size)
            scans += characters < _FEW_CHARACTERS and _has_image(page)
            pages.append(lines)
        _refuse_scans(path, pages, scans)
        title = str((reader.metadata and reader.metadata.title) or "").strip()
    blocks, shown = _blocks(_without_repeated(pages), _levels_by(pages))
    is_title = " " in title and len(title) < 300
    note = f"{count_of(scans, 'page holds', 'pages hold')} only an image, not read" if scans else ""
    return Extracted(title if is_title else "", shown, blocks, paged=True, note=note)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the parser's own warnings of damaged files stay unsaid."""
    logger = logging.getLogger("pypdf")
    was = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was


def _opened(path: Path, raw: bytes) -> PdfReader:
    with needing(missing_extra("pdf", "PDF files need")):
        from pypdf import PdfReader
    reader = PdfReader(BytesIO(raw))
    if reader.is_encrypted:
        raise BadInput(f"{path}: encrypted; save it without a password first (qpdf can)")
    return reader


# What stands in a line of a page, and where: its cells, of which most lines have one.


class _Cell(NamedTuple):
    """A stretch of a line; `x` and `y` are where it begins, from the left and from below.

    Lengths are in points.
    """

    text: str
    x: float
    y: float
    size: float
    bold: bool
    mono: bool

    @property
    def width(self) -> float:
        """About how long it is: fonts of text differ by less than a tenth."""
        return self.size * sum(_WIDTHS.get(c) or (0.67 if c.isupper() else 0.53) for c in self.text)


_Line = Sequence[_Cell]
_Pages = Sequence[Sequence[_Line]]
_WIDTHS = {**dict.fromkeys("fijlrtI.,:;'!|()[]- ", 0.3), **dict.fromkeys("mwMW@%—…", 0.85)}
"""The widths of narrow and of wide characters by the size of their font."""

_BOLD = re.compile(r"(?i)bold|black|heavy|cmbx|demi")
_MONO = re.compile(r"(?i)mono|courier|consol|typewriter|cmtt|menlo")
_TABULATED = re.compile(r"(?<=\S) {3,}(?=\S)")
_LONG_CELL = 25
"""Cells that have more characters on average are lines of columns, and no table's."""


def _lines(page: PageObject) -> list[_Line]:
    """The lines of a page in the order of its text, each column after the one before."""
    lines: list[list[_Cell]] = [[]]

    def take(text: str, outer: Any, inner: Any, font: Any, size: float) -> None:
        areas = (each[0] * each[3] - each[1] * each[2] for each in (inner, outer))
        scale = math.sqrt(abs(math.prod(areas)))
        x = inner[4] * outer[0] + inner[5] * outer[2] + outer[4]
        y = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
        name = str(font.get("/BaseFont", "")) if font else ""
        bold = bool(_BOLD.search(name))
        mono = bool(_MONO.search(name))
        clean = text.translate(_LIGATURES).replace(PAGE, " ").replace("\r", "\n")
        for number, part in enumerate(clean.split("\n")):
            if number:
                lines.append([])
            if part.strip():
                lines[-1].append(_Cell(part, x, y, float(size) * scale, bold, mono))

    page.extract_text(visitor_text=take)
    rows: list[list[_Cell]] = [[]]
    for line in filter(None, lines):  # the cells of a row may come as lines of one height
        last = rows[-1][-1] if rows[-1] else line[0]
        if abs(line[0].y - last.y) < 1 and line[0].x > last.x:
            rows[-1] += [line[0]._replace(text=f"\n{line[0].text}"), *line[1:]]
        else:
            rows.append(line)
    return _in_columns(list(map(_cells, filter(None, rows))))


def _cells(runs: Sequence[_Cell]) -> list[_Cell]:
    """The cells of a line: runs of text that nearly touch are one, as a bold word in a sentence."""
    several = [[runs[0]]]
    for before, run in pairwise(runs):
        width, size = before.width, before.size
        is_new = run.text.startswith("\n")
        least = max(0.5 * size, 0.08 * width) if is_new else 0.7 * size + 0.08 * width
        if run.x - before.x - width > least:
            several.append([])
        several[-1].append(run)
    cells = [
        cell[0]._replace(
            text="".join(run.text for run in cell).replace("\n", " "),
            size=max(run.size for run in cell),
            bold=all(run.bold for run in cell),
            mono=all(run.mono for run in cell),
        )
        for cell in several
    ]
    parts = (
        (cell, part)
        for cell in cells
        for part in ([cell.text] if cell.mono else _TABULATED.split(cell.text))
    )
    return [
        cell._replace(text=part.strip(), x=cell.x + cell.mono * indentation(part) * 0.6 * cell.size)
        for cell, part in parts
    ]


def _in_columns(lines: Sequence[_Line]) -> list[_Line]:
    """The lines with those of columns that stand side by side one column after the other."""
    ordered: list[_Line] = []
    for several, group in groupby(lines, key=lambda line: len(line) > 1):
        rows = list(group)
        lengths = [len(cell.text) for row in rows for cell in row]
        if several and sum(lengths) > _LONG_CELL * len(lengths):
            starts = sorted(cell.x for cell in max(rows, key=len))
            middles = [(left + right) / 2 for left, right in pairwise(starts)]
            cells = (cell for row in rows for cell in row)
            ordered += [[c] for c in sorted(cells, key=lambda c: bisect(middles, c.x))]
        else:
            ordered += rows
    return ordered


def _has_image(page: PageObject) -> bool:
    """Whether a page shows an image, which need not be decoded to know."""
    resources: Any = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources is not None else None
    inner = objects.get_object().values() if objects is not None else ()
    return any(each.get_object().get("/Subtype") == "/Image" for each in inner)


def _refuse_scans(path: Path, pages: _Pages, scans: int) -> None:
    if scans and scans == len(pages):
        held = count_of(scans, "page")
        raise BadInput(f"{path}: only images ({held}); recognize its text first (ocrmypdf does)")
    if not any(pages):
        raise BadInput(f"{path}: no text in it")


_Levels = Callable[[_Line], int]
"""From a line to the level of the heading that it is; 0 of none, `_CODE` of a line of code."""

_CODE = -1
_DEEPEST_CODE = 80

_MOST_LEVELS = 6
_LARGER = 1.15
_LONGEST_HEADING = 200
_WRAPPED = 30
"""A heading that goes on in the next line has so many characters in its first."""


def _levels_by(pages: _Pages) -> _Levels:
    """What finds headings: the fonts."""
    characters = Counter[tuple[float, bool, bool]]()
    for cell in (cell for page in pages for line in page for cell in line):
        characters[round(cell.size, 1), cell.bold, cell.mono] += len(cell.text)
    (body, is_bold, is_mono), _ = max(characters.items(), key=lambda entry: entry[1])
    larger = sorted({size for size, *_ in characters if size > _LARGER * body}, reverse=True)
    levels = {size: min(n, _MOST_LEVELS - 1) for n, size in enumerate(larger, 1)}

    def level(line: _Line) -> int:
        cell = line[0]
        text = _text_of(line)
        if all(each.mono for each in line) and not is_mono:
            return _CODE
        if len(line) > 1 or len(text) > _LONGEST_HEADING or sum(map(str.isalpha, text)) < 2:
            return 0
        if by_size := levels.get(round(cell.size, 1), 0):
            return by_size
        is_whole = text.count("(") == text.count(")") and text[-1] not in ".,;:"
        stands_out = cell.bold and not is_bold and cell.size > 0.95 * body
        return min(len(larger) + 1, _MOST_LEVELS) if stands_out and is_whole else 0

    return level


def _text_of(line: _Line) -> str:
    return " | ".join(cell.text for cell in line)


# What stands at the edge of most pages, and belongs to none.

_REPEATED_PAGES = 3
_EDGE = 2
_PAGE_WORDS = r"page|p|seite|s|página|pagina|pág|pag|sida|strona|str|стр|第"
_PAGE_NUMBER = re.compile(
    rf"(?i)\s*(?:(?:{_PAGE_WORDS})\.?\s*|[-–—|/(\[]\s*)?(\d{{1,5}})"
    r"(?:\s*(?:of|von|de|di|van|av|z|из|sur|/)\s*\d{1,5})?\s*[-–—|)\]页頁]?\s*"
)


def _without_repeated(pages: _Pages) -> list[list[_Line]]:
    """The pages without their numbers, and without what stands at one place of most of them."""
    edges = Counter(
        key
        for number, page in enumerate(pages)
        for key in {
            _edge_key(number, cell)
            for line in (*page[:_EDGE], *page[max(_EDGE, len(page) - _EDGE) :])
            for cell in line
        }
    )
    most = max(_REPEATED_PAGES - 1, len(pages) / 2)
    often = {key for key, count in edges.items() if count > most}
    return [list(_inside(number, page, often)) for number, page in enumerate(pages)]


def _edge_key(number: int, cell: _Cell) -> Sequence[object]:
    """What a cell shares with those that are equal but for the page number, at the same place.

    Of a page number its distance from the page's own number is the same.
    """
    match = _PAGE_NUMBER.fullmatch(cell.text)
    if match:
        return "", int(match[1]) - number, round(cell.y), round(cell.size)
    return cell.text, 0, round(cell.x), round(cell.y), round(cell.size)


def _inside(
    number: int, page: Sequence[_Line], often: Container[Sequence[object]]
) -> Iterator[_Line]:
    for position, line in enumerate(page):
        is_edge = position < _EDGE or position >= len(page) - _EDGE
        inner = []
        for cell in line:
            if is_edge and _edge_key(number, cell) in often:
                is_number = _PAGE_NUMBER.fullmatch(cell.text)
                drop("page numbers" if is_number else "lines that most pages have", cell.text)
            else:
                inner.append(cell)
        if inner:
            yield inner


def _blocks(pages: _Pages, level_of: _Levels) -> tuple[list[Block], str]:
    """The headings, paragraphs and rows of all pages, and the text that they make."""
    outline = Outline()
    parts = []
    line = 1
    for page in pages:
        for part in _parts(page, level_of):
            text = part.text
            if part.level == _CODE:
                outline.code(list(enumerate(text.split("\n"), line)))
                text = fenced(text)
            elif part.level:
                outline.heading(part.level, text, line)
            else:
                outline.prose(text, line, tight=part.row > 0, leads=part.row == 0)
            parts += [text, "\n\n"]
            line += 2 + text.count("\n")
        parts.append(PAGE)
    return outline.blocks, "".join(parts[:-1])


class _Part(NamedTuple):
    """A heading of a level, a paragraph, code, or a row of a table by its number in it."""

    text: str
    level: int = 0
    row: int = -1


def _parts(page: Sequence[_Line], level_of: _Levels) -> Iterator[_Part]:
    """The lines of a page put together to what they are lines of."""
    lengths = sorted(len(line[0].text) for line in page)
    width = lengths[len(lengths) * 9 // 10] if lengths else 0  # of a full line, in characters
    distances = (above[0].y - below[0].y for above, below in pairwise(page))
    pitch = median([each for each in distances if each > 0] or [0.0])  # how far lines lie apart
    kinds = groupby(page, lambda line: (level_of(line), len(line) > 1 and level_of(line) != _CODE))
    for (level, is_table), group in kinds:
        lines = list(group)
        if level == _CODE:
            yield _Part(_code_of(lines), level)
            continue
        if is_table:
            rows = enumerate(map(_text_of, lines))
            yield from (_Part(text, 0, row if len(lines) > 1 else -1) for row, text in rows)
            continue
        is_end = _ends_heading if level else partial(_ends_paragraph, width, pitch)
        words = [lines[0][0].text]
        for (before,), (cell,) in pairwise(lines):
            if is_end(before, cell):
                yield _Part("".join(words), level)
                words = [cell.text]
            else:
                is_short = not level and len(before.text) < _SHORT_LINE * width
                _go_on(words, cell.text, "\n" if is_short else " ")
        yield _Part("".join(words), level)


def _code_of(lines: Sequence[_Line]) -> str:
    """Lines of code, indented as they stand on the page, by letters that are .6 of their size."""
    margin = min(line[0].x for line in lines)
    letters = ((line[0].x - margin) / (0.6 * line[0].size or 1) for line in lines)
    margins = (" " * round(min(n, _DEEPEST_CODE)) for n in letters)
    return "\n".join(map("".join, zip(margins, map(_text_of, lines), strict=True)))


def _ends_heading(before: _Cell, cell: _Cell) -> bool:
    """Whether a line is a heading of its own: the one before was short, or lies further above."""
    return len(before.text) < _WRAPPED or not 0 < before.y - cell.y < 1.8 * before.size


def _ends_paragraph(length: float, pitch: float, before: _Cell, cell: _Cell) -> bool:
    """Whether a paragraph ends: before a larger gap, or where a short line ends a sentence."""
    gap = before.y - cell.y
    text = before.text
    ends = len(text) < _SHORT_LINE * length and text.endswith(_SENTENCE_END)
    return ends or (gap > 1.3 * pitch and gap > 1.4 * before.size)


def _go_on(words: list[str], line: str, gap: str) -> None:
    """Add a further line to words; one that is short ends where somebody wanted it to."""
    last = words[-1]
    if last.endswith(("-", "\u00ad")) and last[-2:-1].isalpha() and line[:1].islower():
        drop("hyphens at the ends of lines", last[-1])
        words[-1], gap = last[:-1], ""
    words += [gap, line]
