"""DOCX: headings, paragraphs, lists and tables of a word processor's document."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.corpus.losses import drop
from labeler.corpus.readers.outline import Extracted, Lines, Outline, extracted, squeezed
from labeler.files.archives import LARGEST_FILE, LARGEST_XML, opened, xml_of
from labeler.files.boundary import needing
from labeler.messages import missing_extra

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

_HEADING = re.compile(r"(?i)heading (\d)")
_CODE = re.compile(r"(?i)code|source|preformatted|listing|verbatim")
_MAIN = "word/document.xml"
_UNREAD = re.compile(r"word/(header|footer|footnote|endnote|comment)s?\d*\.xml")


def read_docx(path: Path, raw: bytes) -> Extracted:
    """The title that the document's properties or its style `Title` say, and its text."""
    with needing(missing_extra("docx", "DOCX files need")):
        import docx
    with opened(path, raw) as archive:
        for name in (part for part in archive.names if part.endswith((".xml", ".rels"))):
            content = archive.part(name, LARGEST_XML if name == _MAIN else LARGEST_FILE)
            unread = _UNREAD.fullmatch(name)
            if name == _MAIN or unread or b"<!" in content:
                root = xml_of(path, content)
                if unread:
                    drop(f"{unread[1]}s of its pages", "".join(root.itertext()))
                for box in root.iterfind(".//{*}txbxContent") if name == _MAIN else ():
                    drop("boxes of text", "".join(box.itertext()))
    document = docx.Document(BytesIO(raw))
    body = _Body()
    for part in document.iter_inner_content():
        body.add(part)
    body.close_code()
    own = body.title or (document.core_properties.title or "").strip()
    return extracted(own, body.outline.blocks)


class _Body:
    """Takes the parts of a document's body in their order."""

    def __init__(self) -> None:
        self.outline, self.title = Outline(), ""
        self.styles: dict[str | None, str] = {}
        self.code_lines: Lines = []
        self.follows_item = False

    def add(self, part: Paragraph | Table) -> None:
        """Add a paragraph or a table."""
        from docx.table import Table

        if isinstance(part, Table):
            self.close_code()
            self.table(part)
            return
        id_, text = part._p.style, part.text
        if id_ not in self.styles:  # python-docx looks for the name of one among all of them
            self.styles[id_] = str(part.style.name or "") if part.style is not None else ""
        style = self.styles[id_]
        if _CODE.search(style):
            self.code_lines += enumerate(text.split("\n"), 1)
            return
        self.close_code()
        self.paragraph(squeezed(text), style, _list_level(part, style))

    def paragraph(self, text: str, style: str, level: int | None) -> None:
        """Add a heading, an item of a list or a paragraph."""
        heading = _HEADING.match(style)
        if not text:
            return
        if style == "Title" and not self.title:
            self.title = text
        elif heading:
            self.outline.heading(int(heading[1]), text, 1)
        elif level is not None:
            self.outline.prose(f"{'  ' * level}- {text}", 1, tight=self.follows_item)
        else:
            self.outline.prose(text, 1)
        self.follows_item = level is not None and not heading

    def table(self, table: Table) -> None:
        """Add a table, a block a row; a cell that spans columns is read once."""
        rows = ({id(cell._tc): cell for cell in row.cells}.values() for row in table.rows)
        self.outline.rows([squeezed(cell.text) for cell in cells] for cells in rows)

    def close_code(self) -> None:
        """Add the lines of code that stand one below the other as one block."""
        if self.code_lines:
            self.outline.code(self.code_lines)
            self.code_lines = []


def _list_level(paragraph: Paragraph, style: str) -> int | None:
    """How deep an item of a list lies, from 0; `None` of what is no item."""
    properties: Any = paragraph._p.pPr
    numbering = properties.numPr if properties is not None else None
    if numbering is not None and numbering.ilvl is not None:
        return min(int(numbering.ilvl.val), 8)
    match = re.match(r"List (?:Bullet|Number|Paragraph)(?: (\d))?", style)
    return int(match[1] or 1) - 1 if match else None
