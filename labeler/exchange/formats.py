"""The formats of other tools, and which of them a file is of.

A format is one function, from a JSON value or the rows of a table to `Contents`, or to None where
the value is something else. The first that knows a value reads it, for every command alike.
"""

from __future__ import annotations

import ast
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, TooLarge
from labeler.exchange.contents import WORDS, Contents, role_of
from labeler.exchange.nested import predictions
from labeler.exchange.opensearch import ranking_evaluation, workbench
from labeler.exchange.quepid import book, case, rated_ranking_evaluator
from labeler.exchange.rag import deepeval, llama_index, promptfoo, ragas, squad
from labeler.exchange.ratings import RatedFile
from labeler.exchange.responses import search_responses
from labeler.exchange.shapes import (
    ARROW,
    JSON,
    JSON_LINES,
    LINES,
    PARQUET,
    TEXT,
    TREC,
    WORKBOOK,
    XML,
    head_of,
    shape_of,
)
from labeler.exchange.tables import (
    Rows,
    described,
    first_cells,
    first_line,
    is_nested,
    json_value,
    names_a_pair,
    rows_of_array,
    rows_of_arrow,
    rows_of_json_lines,
    rows_of_parquet,
    rows_of_text,
)
from labeler.exchange.workbooks import rows_of_workbook
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject, RowValues
from labeler.files.read import file_of, most_unpacked, read_instead

Format = Callable[[Any], Contents | None]

FORMATS: dict[str, Format] = {
    "OpenSearch's workbench": workbench,
    "_rank_eval": ranking_evaluation,
    "Quepid's books": book,
    "Quepid's cases": case,
    "RRE": rated_ranking_evaluator,
    "search responses": search_responses,
    "LlamaIndex": llama_index,
    "ragas": ragas,
    "deepeval": deepeval,
    "promptfoo": promptfoo,
    "SQuAD": squad,
    "MTEB's predictions": predictions,
}
"""The registry: what each format is called, and what knows it."""


def recognised(value: Any) -> Contents | None:
    """What the first format that knows a value makes of it."""
    every = (of_format(value) for of_format in FORMATS.values())
    return next((contents for contents in every if contents is not None), None)


@dataclass(frozen=True)
class Held:
    """What a file was opened to: what a known format holds, or a JSON value, or rows.

    All three are None of TREC's columns, of XML, and of texts and tables of no known format.
    """

    path: Path
    shape: str
    head: bytes
    contents: Contents | None = None
    value: Any = None
    rows: Rows | None = None

    def part(self, name: str) -> Any:
        """A part of a known format; `BadInput` where it lacks that, None where it is none."""
        if self.contents is None:
            return None
        return self.contents.parts().get(name) or self.contents.refuse(self.path, name)

    def records(self, contents: Contents, part: str) -> Rows:
        """Documents or queries of a known format as rows."""
        numbered = enumerate(map(dict, self.part(part)), start=1)
        return Rows(self.path, contents.kind, (), numbered)


def held_by(path: Path, *weak: Format, part: str = "", is_plain: bool = False) -> Held:
    """What a file holds; `weak` are formats that are of a value whose use is known alone.

    Of a ZIP archive it is the only file, or the only one whose name says that it is this `part`. Of
    one that is plain, as its columns are known, no format is looked for.
    """
    with reading(path):
        if path.suffix.casefold() == ".zip" and zipfile.is_zipfile(file_of(path)):
            read_instead(path, partial(_unpack, path, part))
        head = head_of(path)
        shape = shape_of(path, head)
        if shape == JSON:
            value = json_value(path)
            formats: tuple[Format, ...] = () if is_plain else (recognised, *weak)
            if formats and isinstance(value, dict) and path.name.endswith(LINES):
                formats = (*formats[:1], lambda row: recognised([row]), *formats[1:])
            of_formats = filter(None, (of_format(value) for of_format in formats))
            return Held(path, shape, head, next(of_formats, None), value)
        rows = None if is_plain and shape == TEXT else _rows(path, shape, head)
        if rows is None:
            return Held(path, shape, head)
        source = iter(rows.rows)
        first = [*islice(source, 1)]
        every, is_plain = chain(first, source), is_plain or not first
        if not is_plain and recognised([unpacked(first[0][1])]) is not None:
            return Held(path, shape, head, recognised([unpacked(row) for _, row in every]))
        return Held(path, shape, head, rows=None if shape == TEXT else replace(rows, rows=every))


