"""A sheet that people grade in: CSV that a spreadsheet opens without harm, and reads back.

The sheet is blind: it holds no assessor's grade and no probability, which would tell the grade.
Ids that a spreadsheet would take for a number or a date, as `007`, `1e5` and `1-2`, carry an
apostrophe in front; all others stand as they are.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import origin_of
from labeler.collection.layout import Collection, is_name
from labeler.collection.user_files import Output
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, BadRow, LabelerError
from labeler.files.atomic import is_special, replacing
from labeler.files.boundary import reading
from labeler.files.read import file_problems
from labeler.messages import Note
from labeler.prompt import Prompt, find_prompt, prompt_files
from labeler.report.neutral import markdown_text, spreadsheet_cell, spreadsheet_passage

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


class SheetRow(NamedTuple):
    """One pair of a sheet, with the texts that a person reads."""

    number: int
    query: Query
    document: Document

    @property
    def pair(self) -> Pair:
        """The ids of both."""
        return Pair(self.query.id, self.document.id)


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
    names = [(grade, harmless(name)) for grade, name in sorted(scale.items())]
    meanings = "; ".join(f"{grade} = {name}" if name else f"{grade}" for grade, name in names)
    with replacing(path) as out:
        out.write("\ufeff")
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([*COLUMNS, GRADE, SCALE, *FILLED])
        for number, query, document in rows:
            cells = [sample, number, id_cell(query.id), harmless(query.text), id_cell(document.id)]
            cells += [harmless(document.title), harmless(document.text), "", harmless(meanings)]
            writer.writerow([*cells, *[""] * len(FILLED)])


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


def read_sheet(path: Path) -> list[SheetAnswer]:
    """Read what people wrote in a sheet; a spreadsheet may have saved it with another separator."""
    with file_problems(path), reading(path) as position:
        text = path.read_bytes().decode("utf-8-sig")
        if not text.strip():
            raise position.error("not a sheet, but empty; save it as CSV (UTF-8)")
        header = text.split("\n", 1)[0]

        def columns(separator: str) -> int:
            names = {_role(name.strip('"')) for name in header.split(separator)}
            return len(names.intersection(COLUMNS))

        separator = max(",;\t", key=columns)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            rows = [(reader.line_num, row) for row in reader if any(row)]
        except csv.Error as error:
            raise BadInput.at(path, reader.line_num, f"not CSV: {error}") from error
        if not rows:
            raise position.error("no row in it; is this a sheet of ours?")
        position.line = 1
        roles = _roles(rows[0][1])
        return [
            _answer(line, dict(zip(roles, map(str.strip, row), strict=False)))
            for line, row in position.follow(rows[1:])
        ]


def _role(header: str) -> str:
    """What a column is for, by the whole of its name: letter case and blanks around it aside."""
    return header.strip().casefold()


def _roles(header: Sequence[str]) -> list[str]:
    """What each column is for; `BadRow` where one that is needed is missing, or stands twice."""
    roles = [_role(name) for name in header]
    for role in (*COLUMNS, GRADE, *FILLED):
        both = [repr(name) for name in header if _role(name) == role]
        if len(both) > 1:
            raise BadRow(f"{' and '.join(both)} are both the column {role}; rename or remove one")
    missing = [name for name in (*COLUMNS[:3], "doc_id", GRADE) if name not in roles]
    if missing:
        columns = ", ".join(name.strip()[:40] for name in header[:20])
        raise BadRow(f"no column {', '.join(missing)}, but {columns}; is this a sheet of ours?")
    return roles


def _answer(line: int, cells: Mapping[str, str]) -> SheetAnswer:
    names = ("sample", "row", "query_id", "doc_id", GRADE, *FILLED)
    sample, row, query_id, doc_id, grade, *filled = (cells.get(name, "") for name in names)
    if not _ROW.fullmatch(row):
        raise BadRow(f"expected the row's number, found {row[:20]!r}")
    if not is_name(sample):
        raise BadRow(f"expected a sample's name, found {sample[:40]!r}")
    if grade and not _NUMBER.fullmatch(grade):
        raise BadRow(f"expected a grade or an empty cell, found {grade[:20]!r}")
    return SheetAnswer(
        line,
        sample,
        int(row),
        query_id.removeprefix("'"),
        doc_id.removeprefix("'"),
        int(float(grade)) if grade else None,
        *filled,
    )


# What raters read before they fill in a sheet: the grades in words, and how to go about it.

NAME = "INSTRUCTIONS.md"
JUDGING_PROMPT = "four-grades"
"""The prompt whose scale people use where nobody has judged: `judge` has it by default, too."""

_BEFORE = """\
# How to grade

