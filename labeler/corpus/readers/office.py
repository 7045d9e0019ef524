"""Workbooks (XLSX), slides (PPTX) and DOCX, from the XML in their archives."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from labeler.corpus.losses import drop
from labeler.corpus.readers.outline import Extracted, Lines, Outline, finished
from labeler.exchange.workbooks import Workbook, parts_in_order, related
from labeler.files.archives import Archive, opened
from labeler.messages import squeezed


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
            _add_slide(outline, _tree(archive, name))
            for notes in related(archive, name).values():
                if "notesSlides/" in notes:
                    _add_slide(outline.nested(), _tree(archive, notes))
        _drop_parts(archive, "ppt/(?:comment|chart|diagrams/data)", "comments and charts")
        title = _title(archive)
    return finished(path, title, outline)


def _title(archive: Archive) -> str:
    return archive.optional("docProps/core.xml").findtext(".//{*}title") or ""


def _drop_parts(archive: Archive, pattern: str, rule: str) -> None:
    """Note the texts of parts that are not read."""
    for name in archive.names:
        if re.match(pattern, name) and name.endswith(".xml"):
            drop(rule, " ".join(archive.tree(name).itertext()))


_TITLES = ("title", "ctrTitle")
_APART = ("sldNum", "dt", "ftr", "hdr")
_SHAPES = ("sp", "graphicFrame")


def _add_slide(outline: Outline, slide: Element) -> None:
    """Add what a slide shows: its title as a heading, then the rest in its order."""
    shapes = list(_topmost(slide, _SHAPES))
    marks = (shape.find(".//ph") for shape in shapes)
    kinds = ["" if mark is None else mark.get("type", "") for mark in marks]
    rest = _Document(outline=outline)
    for kind, shape in sorted(zip(kinds, shapes, strict=True), key=lambda e: e[0] not in _TITLES):
        if kind in _TITLES:
            outline.heading(1, _words_of_all(shape), 1)
        elif kind in _APART:
            drop("numbers, dates and footers of slides", _words_of_all(shape))
        else:
            rest.add(shape)


# The paragraphs, items of lists and tables of slides and of a word processor's documents (DOCX).

_HEADING = re.compile(r"(?i)heading (\d)")
_CODE = re.compile(r"(?i)code|source|preformatted|listing|verbatim")
_LIST = re.compile(r"List (?:Bullet|Number|Paragraph)(?: (\d))?")
_UNSHOWN = ("Fallback", "moveFrom", "del", "pPr", "rPr")
"""Elements that say again what others do, that an edit took away, or that hold no words."""

_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_docx(path: Path, raw: bytes) -> Extracted:
    """A document under the title in its style `Title` or its properties, with notes and boxes."""
    with opened(path, raw) as archive:
        body = _part(archive, "document")
        styles = {e.get("styleId", ""): _value(e, "name") for e in _part(archive, "styles")}
        notes = [*_part(archive, "footnotes"), *_part(archive, "endnotes")]
        reader = _Document(styles, {(note.tag, note.get("id")): note for note in notes})
        reader.add(body)
        reader.close_code()
        _drop_parts(archive, "word/(?:header|footer)", "headers and footers of pages")
        _drop_parts(archive, "word/comment", "comments")
        title = reader.title or _title(archive)
    return finished(path, title, reader.outline)


def _part(archive: Archive, stem: str) -> Element:
    """A part by its name, without a number; one that is absent has no elements."""
    names = filter(re.compile(rf"word/{stem}\d*\.xml").fullmatch, archive.names)
    name = next(names, "word/document.xml" if stem == "document" else "")
    return _tree(archive, name) if name else Element("none")


def _tree(archive: Archive, name: str) -> Element:
    """A part without namespaces, which the two standards of such files have of their own."""
    root = archive.tree(name)
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
        each.attrib = {key.rpartition("}")[2]: value for key, value in each.attrib.items()}
    return root


def _walk(element: Element, last: Container[str]) -> Iterator[Element]:
    """What a reader sees below an element; nothing below those that are the `last`."""
    stack = list(reversed(element))
    while stack:
        inner = stack.pop()
        if inner.tag not in _UNSHOWN:
            yield inner
            if inner.tag not in last:
                stack += reversed(inner)


def _topmost(element: Element, tags: Container[str]) -> Iterator[Element]:
    """Those of these elements that a reader sees below another one, outermost ones alone."""
    return (each for each in _walk(element, tags) if each.tag in tags)


def _value(element: Element, path: str) -> str:
    """The attribute `val` of an element below another one; empty where there is none."""
    inner = element.find(path)
    return "" if inner is None else inner.get("val", "")


def _words(paragraph: Element) -> str:
    """The words of a paragraph, without those of boxes in it."""
    return "".join(
        (inner.text or "")
        if inner.tag == "t"
        else f"[{inner.get('id')}]"
        if inner.tag.endswith("noteReference")
        else _BREAKS.get(inner.tag, "")
        for inner in _walk(paragraph, ("txbxContent",))
    )


def _words_of_all(element: Element) -> str:
    """The words of a cell or a note, with those of tables in it."""
    return squeezed(" ".join(map(_words, _topmost(element, ("p",)))))


@dataclass
class _Document:
    """Takes the parts of a document in their order.

    `styles` are names by ids, `notes` those that no word has led to yet.
    """

    styles: Mapping[str, str] = field(default_factory=dict)
    notes: dict[tuple[str, str | None], Element] = field(default_factory=dict)
    outline: Outline = field(default_factory=Outline)
    title: str = ""
    follows_item: bool = False
    code_lines: Lines = field(default_factory=list)

    def add(self, element: Element) -> None:
        """Add the paragraphs and tables below an element."""
        for inner in _topmost(element, ("p", "tbl")):
            if inner.tag == "p":
                self.add_paragraph(inner)
            else:
                self.close_code()
                rows = _topmost(inner, ("tr",))
                self.outline.rows(list(map(_words_of_all, _topmost(row, ("tc",)))) for row in rows)

    def add_paragraph(self, paragraph: Element) -> None:
        """Add a heading, an item, a line of code or a paragraph, and what belongs to it."""
        text = _words(paragraph)
        id_ = _value(paragraph, "pPr/pStyle")
        style = self.styles.get(id_, id_)
        if _CODE.search(style):
            self.code_lines += enumerate(text.split("\n"), 1)
        else:
            self.close_code()
            level = _value(paragraph, "pPr/numPr/ilvl")
            named = _LIST.match(style)
            depth = int(level) if level else int(named[1] or 1) - 1 if named else None
            self.add_prose(squeezed(text), style, depth)
        for inner in _walk(paragraph, ("txbxContent",)):
            note = self.notes.pop((inner.tag.removesuffix("Reference"), inner.get("id")), None)
            if inner.tag == "txbxContent":
                self.add(inner)
            elif note is not None:
                self.outline.prose(f"[{inner.get('id')}] {_words_of_all(note)}", 1)

    def add_prose(self, text: str, style: str, depth: int | None) -> None:
        """Add a heading, an item of a list that lies so deep, or a paragraph."""
        heading = _HEADING.match(style)
        if not text:
            return
        if style == "Title" and not self.title:
            self.title = text
        elif heading:
            self.outline.heading(int(heading[1]), text, 1)
        else:
            mark = "" if depth is None else f"{'  ' * min(depth, 8)}- "
            self.outline.prose(mark + text, 1, tight=bool(mark) and self.follows_item)
        self.follows_item = depth is not None and not heading

    def close_code(self) -> None:
        """Add the lines of code that stand one below the other as one block."""
        self.outline.code(self.code_lines)
        self.code_lines = []