def _unpack(path: Path, part: str, copy: Path) -> None:
    """Write the file of an archive that is this part; `BadInput` where no single one is."""
    with zipfile.ZipFile(path) as archive:
        files = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not member.filename.startswith(("__MACOSX", "."))
        ]
        of_part = [member for member in files if part and _is_of(member.filename, part)]
        tests = [member for member in of_part if "test" in WORDS.split(member.filename.casefold())]
        several = tests or of_part or files
        if len(several) != 1:
            problem = f"a ZIP archive with {len(several)} files"
            raise BadInput(f"{path}: {problem}; take it in by import, or unpack it and name one")
        if several[0].file_size > most_unpacked(path.stat().st_size):
            raise TooLarge(f"{path}: {several[0].filename!r:.80} unpacks to more than texts do")
        copy.write_bytes(archive.read(several[0]))


def _is_of(name: str, part: str) -> bool:
    """Whether a file in an archive is of a part, by its name or by that of its folder."""
    return next(filter(None, map(role_of, reversed(name.split("/")))), "") == part


def rated_in(
    held: Held, part: str, of_rows: Callable[[Rows], RatedFile], words: tuple[str, str]
) -> RatedFile | None:
    """The grades or rankings of a file, which may stand in rows; None of what TREC's reader reads.

    `words` are what a message says was expected, and the names of columns that it proposes.
    """
    rated: RatedFile | None = held.part(part)
    if rated is not None or held.shape == TREC:
        return rated
    expected, columns = words
    with reading(held.path):
        rows = held.rows or _rows_of_pairs(held, columns)
        if rows is None and held.value is not None:
            raise BadInput(f"{held.path}: {described(held.value)}; {expected}")
        return None if rows is None else of_rows(rows)


def _rows_of_pairs(held: Held, example: str) -> Rows | None:
    """The rows of a table of queries and documents; None of another JSON value, and of text.

    `example` are the names of columns that a message proposes.
    """
    path, value = held.path, held.value
    if value == []:
        raise BadInput(f"{path}: an empty array; expected a query and a document in each row")
    if isinstance(value, dict) and not is_nested(value) and names_a_pair(list(value)):
        value = [value]
    if value is not None:
        return rows_of_array(path, value) if isinstance(value, list) else None
    if held.shape == XML:
        raise BadInput(f"{path}: XML or HTML; expected TREC's columns, a table or JSON")
    line = first_line(held.head)
    for delimiter, cells in {**first_cells(line), " ": line.split()}.items():
        if names_a_pair(cells):
            return rows_of_text(path, delimiter)
    has_texts = "\t" in line and any(len(cell.split()) > 1 for cell in line.split("\t"))
    if has_texts or (len(line.split()) < 3 and ("," in line or ";" in line)):
        problem = f"a table whose first row names no columns of a query and a document: {line:.60}"
        raise BadInput.at(path, 1, f"{problem}; write such a row above it, as {example}")
    return None


def _rows(path: Path, shape: str, head: bytes) -> Rows | None:
    """The rows of a file; of text only those of a table whose columns may be of a format."""
    if shape in _READERS:
        return _READERS[shape](path)
    if shape == TEXT:
        for delimiter, names in first_cells(first_line(head)).items():
            if recognised([dict.fromkeys(map(str.strip, names), "[]")]) is not None:
                return rows_of_text(path, delimiter)
    return None


_READERS: dict[str, Callable[[Path], Rows]] = {
    JSON_LINES: rows_of_json_lines,
    WORKBOOK: rows_of_workbook,
    ARROW: rows_of_arrow,
    PARQUET: rows_of_parquet,
}


def unpacked(row: RowValues) -> JsonObject:
    """A row with the lists that stand in its cells as texts."""
    return {name: _listed(value) for name, value in row.items()}


def _listed(value: Any) -> Any:
    """The list that a cell holds, in JSON or as Python prints it; any other value as it is."""
    if not (isinstance(value, str) and value.startswith("[") and value.rstrip().endswith("]")):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            parsed = parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return parsed if isinstance(parsed, list) else value
    return value
