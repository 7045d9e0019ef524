"""Workbooks (XLSX): their sheets as rows of cells, and the one sheet that holds a table."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element

from labeler.errors import BadInput
from labeler.exchange.tables import QUERY_TEXT, RATING, Rows, has_column, rows_of_cells
from labeler.files.archives import LARGEST_FILE, Archive, opened
from labeler.files.csv import NumberedCells
from labeler.files.read import read_bytes
from labeler.trec.values import DOCUMENT_ID, GRADE, QUERY_ID, SCORE

_MOST_EMPTY = 64
"""Cells that are empty stand in a row up to this column."""

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATES = frozenset((*range(14, 23), *range(45, 48)))
_OF_DATES = re.compile(r"(?:\[[^\]]*\]|\"[^\"]*\"|\\.|[^\[\"\\ymdhs])*[ymdhs]", re.IGNORECASE)
_COLUMN = re.compile(r"[A-Z]{1,3}")
_CODED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def rows_of_workbook(path: Path) -> Rows:
    """The rows of the only sheet with any, or of the only one whose first row names columns.

    `BadInput` names the sheets where there are several, or none.
    """
    with opened(path, read_bytes(path, LARGEST_FILE)) as archive:
        reader = Workbook(archive)
        parts = parts_in_order(archive, "xl/workbook.xml", "sheet")
        sheets = {name: [row for row in reader.rows(part) if row[1]] for name, part in parts}
    filled = {name: rows for name, rows in sheets.items() if rows}
    usual = (QUERY_ID, QUERY_TEXT, DOCUMENT_ID, GRADE, RATING, SCORE)
    tables = {name: rows for name, rows in filled.items() if has_column(rows[0][1], *usual)}
    several = tables if len(filled) > 1 and tables else filled
    if len(several) != 1:
        raise BadInput(
            f"{path}: {len(several)} sheets hold rows ({', '.join(several) or 'none'}); keep the "
            "one to read, or save it as CSV"
        )
    ((name, rows),) = several.items()
    return rows_of_cells(path, f"the sheet {name!r} of a workbook", rows)


def related(archive: Archive, name: str) -> dict[str, str]:
    """The parts that one part refers to, by the ids of the relations."""
    folder, file = posixpath.split(name)
    relations = f"{folder}/_rels/{file}.rels"
    return {
        entry.get("Id", ""): posixpath.normpath(
            posixpath.join(folder, entry.get("Target", ""))
        ).lstrip("/")
        for entry in archive.optional(relations).iterfind("{*}Relationship")
    }


def parts_in_order(archive: Archive, main: str, tag: str) -> Iterator[tuple[str, str]]:
    """The names and the parts of sheets or slides, each once."""
    parts = related(archive, main)
    taken = set()
    for entry in archive.tree(main).iterfind(f".//{{*}}{tag}"):
        part = parts.get(entry.get(_RELATION, ""), "")
        if part in archive.names and part not in taken and "chartsheets/" not in part:
            taken.add(part)
            yield entry.get("name", ""), part


class Workbook:
    """Reads the cells of sheets: their shared strings, and which styles are of dates."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        strings = archive.optional("xl/sharedStrings.xml")
        self.strings = [_text_of(entry) for entry in strings.iterfind("{*}si")]
        styles = archive.optional("xl/styles.xml")
        formats = {
            int(entry.get("numFmtId", "0")): entry.get("formatCode", "")
            for entry in styles.iterfind("{*}numFmts/{*}numFmt")
        }
        used = (int(f.get("numFmtId", "0")) for f in styles.iterfind("{*}cellXfs/{*}xf"))
        self.of_dates = [n in _DATES or bool(_OF_DATES.match(formats.get(n, ""))) for n in used]

    def rows(self, name: str) -> Iterator[NumberedCells]:
        """The rows of a sheet with their numbers, without empty cells at their ends."""
        number = 0
        for row in self.archive.tree(name).iterfind("{*}sheetData/{*}row"):
            number = int(row.get("r", number + 1))
            cells: list[str] = []
            for cell in row.iterfind("{*}c"):
                letters = _COLUMN.match(cell.get("r", ""))
                column = _number_of(letters[0]) if letters else len(cells)
                cells += [""] * (min(column, _MOST_EMPTY) - len(cells))
                cells.append(self.value(cell))
            while cells and not cells[-1].strip():
                cells.pop()
            yield number, cells

    def value(self, cell: Element) -> str:
        """What a cell shows; a date as ISO 8601 has it."""
        if not len(cell):  # as a million of them are, where somebody colored a column
            return ""
        kind = cell.get("t", "n")
        value = cell.findtext("{*}v")
        formula = cell.findtext("{*}f")
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
    text = "".join("".join(run.itertext()) for run in inside)
    return _CODED.sub(lambda code: chr(int(code[1], 16)), text)
