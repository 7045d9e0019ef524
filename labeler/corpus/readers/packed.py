"""The parts of a document that is a ZIP archive of XML, none larger than a document may be."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from labeler.errors import BadInput, TooLarge
from labeler.files.read import in_megabytes

_MOST_PARTS = 20_000
_TIMES = 4
"""All parts together, pictures among them, may have so many times what a document may."""

_ENTITY = re.compile(rb"<!\s*(?:ENTITY|ELEMENT|ATTLIST)", re.IGNORECASE)
_OLE = b"\xd0\xcf\x11\xe0"


@contextmanager
def opened(path: Path, raw: bytes, most: int) -> Iterator[zipfile.ZipFile]:
    """The archive, whose parts say that they are not too large; none unpacks to more than it says.

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
        texts = (part for part in parts if part.filename.endswith((".xml", ".rels")))
        largest = max((part.file_size for part in texts), default=0)
        if largest > most or sum(part.file_size for part in parts) > _TIMES * most:
            raise TooLarge(f"{path}: unpacks to more than the {in_megabytes(most)} of a document")
        if any(part.flag_bits & 1 for part in parts):
            raise BadInput(f"{path}: encrypted; save it without a password first")
        yield archive


def part_of(archive: zipfile.ZipFile, name: str, path: Path, most: int) -> bytes:
    """The bytes of one part; `BadInput` where there is none of this name."""
    try:
        part = archive.getinfo(name)
    except KeyError as error:
        raise BadInput(f"{path}: damaged: nothing is called {name!r:.80} in it") from error
    if part.file_size > most:
        raise TooLarge(f"{path}: {name!r:.80} has more than the {in_megabytes(most)} of a document")
    return archive.read(part)


def xml_of(path: Path, raw: bytes) -> ElementTree.Element:
    """The root of an XML part, which may define no entities."""
    if _ENTITY.search(raw):
        raise BadInput(f"{path}: defines entities of XML, which no such document needs")
    return ElementTree.fromstring(raw)
