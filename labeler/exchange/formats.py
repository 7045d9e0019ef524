"""The formats of other tools, and which of them a file is of.

A format is one function, from a JSON value or the rows of a table to `Contents`, or to None where
the value is something else. The first that knows a value reads it, for every command alike. What
no format knows may be rows with named columns, which its content tells.
"""

from __future__ import annotations

import ast
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from labeler.errors import BadInput, BadRow, TooLarge
from labeler.exchange.contents import (
    DOCUMENTS,
    QUERIES,
    WORDS,
    Contents,
    are_ids,
    objects,
    role_in,
    role_of,
)
from labeler.exchange.documents import TEXTS
from labeler.exchange.fields import action_of
from labeler.exchange.judgements import (
    book,
    query_set,
    rated_queries,
    rated_ranking_evaluator,
)
from labeler.exchange.rag import (
    candidate_lists,
    llama_index,
    promptfoo,
    squad,
    tests_of_rag,
)
from labeler.exchange.ratings import RatedFile, stripped
from labeler.exchange.responses import (
    indexed,
    is_hit,
    predictions,
    search_responses,
)
from labeler.exchange.sgml import rows_of_sgml
from labeler.exchange.shapes import (
    ARROW,
    HEAD,
    JSON,
    JSON_LINES,
    LINES,
    PARQUET,
    SGML,
    TEXT,
    TREC,
    WORKBOOK,
    XML,
    ending_of,
    head_of,
    is_of_lines,
    shape_of,
)
from labeler.exchange.tables import (
    Rows,
    delimiter_of,
    described,
    first_cells,
    first_line,
    first_lines,
    in_words,
    is_nested,
    json_value,
    names_a_pair,
    numbered_objects,
    part_of,
    rows_of_array,
    rows_of_arrow,
    rows_of_json_lines,
    rows_of_parquet,
    rows_of_text,
)
from labeler.exchange.workbooks import rows_of_workbook
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject, NumberedRow, RowValues, identifier
from labeler.files.read import file_of, made_once, most_unpacked, read_instead, rereadable
from labeler.messages import tell
from labeler.trec.values import NUMBER, QUERY_ID

Format = Callable[[Any], Contents | None]

FORMATS: dict[str, Format] = {
    "OpenSearch's query sets": query_set,
    "rated documents by query": rated_queries,
    "Quepid's books": book,
    "RRE": rated_ranking_evaluator,
    "lists of documents by query": candidate_lists,
    "search responses": search_responses,
    "LlamaIndex": llama_index,
    "ragas, deepeval": tests_of_rag,
    "promptfoo": promptfoo,
    "SQuAD": squad,
    "MTEB's predictions": predictions,
}
"""The registry: what each format is called, and what knows it."""


def recognised(value: Any) -> Contents | None:
    """What the first format that knows a value makes of it."""
    return next(filter(None, (of_format(value) for of_format in FORMATS.values())), None)


class Held(NamedTuple):
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
        return Rows(self.path, contents.kind, (), enumerate(map(dict, self.part(part)), start=1))


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
            value = made_once(path, json_value)
            rows_of_it = [[value]] if isinstance(value, dict) and path.name.endswith(LINES) else []
            several = chain(
                map(recognised, [value, *rows_of_it]), (of_format(value) for of_format in weak)
            )
            contents = None if is_plain else next(filter(None, several), None)
            return Held(path, shape, head, contents, value)
        rows = None if is_plain and shape == TEXT else _rows(path, shape, head)
        if rows is None:
            return Held(path, shape, head)
        source = iter(rows.rows)
        first = list(islice(source, 1))
        every = chain(first, source)
        is_plain = is_plain or not first
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
        of_part = [each for each in files if part and role_in(each.filename.split("/")) == part]
        tests = [member for member in of_part if "test" in WORDS.split(member.filename.casefold())]
        several = tests or of_part or files
        if len(several) != 1:
            raise BadInput(
                f"{path}: a ZIP archive with {len(several)} files; take it in by import, or unpack "
                "it and name one"
            )
        if several[0].file_size > most_unpacked(path.stat().st_size):
            raise TooLarge(f"{path}: {several[0].filename!r:.80} unpacks to more than texts do")
        copy.write_bytes(archive.read(several[0]))


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
    run = line.split()
    if len(run) == 6 and run[2].isdigit() and not NUMBER.fullmatch(run[3]):
        problem = f"a rank ({run[2]}) where TREC's runs have the document, and {run[3]!r:.40} after"
        raise BadInput.at(path, 1, f"{problem} it; expected query Q0 document rank score tag")
    has_texts = "\t" in line and any(len(cell.split()) > 1 for cell in line.split("\t"))
    if has_texts or (len(line.split()) < 3 and ("," in line or ";" in line)):
        raise BadInput.at(
            path,
            1,
            f"a table whose first row names no columns of a query and a document: {line:.60}; "
            f"write such a row above it, as {example}",
        )
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


