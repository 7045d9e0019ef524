"""Workbooks (XLSX) and slides (PPTX), from the XML in their archives."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element

from labeler.corpus.losses import drop
from labeler.corpus.readers.outline import (
    LARGEST_XML,
    Extracted,
    Outline,
    finished,
    opened,
    part_of,
    squeezed,
    xml_of,
)

_MOST_EMPTY = 64
"""Cells that are empty stand in a row up to this column."""

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATES = frozenset((*range(14, 23), *range(45, 48)))
_OF_DATES = re.compile(r"(?i)(?:\[[^\]]*\]|\"[^\"]*\"|\\.|[^\[\"\\ymdhs])*[ymdhs]")
_COLUMN = re.compile(r"[A-Z]{1,3}")


def read_xlsx(path: Path, raw: bytes) -> Extracted:
    """The sheets of a workbook as headings, their rows as rows of a table, formulas by value."""
    outline = Outline()
    with opened(path, raw) as archive:
        reader = _Workbook(archive, path)
        for name, sheet in _parts_in_order(archive, path, "xl/workbook.xml", "sheet"):
            outline.heading(1, name, 1)
            outline.rows(reader.rows(sheet))
        _drop_parts(archive, path, "xl/(?:comment|drawing|chart)", "comments and drawings")
        title = _title(archive, path)
    return finished(path, title, outline)


def _tree(archive: zipfile.ZipFile, name: str, path: Path) -> Element:
    """The XML of a part of an archive."""
    return xml_of(path, part_of(archive, name, path, LARGEST_XML))


def read_pptx(path: Path, raw: bytes) -> Extracted:
    """The slides under their titles: paragraphs, rows of tables, and what the speaker notes."""
    outline = Outline()
    with opened(path, raw) as archive:
        for _, name in _parts_in_order(archive, path, "ppt/presentation.xml", "sldId"):
            _add_slide(outline, _tree(archive, name, path))
            for notes in _related(archive, path, name).values():
                if "notesSlides/" in notes:
                    _add_slide(outline.nested(), _tree(archive, notes, path))
        _drop_parts(archive, path, "ppt/(?:comment|chart|diagrams/data)", "comments and charts")
        title = _title(archive, path)
    return finished(path, title, outline)


def _title(archive: zipfile.ZipFile, path: Path) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    return xml_of(path, part_of(archive, "docProps/core.xml", path)).findtext(".//{*}title") or ""


def _drop_parts(archive: zipfile.ZipFile, path: Path, pattern: str, rule: str) -> None:
    """Note the texts of parts that are not read."""
    for name in archive.namelist():
        if re.match(pattern, name) and name.endswith(".xml"):
            drop(rule, " ".join(_tree(archive, name, path).itertext()))


def _related(archive: zipfile.ZipFile, path: Path, name: str) -> dict[str, str]:
    """The parts that one part refers to, by the ids of the relations."""
    folder, file = posixpath.split(name)
    relations = f"{folder}/_rels/{file}.rels"
    if relations not in archive.namelist():
        return {}
    entries = xml_of(path, part_of(archive, relations, path)).iterfind("{*}Relationship")
    targets = {entry.get("Id", ""): entry.get("Target", "") for entry in entries}
    return {
        id_: posixpath.normpath(posixpath.join(folder, target)).lstrip("/")
        for id_, target in targets.items()
    }


def _parts_in_order(
    archive: zipfile.ZipFile, path: Path, main: str, tag: str
) -> Iterator[tuple[str, str]]:
    """The names and the parts of sheets or slides, each once."""
    related, taken = _related(archive, path, main), set[str]()
    for entry in _tree(archive, main, path).iterfind(f".//{{*}}{tag}"):
        part = related.get(entry.get(_RELATION, ""), "")
        if part in archive.namelist() and part not in taken and "chartsheets/" not in part:
            taken.add(part)
            yield entry.get("name", ""), part


class _Workbook:
    """Reads the cells of sheets: their shared strings, and which styles are of dates."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive, self.path = archive, path
        strings = self.part("xl/sharedStrings.xml")
        self.strings = [_text_of(entry) for entry in strings.iterfind("{*}si")]
        styles = self.part("xl/styles.xml")
        formats = {
            int(entry.get("numFmtId", "0")): entry.get("formatCode", "")
            for entry in styles.iterfind("{*}numFmts/{*}numFmt")
        }
        used = (int(f.get("numFmtId", "0")) for f in styles.iterfind("{*}cellXfs/{*}xf"))
        self.of_dates = [n in _DATES or bool(_OF_DATES.match(formats.get(n, ""))) for n in used]

    def part(self, name: str) -> Element:
        """A part of the workbook, or an element without any where there is none."""
        exists = name in self.archive.namelist()
        raw = part_of(self.archive, name, self.path, LARGEST_XML) if exists else b"<none/>"
        return xml_of(self.path, raw)

    def rows(self, name: str) -> Iterator[list[str]]:
        """The rows of a sheet, without empty cells at their ends."""
        for row in self.part(name).iterfind("{*}sheetData/{*}row"):
            cells: list[str] = []
            for cell in row.iterfind("{*}c"):
                letters = _COLUMN.match(cell.get("r", ""))
                column = _number_of(letters[0]) if letters else len(cells)
                cells += [""] * (min(column, _MOST_EMPTY) - len(cells))
                cells.append(squeezed(self.value(cell)))
            while cells and not cells[-1]:
                cells.pop()
            yield cells

    def value(self, cell: Element) -> str:
        """What a cell shows; a date as ISO 8601 has it."""
        kind, value, formula = cell.get("t", "n"), cell.findtext("{*}v"), cell.findtext("{*}f")
        if not value:
            inside = "".join(map(_text_of, cell.iterfind("{*}is")))
            return inside or (f"={formula}" if formula else "")
        if kind == "s":
            return self.strings[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        style = int(cell.get("s", "0"))
        if kind == "n" and style < len(self.of_dates) and self.of_dates[style]:
            return _date_of(float(value))
        return value


def _number_of(letters: str) -> int:
    """The number of a column, from 0, by its letters."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _date_of(days: float) -> str:
    """A date of a workbook, which counts days since the end of 1899."""
    if not 0 <= days < 2_958_466:
        return str(days)
    moment = datetime(1899, 12, 30) + timedelta(days=days, microseconds=500)
    if days < 1:
        return moment.time().isoformat("minutes")
    return moment.date().isoformat() if days == int(days) else moment.isoformat(" ", "minutes")


def _text_of(element: Element) -> str:
    """The text of an element; how words of East Asia are pronounced is none of it."""
    inside = (run for run in element if not run.tag.endswith("rPh"))
    return "".join("".join(run.itertext()) for run in inside)


_TITLES = ("title", "ctrTitle")
_APART = ("sldNum", "dt", "ftr", "hdr")


def _add_slide(outline: Outline, slide: Element) -> None:
    """Add what a slide shows: its title as a heading, then the rest in its order."""
    shapes = [*slide.iterfind(".//{*}spTree//{*}sp")]
    kinds = [_placeholder(shape) for shape in shapes]
    for shape, kind in zip(shapes, kinds, strict=True):
        if kind in _TITLES:
            outline.heading(1, squeezed(" ".join(_paragraphs(shape))), 1)
    for shape, kind in zip(shapes, kinds, strict=True):
        if kind in _APART:
            drop("numbers, dates and footers of slides", " ".join(_paragraphs(shape)))
        elif kind not in _TITLES:
            for number, text in enumerate(_paragraphs(shape)):
                outline.prose(text, 1, tight=number > 0)
    for table in slide.iterfind(".//{*}tbl"):
        rows = (row.iterfind("{*}tc") for row in table.iterfind("{*}tr"))
        outline.rows([" ".join(_paragraphs(cell)) for cell in cells] for cells in rows)


def _placeholder(shape: Element) -> str:
    attributes: Mapping[str, str] = getattr(shape.find(".//{*}ph"), "attrib", {})
    return attributes.get("type", "")


def _paragraphs(shape: Element) -> Iterator[str]:
    for paragraph in shape.iterfind(".//{*}p"):
        text = "".join(run.text or "" for run in paragraph.iterfind(".//{*}t"))
        if text.strip():
            yield text.strip()
