"""Documents that are ZIP archives of XML: their parts, none too large; and workbooks written."""

from __future__ import annotations

import html
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from labeler.errors import BadInput, Misuse, TooLarge
from labeler.files.read import in_megabytes

LARGEST_FILE = 1 << 26
"""The most bytes of a file that is one document, and of a text taken out of one: 64 MB."""

LARGEST_XML = LARGEST_FILE // 8
"""The same of a part whose XML is held as a tree, which takes some eight times its size."""

_MOST_PARTS = 20_000
_TIMES = 4
"""All parts together, with pictures, may have this many times the bytes of a document."""

_SMALL, _MOST_PACKED = 20_000, 250
"""A part above `_SMALL` bytes may unpack to at most `_MOST_PACKED` times its packed size."""

_ENTITY = re.compile(rb"<!\s*(?:ENTITY|ELEMENT|ATTLIST)", re.IGNORECASE)
_OLE = b"\xd0\xcf\x11\xe0"


def refuse_long(path: Path, size: int) -> None:
    """`TooLarge` where a text that is taken out of a file has more bytes than a document may."""
    if size > LARGEST_FILE:
        raise TooLarge(f"{path}: more text than the {in_megabytes(LARGEST_FILE)} of a document")


@dataclass(frozen=True, slots=True)
class Archive:
    """The parts of a document, of which none unpacks to more than it says."""

    path: Path
    file: zipfile.ZipFile

    @property
    def names(self) -> list[str]:
        """The names of all parts."""
        return self.file.namelist()

    def part(self, name: str, most: int = LARGEST_FILE) -> bytes:
        """The bytes of one part; `BadInput` where there is none of this name."""
        try:
            part = self.file.getinfo(name)
        except KeyError as error:
            raise BadInput(f"{self.path}: damaged: nothing is called {name!r:.80} in it") from error
        where = f"{self.path}: {name!r:.80}"
        times = part.file_size // max(1, part.compress_size)
        if part.file_size > most:
            raise TooLarge(f"{where} has more than the {in_megabytes(most)} of a document")
        if part.file_size > _SMALL and times >= _MOST_PACKED:
            raise TooLarge(f"{where} unpacks to {times:,} times its size, as no text does")
        return self.file.read(part)

    def tree(self, name: str) -> ElementTree.Element:
        """The XML of one part."""
        return xml_of(self.path, self.part(name, LARGEST_XML))

    def optional(self, name: str) -> ElementTree.Element:
        """The XML of a part, or an element without any where there is none of this name."""
        return self.tree(name) if name in self.names else ElementTree.Element("none")


@contextmanager
def opened(path: Path, raw: bytes) -> Iterator[Archive]:
    """The archive in a file's bytes, whose parts say that they are not too large.

    `BadInput` says where it is no archive, or encrypted.
    """
    if raw.startswith(_OLE):
        raise BadInput(f"{path}: encrypted, or of an old format; save it anew without a password")
    try:
        archive = zipfile.ZipFile(BytesIO(raw))
    except zipfile.BadZipFile as error:
        raise BadInput(f"{path}: damaged, or no ZIP archive ({error})") from error
    with archive:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS:
            raise TooLarge(f"{path}: more than {_MOST_PARTS:,} parts")
        total = sum(part.file_size for part in parts)
        bound = in_megabytes(LARGEST_FILE)
        if total > _TIMES * LARGEST_FILE:
            raise TooLarge(f"{path}: unpacks to more than the {bound} of a document")
        if any(part.flag_bits & 1 for part in parts):
            raise BadInput(f"{path}: encrypted; save it without a password first")
        yield Archive(path, archive)


def xml_of(path: Path, raw: bytes) -> ElementTree.Element:
    """The root of an XML part, which may define no entities."""
    if _ENTITY.search(raw):
        raise BadInput(f"{path}: defines entities of XML, which no such document needs")
    return ElementTree.fromstring(raw)


# A workbook of one sheet, as Office Open XML has it (ECMA-376), its texts where its cells are.

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OF_SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATED = f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}/'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Default Extension="xml" ContentType="{_OF_SHEETS}.worksheet+xml"/><Override '
    f'PartName="/xl/workbook.xml" ContentType="{_OF_SHEETS}.sheet.main+xml"/></Types>',
    "_rels/.rels": f'{_RELATED}officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet '
    'name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_RELATED}worksheet" Target="sheet1.xml"/></Relationships>',
}
_MOST_ROWS = 1 << 20
_NO_XML = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""What a workbook writes as `_x001F_`, and the letter that begins what looks like that."""


def write_workbook(out: IO[bytes], rows: Iterable[Sequence[object]]) -> int:
    """Write rows as a workbook of one sheet; how many there are. Numbers stay numbers.

    `Misuse` of more rows than a sheet may have.
    """
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in _PARTS.items():
            archive.writestr(name, part)
        with archive.open("xl/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            for count, row in enumerate(rows, start=1):
                if count > _MOST_ROWS:
                    raise Misuse(f"a sheet has {_MOST_ROWS:,} rows at most; write CSV or Parquet")
                sheet.write(f"<row>{''.join(map(_cell, row))}</row>".encode())
            sheet.write(b"</sheetData></worksheet>")
    return count


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"<c><v>{value}</v></c>"
    coded = _NO_XML.sub(lambda letter: f"_x{ord(letter[0]):04X}_", str(value))
    text = html.escape(coded, quote=False)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