_READERS = {
    JSON_LINES: rows_of_json_lines,
    WORKBOOK: rows_of_workbook,
    ARROW: rows_of_arrow,
    PARQUET: rows_of_parquet,
    SGML: rows_of_sgml,
}


def unpacked(row: RowValues) -> JsonObject:
    """A row with the lists that stand in its cells as texts."""
    return {name: _list_in(value) for name, value in row.items()}


def _list_in(value: Any) -> Any:
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


# Rows with named columns in whatever file holds them, freed of what a program wraps them in.


def rows_of_any(path: Path, names: str) -> Rows:
    """The rows of a table in text, JSON Lines, an array of JSON or Parquet.

    `names` says in a message which columns would have worked.
    """
    held = held_by(path)
    rows = rows_in(held)
    if rows is not None:
        return with_all_columns(rows)
    line = first_line(held.head)
    if held.shape == XML or delimiter_of(line) not in line:
        raise BadInput(f"{path}: expected a table whose first row names its columns: {names}")
    return table_rows(held, ending_of(path))


def table_rows(held: Held, kind: str) -> Rows:
    """The rows of a table of text, of which MS MARCO's may name no columns."""
    path, head = held.path, held.head
    line = first_line(head)
    if kind != ".tsv":
        return rows_of_text(path, delimiter_of(line))
    names = _names_of(line.split("\t"))
    if len(names) == 2 and role_of(path.name) != DOCUMENTS:  # which may as well be queries
        texts = (line.partition("\t")[2].split() for line in first_lines(head) if "\t" in line)
        if role_of(path.name) == QUERIES or median(map(len, texts)) < _SHORT:
            problem = "ids and short texts, and no row that names them: queries or documents?"
            remedy = "write id and text, or id and query, in a row above"
            raise BadInput(f"{path}: {problem}; {remedy}")
    return rows_of_text(path, "\t", names)


def _names_of(cells: list[str]) -> list[str]:
    """The names that MS MARCO's columns have where no row names them; else none.

    Passages have an id and a text, documents an id, an address, a title and a text.
    """
    if len(cells) == 2:
        first, second = cells  # names hold no digits, and are short
        are_values = any(map(str.isdigit, first)) or len(second.split()) > 3 or len(second) > 100
        return ["id", "text"] if are_values else []
    is_page = len(cells) == 4 and cells[1].startswith(("http://", "https://"))
    return ["id", "url", "title", "text"] if is_page else []


_SHORT = 12
"""Words of a text between those of queries, some six in MS MARCO, and of its passages, some 50."""


def with_all_columns(rows: Rows) -> Rows:
    """The rows with the columns of them all: a row may lack what others have."""
    if rows.columns:
        return rows
    held = list(rows.rows)
    columns = dict.fromkeys(name for _, row in held for name in row)
    return replace(rows, columns=tuple(columns), rows=held)


def rows_in(held: Held) -> Rows | None:
    """The rows of JSON, JSON Lines or Parquet, without what a search engine wraps them in.

    `None` of a table of text, or of text.
    """
    if held.contents is not None:
        return held.records(held.contents, DOCUMENTS)
    if held.value is not None:
        return _of_json(held)
    if held.rows is None or held.shape != JSON_LINES:
        return held.rows
    return _unwrapped(held.path, "JSON Lines", held.rows.rows)


_OF_A_ROW = (*TEXTS, "title", "query", "question")
"""Names whose texts make an object a row, whatever lists it holds beside them."""


def _of_json(held: Held) -> Rows:
    path, value = held.path, held.value
    is_row = isinstance(value, dict) and any(isinstance(value.get(n), str) for n in _OF_A_ROW)
    rows = None if is_row else listed(path, value)
    is_one_line = is_of_lines(path) or (len(held.head) < HEAD and b"\n" not in held.head.strip())
    if rows is None and isinstance(value, dict) and is_one_line:
        rows = _unwrapped(path, "JSON Lines", [(1, value)])
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; expected an array of documents, or hits")
    return rows


def listed(path: Path, value: Any) -> Rows | None:
    """The objects of a JSON value that is a list of them, or that holds one."""
    rows = _listed(value)
    return None if rows is None else _unwrapped(path, "JSON", numbered_objects(path, rows))


