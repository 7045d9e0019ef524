"""A sheet that people grade in: CSV that a spreadsheet opens without harm, and reads back.

The sheet is blind: it holds no assessor's grade and no probability, which would tell the grade.
Ids that a spreadsheet would take for a number or a date, as `007`, `1e5` and `1-2`, carry an
apostrophe in front; all others stand as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from labeler.collection.layout import is_name
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.files.boundary import reading
from labeler.files.read import file_problems
from labeler.report.neutral import spreadsheet_cell, spreadsheet_passage

Warn = Callable[[str], None]

COLUMNS = ("sample", "row", "query_id", "query", "doc_id", "title", "text")
FILLED = ("assessor", "time", "comment")
GRADE, SCALE = "grade", "scale"
LONGEST = 30_000
"""Spreadsheets cut a cell at 32,767 characters."""

_PLAIN = re.compile(r"0|[1-9][0-9]{0,10}")
"""Numbers that stay as they are."""

_MARKS = frozenset("0123456789 .,:/+-%$€£()")
_OF_NUMBERS = ("e", "a", "p", "am", "pm")
_MONTHS = tuple("jan feb mar mär apr may mai jun jul aug sep oct okt nov dec dez".split())  # noqa: SIM905 - read as words, not quotes

_ROW = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,10}(\.0+)?")
_GRADE_WITH_SCALE = re.compile(r"grade( \(-?[0-9]+( = .*|;.*)?\))?", re.DOTALL)
_ALIKE = 0.75
"""How alike two names are of which one is probably the other, misspelt."""


@dataclass(frozen=True)
class SheetRow:
    """One pair of a sheet, with the texts that a person reads, and what identifies them."""

    number: int
    query_id: str
    query: str
    doc_id: str
    title: str
    text: str
    texts: str = ""


@dataclass(frozen=True)
class SheetAnswer:
    """What a person wrote in one row of a sheet; `grade` is `None` where they skipped it."""

    line: int
    sample: str
    number: int
    query_id: str
    doc_id: str
    grade: int | None
    assessor: str
    time: str
    comment: str


def write_sheet(
    path: Path, sample: str, rows: Iterable[SheetRow], scale: Mapping[int, str]
) -> None:
    """Write a sheet to grade in, which says in each row what the grades mean."""
    names = {grade: harmless(name) for grade, name in sorted(scale.items())}
    meanings = "; ".join(
        f"{grade} = {name}" if name else str(grade) for grade, name in names.items()
    )
    header = [*COLUMNS, GRADE, SCALE, *FILLED]
    with replacing(path) as out:
        out.write("\ufeff")
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(header)
        for row in rows:
            ids = id_cell(row.query_id), id_cell(row.doc_id)
            texts = [harmless(text) for text in (row.query, row.title, row.text)]
            cells = [sample, str(row.number), ids[0], texts[0], ids[1], *texts[1:]]
            writer.writerow([*cells, "", harmless(meanings), *[""] * len(FILLED)])


def id_cell(identifier: str) -> str:
    """The cell of an id, which no spreadsheet takes for another number, a date or a formula."""
    return spreadsheet_cell(f"'{identifier}" if _is_changed(identifier) else identifier)


def _is_changed(identifier: str) -> bool:
    """Whether a spreadsheet may take an id for a number, a date, a time or a truth value."""
    if _PLAIN.fullmatch(identifier):
        return False
    letters = "".join(sign for sign in identifier if sign not in _MARKS).casefold()
    is_date = letters.isalpha() and letters.startswith(_MONTHS) and letters != identifier.casefold()
    is_number = not letters or (letters in _OF_NUMBERS and identifier[0] in _MARKS)
    return is_number or is_date or letters in ("true", "false") or identifier.startswith("'")


def id_in(cell: str, identifier: str) -> bool:
    """Whether a cell, less an apostrophe in front of it, holds an id as some sheet writes it."""
    forms = (identifier, id_cell(identifier), spreadsheet_cell(f"'{identifier}"))
    return cell in {form.removeprefix("'") for form in forms}


def harmless(text: str) -> str:
    """A text that no spreadsheet runs as a formula, cut where its cell would be."""
    clean = spreadsheet_passage(text)
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"


def read_sheet(path: Path, warn: Warn = lambda _message: None) -> list[SheetAnswer]:
    """Read what people wrote in a sheet; a spreadsheet may have saved it with another separator.

    `warn` is told of a column that is passed over and may be a misspelt one of ours.
    """
    with file_problems(path), reading(path) as position:
        text = path.read_bytes().decode("utf-8-sig")
        if not text.strip():
            raise position.error("not a sheet, but empty; save it as CSV (UTF-8)")
        separator = _separator(text.split("\n", 1)[0])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(reader.line_num, row) for row in _rows(path, reader) if any(row)]
        if not rows:
            raise position.error("no row in it; is this a sheet of ours?")
        positions = _positions(path, rows[0][1], warn)
        return [_answer(path, line, row, positions) for line, row in position.follow(rows[1:])]


def _rows(path: Path, reader: Any) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise BadInput.at(path, reader.line_num, f"not CSV: {error}") from error


def _separator(header: str) -> str:
    """The separator that yields most of our columns; the scale in the header holds `;` as well."""

    def ours(separator: str) -> int:
        return len({_role(name.strip('"')) for name in header.split(separator)} & set(COLUMNS))

    return max(",;\t", key=ours)


def _role(header: str) -> str:
    """What a column is for, by the whole of its name: letter case and blanks around it aside.

    The column of grades may have the scale behind its name, as we write it.
    """
    name = header.strip().casefold()
    return GRADE if _GRADE_WITH_SCALE.fullmatch(name) else name


def _positions(path: Path, header: Sequence[str], warn: Warn) -> dict[str, int]:
    """Each column's position; `BadInput` where one that a row needs is missing, or stands twice."""
    roles = [_role(name) for name in header]
    for role in (*COLUMNS, GRADE, *FILLED):
        if roles.count(role) > 1:
            both = [f"{name!r}" for name, its in zip(header, roles, strict=True) if its == role]
            problem = f"{' and '.join(both)} are both the column {role}; rename or remove one"
            raise BadInput.at(path, 1, problem)
    missing = [name for name in (*COLUMNS[:3], "doc_id", GRADE) if name not in roles]
    guesses = [f"{name!r} ({guess}?)" for name, guess in _misspelt(header, roles)]
    if missing:
        hint = f"; there is {', '.join(guesses)}" if guesses else "; is this a sheet of ours?"
        raise BadInput.at(path, 1, f"no column {', '.join(missing)}{hint}")
    for guess in guesses:
        warn(f"{path}:1: the column {guess} is not read")
    return {role: position for position, role in enumerate(roles)}