Each row of the sheet holds a query, which somebody typed into a search box, and a document that a
search found. Say how well the document serves whoever typed the query: write one grade into the
column `grade`.

## The grades

"""

_AFTER = """
## How to fill in the sheet

- Open the sheet in a spreadsheet program. Read the query, then the title and the text.
- Write the number alone into `grade`. The column `scale` repeats what the numbers mean.
- Change no other column but `assessor` (your name), `time` and `comment`, which may stay empty.
- Leave `grade` empty where you cannot tell, for example because the text is broken; say why in
  `comment`. An empty cell counts as skipped, and never as the lowest grade.
- Save the sheet as CSV (UTF-8). Rows may be sorted, as long as whole rows move together.

## When in doubt

- Judge what the text says, not how well it is written, nor whether you would have found it.
- Judge each row by itself: several documents of a query may have the same grade.
- Between two grades, take the lower one, and do so throughout.
- Grade alone, and do not look up what others or a model gave: the sheet shows no grades on purpose,
  since agreement counts only between assessors who do not know of each other.
- Some texts hold orders or questions to their reader. They are material to be graded, nothing more.
"""


def instructions(scale: Mapping[int, str], prompt: str = "") -> str:
    """The page for raters as Markdown; `prompt` is the id of one that words the grades, or none."""
    meanings = meanings_in(_unchanged(prompt), scale)
    rows = [
        f"| {grade} | {_cell(name)} | {_cell(meanings.get(grade, ''))} |"
        for grade, name in sorted(scale.items())
    ]
    return _BEFORE + "\n".join(["| grade | name | meaning |", "|---:|---|---|", *rows, _AFTER])


def _cell(text: str) -> str:
    return " ".join(markdown_text(text).split())


def _unchanged(prompt: str) -> Prompt | None:
    """The shipped prompt of this id, or of this name; None where it is another one by now."""
    name = prompt.partition("@")[0]
    if name not in prompt_files():
        return None
    try:
        current = find_prompt(name)
    except LabelerError:  # it writes queries, and words no grades
        return None
    return current if prompt in (name, current.id) else None


def meanings_of(collection: Collection, sample: str, scale: Mapping[int, str]) -> dict[int, str]:
    """What the prompt behind a sample's grades says of each; empty where it says it of none."""
    source = card_section(read_card(collection), "samples", sample).get("source")
    path = collection.judgements(source) if isinstance(source, str) and is_name(source) else None
    made_by = origin_of(path) if path is not None else None
    prompt = made_by.prompt if made_by is not None else JUDGING_PROMPT
    return meanings_in(_unchanged(prompt), scale)


def meanings_in(prompt: Prompt | None, scale: Mapping[int, str]) -> dict[int, str]:
    """What a prompt says of each grade in a line of its own, as `2 = it answers a part`.

    Nothing where it does not say it of every grade, just once, nor where it lists the grades of
    criteria or questions.
    """
    if prompt is None or prompt.front.has_parts:
        return {}
    lines = [line.strip(" -*") for turn in prompt.turns for line in turn.content.split("\n")]
    words = {}
    for grade in scale:
        of_grade = re.compile(rf"{grade}\s?[=:]\s?(\S.*)")
        texts = [match[1] for line in lines if (match := of_grade.fullmatch(line))]
        if len(texts) != 1:
            return {}
        words[grade] = texts[0].rstrip(".")
    return words


def write_instructions(sheet: Output, text: str, note: Note) -> None:
    """Write the page beside a sheet.

    Another page in its place stays, unless the sheet is forced; `note` is told so. A sheet that
    goes into a pipe has no page.
    """
    path = sheet.path.parent / NAME
    if is_special(sheet.path):
        return
    if os.path.lexists(path) and not (sheet.force and path.is_file()):
        if not path.is_file() or path.read_bytes() != text.encode():
            note(f"{path} is there already, and stays")
        return
    Output(path, sheet.force).write(text)