def _listed(value: Any) -> list[Any] | None:
    """The documents of a JSON value; `None` where it holds no list of them."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if len(value) > 1 and all(isinstance(text, str) for text in value.values()):
        texts = [{"_id": id_, "text": text} for id_, text in value.items()]
        return texts if are_ids(value) else None
    lists = list(filter(None, map(objects, value.values())))
    if len(lists) == 1:
        return lists[0]
    return _keyed(value) if objects(list(value.values())) else None


def _keyed(value: Mapping[str, RowValues]) -> list[Any] | None:
    """The documents of `{id: {…}}`, whose objects have the same keys throughout."""
    keys = [frozenset(row) for row in value.values()]
    if len(keys) < 2 or keys[0] != keys[-1] or len(set(keys)) > 2:
        return None
    return [{"_id": id_, **row} for id_, row in value.items()]


def _unwrapped(path: Path, form: str, rows: Iterable[NumberedRow]) -> Rows:
    """The rows without lines of actions, and in place of hits what these hold."""
    left = Counter[str]()
    return Rows(path, form, (), _documents(path, rows, left), left=left)


def _documents(
    path: Path, rows: Iterable[NumberedRow], left: Counter[str]
) -> Iterator[NumberedRow]:
    action: RowValues | None = None
    count = 0
    for number, row in rows:
        inner = action_of(row)
        removes = row.keys() == {"remove"} or (inner is not None and "delete" in row)
        updates = str(row.get("update")).startswith("id:") and "fields" in row
        if removes or updates:
            left["update" if updates else "removal"] += 1
        if removes or updates or inner is not None:
            action = None if removes else inner
            continue
        source = indexed(row) if is_hit(row) else row
        if action is not None:
            update = source.get("doc")
            source = update if len(source) == 1 and isinstance(update, dict) else source
            if "_id" in action and "_id" not in source:
                source = {"_id": action["_id"], **source}
        action = None
        if not source:
            raise BadInput.at(path, number, "a hit without what was indexed (_source, fields)")
        count += 1
        yield number, source
    if left and not count:
        raise BadInput(
            f"{path}: nothing but updates and removals, of which no document can be made"
        )


def is_fed(held: Held) -> bool:
    """Whether rows are wrapped as a search engine takes or gives documents."""
    rows = held.rows.rows if held.rows else enumerate(_listed(held.value) or ())
    _, first = next(iter(rows), (0, {}))
    return action_of(first) is not None or is_hit(first)


# What is known of queries beside their texts: a table with their ids, and any other columns.

QueryFacts = dict[str, JsonObject]
"""Query id to the name of a field to its value."""

_IDS = (*QUERY_ID, "id")


def read_query_facts(path: str | os.PathLike[str]) -> QueryFacts:
    """What a table, or a `queries.jsonl`, says of each query; metadata stand beside columns.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kinds.csv"
    >>> _ = path.write_text("query_id,group\\n7,keyword\\n")
    >>> read_query_facts(path)
    {'7': {'group': 'keyword'}}
    """
    path, facts = Path(path), QueryFacts()
    with rereadable(), reading(path) as position:
        rows = rows_of_any(path, "query_id, and others as kind or weight")
        ids = part_of(rows.columns, _IDS, "query's id")
        if ids is None:
            raise BadInput(
                f"{path}: no column of queries' ids among {in_words(rows.columns)}; expected one "
                "called query_id"
            )
        tell(path, rows.kind("facts about queries", rows.columns))
        for number, row in position.follow(rows.checked([ids])):
            query_id = stripped_id(path, number, row, ids.column)
            if query_id in facts:
                raise position.error(f"the id {query_id!r:.80} stands in an earlier line too")
            facts[query_id] = with_metadata(row, ids.column)
    if not facts:
        raise BadInput(f"{path}: no row in it")
    return facts


def stripped_id(path: Path, number: int, row: RowValues, column: str) -> str:
    """The id in a column, without white space around it."""
    return identifier(path, number, {**row, column: stripped(row.get(column))}, column)


def with_metadata(row: RowValues, *used: str) -> JsonObject:
    """The columns of a row but those used, and beside them what its `metadata` hold."""
    inner = row.get("metadata") or {}
    if not isinstance(inner, dict):
        raise BadRow(f"expected 'metadata' to be an object, found {inner!r:.80}")
    return {**{k: v for k, v in row.items() if k not in (*used, "metadata")}, **inner}