def _misspelt(header: Sequence[str], roles: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns that are none of ours and look like one, each with the one it looks like."""
    ours = (*COLUMNS, GRADE, SCALE, *FILLED)
    for name, role in zip(header, roles, strict=True):
        if role not in ours and (guesses := get_close_matches(role, ours, 1, _ALIKE)):
            yield name.strip(), guesses[0]


def _answer(path: Path, line: int, row: Sequence[str], positions: Mapping[str, int]) -> SheetAnswer:
    def cell(name: str) -> str:
        position = positions.get(name, len(row))
        return row[position].strip() if position < len(row) else ""

    if not _ROW.fullmatch(cell("row")):
        raise BadInput.at(path, line, f"expected the row's number, found {cell('row')[:20]!r}")
    if not is_name(cell("sample")):
        raise BadInput.at(path, line, f"expected a sample's name, found {cell('sample')[:40]!r}")
    written = cell(GRADE)
    if written and not _NUMBER.fullmatch(written):
        problem = f"expected a grade or an empty cell, found {written[:20]!r}"
        raise BadInput.at(path, line, problem)
    return SheetAnswer(
        line,
        cell("sample"),
        int(cell("row")),
        cell("query_id").removeprefix("'"),
        cell("doc_id").removeprefix("'"),
        int(float(written)) if written else None,
        cell("assessor"),
        cell("time"),
        cell("comment"),
    )
