"""What a file holds, told by its first bytes and never by its name."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from labeler.errors import BadInput
from labeler.files.read import byte_chunks, refuse_other_encodings

PARQUET = "Parquet"
JSON = "JSON"
JSON_LINES = "JSON Lines"
XML = "XML"
ARROW = "Arrow"
ARROW_MAGIC = (b"ARROW1", b"\xff\xff\xff\xff")
WORKBOOK, SGML = "a workbook", "TREC's documents"
TREC, TEXT = "TREC's columns", "text"
LINES = (".jsonl", ".ndjson")
"""How files of JSON Lines are called."""
HEAD = 1 << 16
_SGML = re.compile(rb"\s*<DOC>\s*<DOCNO>", re.IGNORECASE)
SOLR = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<response>")
"""How an answer of Solr's in XML begins, which is one value as JSON is."""

_QRELS_COLUMNS, _RUN_COLUMNS = 4, 6
_MARK = b"\xef\xbb\xbf"
AS_DOCUMENT = "a document, which is taken in by: labeler corpus ingest {name} -o COLL"
_PACKED = {
    b"\x28\xb5\x2f\xfd": "packed with Zstandard; unpack it first: zstd -d '{name}'",
    b"PK\x03\x04": "a ZIP file or a workbook (take an archive in by import, save a sheet as CSV), "
    f"or {AS_DOCUMENT}",
    b"\xd0\xcf\x11\xe0": "a workbook (.xls); save the sheet as CSV",
    b"SQLite format 3": "an SQLite database; export its table as CSV",
    b"%PDF-": f"a PDF; {AS_DOCUMENT}",
}


def ending_of(path: Path) -> str:
    """The ending of a file's name in lower case, as `.csv`; of `a.csv.gz`, too."""
    return Path(path.name.casefold().removesuffix(".gz")).suffix


def is_of_lines(path: Path) -> bool:
    """Whether a file is called as those of JSON Lines are."""
    return ending_of(path) in LINES


def head_of(path: Path) -> bytes:
    """The first bytes of a file, unpacked, without a byte-order mark."""
    return next(byte_chunks(path, HEAD), b"").removeprefix(_MARK)


def is_cbor(path: Path, head: bytes) -> bool:
    """Whether a file is an object in CBOR, which ranx packs by LZ4."""
    return path.suffix.casefold() in (".lz4", ".cbor") and 0xA0 <= (head[:1] or b"\0")[0] <= 0xBF


def shape_of(path: Path, head: bytes) -> str:
    """One of the shapes above; `BadInput` names what no reader takes.

    JSON that ends within its line, with more lines after it, is JSON Lines.
    """
    if _is_trec(head):
        return TREC
    if shape := _of_bytes(path, head):
        return shape
    refuse_other_encodings(path, head)
    text = head.lstrip()
    if text.startswith((b"POST ", b"PUT ")):
        raise BadInput(
            f"{path}: a request with the line of its address; this removes it: sed '/^P[OU]S*T /d' "
            f"'{path.name}'"
        )
    if text[:1] == b"<":
        if _SGML.match(text):
            return SGML
        return JSON if SOLR.match(text) else XML
    if text[:1] == b"{" or text[:1] == b"[":
        return JSON_LINES if _is_one_a_line(path, text) else JSON
    return TEXT


def _of_bytes(path: Path, head: bytes) -> str:
    """The shape of a file that is no text; empty of a text."""
    if head.startswith(b"PK\x03\x04") and _is_workbook(path):
        return WORKBOOK
    for magic, words in _PACKED.items():
        if head.startswith(magic):
            raise BadInput(f"{path}: {words.format(name=path.name)}")
    if head[257:262] == b"ustar":
        raise BadInput(f"{path}: a TAR archive; unpack it, and take the folder: tar xf {path.name}")
    if is_cbor(path, head):
        return JSON
    return PARQUET if head.startswith(b"PAR1") else ARROW if head.startswith(ARROW_MAGIC) else ""


def _is_workbook(path: Path) -> bool:
    """Whether an archive holds what a workbook of Office Open XML does."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def _is_trec(head: bytes) -> bool:
    """Whether the first line is one of qrels or of a run, whatever its ids begin with."""
    line = head.lstrip().partition(b"\n")[0]
    columns = line.split()
    if any(len(cell.split()) > 1 for cell in line.split(b"\t")[1:]):
        return False  # a table with texts in it
    if len(columns) == _QRELS_COLUMNS:
        return columns[3].lstrip(b"+-").isdigit()
    return len(columns) == _RUN_COLUMNS and columns[3].isdigit() and columns[1] == b"Q0"


def _is_one_a_line(path: Path, text: bytes) -> bool:
    """Whether a JSON value ends within the first line, and something follows below it.

    Of a first line that goes on beyond what was read here, its name says that it may.
    """
    first, end, rest = text.partition(b"\n")
    if not end and len(text) > HEAD // 2:
        return text[:1] == b"{" and is_of_lines(path)
    if not rest.strip() or text[:1] != b"{":
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True
