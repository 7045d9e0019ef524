"""Workbooks (XLSX) and slides (PPTX), from the XML in their archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from labeler.corpus.losses import drop
from labeler.corpus.readers.outline import Extracted, Outline, finished, squeezed
from labeler.exchange.workbooks import Workbook, parts_in_order, related
from labeler.files.archives import Archive, opened


def read_xlsx(path: Path, raw: bytes) -> Extracted:
    """The sheets of a workbook as headings, their rows as rows of a table, formulas by value."""
    outline = Outline()
    with opened(path, raw) as archive:
        reader = Workbook(archive)
        for name, sheet in parts_in_order(archive, "xl/workbook.xml", "sheet"):
            outline.heading(1, name, 1)
            outline.rows([squeezed(cell) for cell in row] for _, row in reader.rows(sheet))
        _drop_parts(archive, "xl/(?:comment|drawing|chart)", "comments and drawings")
        title = _title(archive)
    return finished(path, title, outline)


def read_pptx(path: Path, raw: bytes) -> Extracted:
    """The slides under their titles: paragraphs, rows of tables, and what the speaker notes."""
    outline = Outline()
    with opened(path, raw) as archive:
        for _, name in parts_in_order(archive, "ppt/presentation.xml", "sldId"):
            _add_slide(outline, archive.tree(name))
            for notes in related(archive, name).values():
                if "notesSlides/" in notes:
                    _add_slide(outline.nested(), archive.tree(notes))
        _drop_parts(archive, "ppt/(?:comment|chart|diagrams/data)", "comments and charts")
        title = _title(archive)
    return finished(path, title, outline)


def _title(archive: Archive) -> str:
    name = "docProps/core.xml"
    title = archive.tree(name).findtext(".//{*}title") if name in archive.names else ""
    return title or ""


def _drop_parts(archive: Archive, pattern: str, rule: str) -> None:
    """Note the texts of parts that are not read."""
    for name in archive.names:
        if re.match(pattern, name) and name.endswith(".xml"):
            drop(rule, " ".join(archive.tree(name).itertext()))


_TITLES = ("title", "ctrTitle")
_APART = ("sldNum", "dt", "ftr", "hdr")


def _add_slide(outline: Outline, slide: Element) -> None:
    """Add what a slide shows: its title as a heading, then the rest in its order."""
    shapes = [*slide.iterfind(".//{*}spTree//{*}sp")]
    marks = (shape.find(".//{*}ph") for shape in shapes)
    kinds = ["" if mark is None else mark.get("type", "") for mark in marks]
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


def _paragraphs(shape: Element) -> Iterator[str]:
    for paragraph in shape.iterfind(".//{*}p"):
        text = "".join(run.text or "" for run in paragraph.iterfind(".//{*}t"))
        if text.strip():
            yield text.strip()
