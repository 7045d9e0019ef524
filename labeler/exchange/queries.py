"""Queries of one's own, in any usual kind of file, which its content tells."""

from __future__ import annotations

import csv
import html
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.data import Query
from labeler.errors import BadInput, BadRow
from labeler.exchange.contents import QUERIES, are_ids
from labeler.exchange.fields import Picked, has_field, value_at
from labeler.exchange.formats import (
    held_by,
    listed,
    rows_in,
    stripped_id,
    with_all_columns,
    with_metadata,
)
from labeler.exchange.shapes import LINES, XML
from labeler.exchange.tables import (
    DELIMITERS,
    LARGEST,
    QUERY_TEXT,
    RowPart,
    Rows,
    column_of,
    described,
    first_cells,
    first_line,
    first_lines,
    has_column,
    in_words,
    names_a_pair,
    refuse_trec,
    rows_of_array,
    rows_of_text,
)
from labeler.files.boundary import reading
from labeler.files.csv import read_cells
from labeler.files.jsonl import JsonObject, NumberedRow, RowValues, text_of
from labeler.files.read import decoded, numbered_lines, read_bytes, rereadable
from labeler.messages import squeezed, tell
from labeler.trec.values import DOCUMENT_ID, QUERY_ID, key_of

# TREC topics, with tags that are closed or not, and as XML.

_TOPIC = re.compile(
    r"(?is)<top(?:ic)?((?:\s[^<>]*)?)>(.*?)(?:</top(?:ic)?\s*>|(?=<top(?:ic)?[\s>])|(\Z))"
)
_FIELD_TAG = re.compile(r"<(/?)([A-Za-z_][\w-]{0,40})(?:\s[^<>]*)?/?>")
_NUMBER = re.compile(r"""\b(?:number|num|id|qid)\s*=\s*["']([^"']*)["']""")
_IDS = ("num", "number", "id", "qid")
_TEXTS = ("title", "query", "question", "text")
_MORE = {
    "desc": "description",
    "description": "description",
    "question": "description",
    "narr": "narrative",
    "narrative": "narrative",
}
_LABELLED = re.compile(r"(?:Number|Topic|Description|Narrative|Domain)\s*:", re.IGNORECASE)


def topics(path: Path, text: str) -> Iterator[NumberedRow]:
    """The topics of a file, as rows with `_id`, `text`, `description` and `narrative`."""
    line, at = 1, 0
    for topic in _TOPIC.finditer(text):
        line += text.count("\n", at, topic.start())
        at = topic.start()
        number, (own, *parts) = _NUMBER.search(topic[1]), _FIELD_TAG.split(topic[2])
        fields = {"num": number[1] if number else "", "text": own}
        for closes, tag, words in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            if not closes:
                name = tag.casefold()
                fields[name] = fields.get(name, "") + words
        if any(value.strip() for value in fields.values()):
            if topic[3] is not None:
                raise BadInput.at(path, line, "a topic that is not closed with </top> or </topic>")
            yield line, _row(path, line, fields)


def _row(path: Path, line: int, fields: dict[str, str]) -> JsonObject:
    plain = {name: words for name, value in fields.items() if (words := _plain(value))}
    ids, texts = ([name for name in names if name in plain] for names in (_IDS, _TEXTS))
    if not ids or not texts:
        missing = "a number (<num>)" if not ids else "a title or query (<title>, <query>)"
        raise BadInput.at(path, line, f"a topic without {missing}")
    row = {"_id": plain[ids[0]], "text": plain[texts[0]]}
    for name, meaning in _MORE.items():
        if name in plain and name != texts[0]:
            row.setdefault(meaning, plain[name])
    return row


def _plain(value: str) -> str:
    """A field's text without the word that old topics begin it with."""
    text = squeezed(html.unescape(value))
    label = _LABELLED.match(text)
    return text[label.end() :].strip() if label else text


_LINE_IDS = (*QUERY_ID, "id")
_LINE_TEXTS = (*QUERY_TEXT, "question", "text", "title", "body", "prompt", "utterance")
_PLAIN_IDS = tuple(filter("topic".__ne__, _LINE_IDS))
_PLAIN_TEXTS = (*QUERY_TEXT, "question", "text")
"""Names that mean nothing else: two columns with such names leave open which is meant."""

_LOOKED_AT = 50


def read_query_list(
    path: Path | str, *, query_field: str = "", id_field: str = ""
) -> dict[str, Query]:
    """The queries of a file by id, in the file's order.

    A table (CSV, TSV, Parquet) or objects of JSON with a column of texts, perhaps one of ids; JSON
    as `{id: text}` or as an array of texts; TREC topics; query sets and judgements of OpenSearch
    and Quepid; else a query a line. Columns are known by their usual names, or are `query_field`
    and `id_field`, with dots for what is nested. What else a row holds is metadata. Queries without
    an id are called `q1`, `q2` … in order.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "q.csv"
    >>> _ = path.write_text("id,query\\n7,where do cats sleep\\n")
    >>> {id: query.text for id, query in read_query_list(path).items()}
    {'7': 'where do cats sleep'}
    """
    path = Path(path)
    with rereadable(), reading(path):
        read = _rows(path, query_field)
        picked = _picked(read, query_field, id_field)
        parts = _parts(picked, query_field=query_field, id_field=id_field)
        queries = _numbered(replace(read, rows=read.checked(parts)), picked)
    if not queries:
        raise BadInput(f"{path}: no query in it; expected one a line, a table, JSON or TREC topics")
    tell(path, read.kind("queries", picked if read.columns else ()))
    return queries


Queries = str | os.PathLike[str] | Mapping[str, str]
"""A collection's folder, a file of queries, or the texts of queries by id."""


def texts_by_id(queries: Queries) -> Mapping[str, str]:
    """The texts of queries by id: of a collection's folder, of a file of queries, or as given."""
    if isinstance(queries, Mapping):
        return queries
    path = Path(queries)
    path = path / "queries.jsonl" if path.is_dir() else path
    return {id_: query.text for id_, query in read_query_list(path).items()}


def _rows(path: Path, query_field: str) -> Rows:
    held = held_by(path, part=QUERIES, is_plain=bool(query_field))
    if held.shape == XML:
        text = decoded(path, read_bytes(path, LARGEST))
        return Rows(path, "TREC topics", (), topics(path, text))
    if held.contents is not None:
        return held.records(held.contents, QUERIES)
    if held.value is not None:
        return _of_json(path, held.value)
    rows = rows_in(held)
    if rows is None and path.suffix.casefold() in (".json", *LINES):
        raise BadInput(f"{path}: no array and no object of JSON, as its name says")
    return _of_text(path, held.head, query_field) if rows is None else _of_rows(rows)


def _of_rows(rows: Rows) -> Rows:
    """The rows of a table; of a list of judgements, a query stands in several."""
    rows = with_all_columns(rows)
    return replace(rows, repeats=has_column(rows.columns, DOCUMENT_ID))


def _of_json(path: Path, value: Any) -> Rows:
    inner = value.get("queries", value) if isinstance(value, dict) else value
    is_row = isinstance(inner, dict) and has_column(inner, _LINE_TEXTS, _LINE_IDS)
    if inner and isinstance(inner, list) and _are_texts(inner):
        texts = ((number, {"text": text}) for number, text in enumerate(inner, start=1))
        return Rows(path, "a JSON array of texts", (), texts)
    if isinstance(inner, dict) and inner and _are_texts(inner.values()) and not is_row:
        pairs = enumerate(inner.items(), start=1)
        by_id = ((number, {"_id": id_, "text": text}) for number, (id_, text) in pairs)
        return Rows(path, "JSON ({id: text})", (), by_id)
    rows = rows_of_array(path, [inner]) if is_row else listed(path, inner)
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; expected queries, as {{id: text}} or [{{…}}]")
    return _of_rows(rows)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(text, str) for text in values)


def _of_text(path: Path, head: bytes, query_field: str) -> Rows:
    """A table where the first row names columns, or the lines look like one; else plain lines.

    Raises `BadInput` where the lines look like a table of other columns.
    """
    line = first_line(head)
    for delimiter, cells in first_cells(line).items():
        is_header = query_field in map(str.strip, cells) or (
            has_column(cells, _LINE_TEXTS) and (has_column(cells, _LINE_IDS) or _are_short(cells))
        )
        if is_header:
            return _of_rows(rows_of_text(path, delimiter))
        if names_a_pair(cells):
            columns = in_words(cells)
            raise BadInput(
                f"{path}: a table of queries and documents (columns {columns}), without texts; "
                "expected queries",
                parameter="query_field",
            )
    if (
        key_of(line) in _LINE_TEXTS
        and line[-1:] != ":"
        and len(line.split()) <= 2
        and head.count(b"\n") > 1
    ):
        return Rows(path, "one column", (line.strip(),), _one_column(path))
    refuse_trec(path, head, "queries")
    for delimiter in DELIMITERS:
        if _are_pairs(path, head, delimiter):
            form = f"{DELIMITERS[delimiter]} (ids and texts, no header)"
            return Rows(path, form, (), rows_of_text(path, delimiter, ("_id", "text")).rows)
    lines = first_lines(head)
    if lines and all(map(_SETTING.match, lines)):
        raise BadInput.at(path, 1, f"a setting, and no query: {line[:60]!r}")
    _refuse_late_names(path, head)
    if lines and all(map(_COLON.match, lines)):
        return Rows(path, "ids and texts with a colon between", (), _after_colons(path))
    items = _items(path)
    if items is not None:
        return Rows(path, "a list, a query an item", (), items)
    return Rows(path, "lines, a query each", (), _lines(path))


def _after_colons(path: Path) -> Iterator[NumberedRow]:
    """Lines as `301:organized crime`, as lists of TREC's topics have them."""
    for number, line in _written(path):
        topic = _COLON.match(line)
        if topic is None:
            raise BadInput.at(path, number, f"no number and colon before it: {line[:60]!r}")
        yield number, {"_id": topic[1], "text": line[topic.end() :].strip()}


def _refuse_late_names(path: Path, head: bytes) -> None:
    """`BadInput` where the names of a table's columns stand below other lines."""
    lines = head.decode("utf-8", "replace").split("\n")[:_LOOKED_AT]
    for number, line in enumerate(lines, start=1):
        for cells in first_cells(line.rstrip("\r")).values():
            is_named = has_column(cells, QUERY_TEXT) and _are_short(cells)
            if number > 1 and (names_a_pair(cells) or is_named):
                problem = f"the names of columns, below other lines: {line[:60]!r}"
                raise BadInput.at(path, number, f"{problem}; remove what stands above them")


_MARK = re.compile(r"\s*(?:(#{1,6})|([-*+•])|(\d{1,9})[.)]?)\s+(\S.*)")
_SETTING = re.compile(r"\s*(?:[\w.-]+\s*=\s*\S|\[[\w.-]+\]\s*$)")
_COLON = re.compile(r"\s*(\d+)\s*:(?=\s*[^\W\d])")
_KEYED = re.compile(r"(\w+):\s+(.*)")
_QUOTED = re.compile(r"^[\"']([^\"]*)[\"']$")
_YAML = (".yaml", ".yml")
_OF_YAML = re.compile(r"\s*(?:---|\.\.\.|\w+:)\s*")
"""Lines around the items of a list in YAML."""

_MARKS = re.compile(r"[\W_]*|.*[\x00-\x1f].*|[•–]\s.*|\[[ xX]\]\s.*|.*\]\(.*|([*`]+).*\1|'.*',")
_MARKS_OF_YAML = re.compile(r"\w+:\s.*|.*\s#\s.*|[|>\[{].*")
"""What is left of a format in a line, or looks like code: nobody can say what its query is."""


def _items(path: Path) -> list[NumberedRow] | None:
    """The items of a list in Markdown or YAML, without headings; None of other lines.

    `BadInput` names a line that is none among them: nobody can say whether it is a query.
    """
    lines = _written(path)
    if path.suffix.casefold() in _YAML:
        lines = (each for each in lines if not _OF_YAML.fullmatch(each[1]))
    rows = [(number, line, _MARK.fullmatch(line)) for number, line in lines]
    marks = [mark for *_, mark in rows if mark]
    numbers = [int(mark[3]) for mark in marks if mark[3]]
    marked = len(marks) - len(numbers)
    has_heading = bool(rows and rows[0][2] and rows[0][2][1])
    is_marked_up = has_heading or path.suffix.casefold() in (".md", ".markdown", ".rst", *_YAML)
    has_marks = marked > len(rows) / 2 or (marked and is_marked_up)
    if not has_marks and numbers != list(range(1, len(rows) + 1)):
        return None
    for number, line, mark in rows:
        if mark is None:
            raise BadInput.at(
                path,
                number,
                f"no item, among lines that begin as those of a list do: {line[:60]!r}; write a "
                "query a line, without marks",
            )
    items = [(number, mark[4]) for number, _, mark in rows if mark and not mark[1]]
    keyed = [_KEYED.fullmatch(text) for _, text in items]
    if all(each and key_of(each[1]) in _LINE_TEXTS for each in keyed):
        items = [(n, each[2]) for (n, _), each in zip(items, keyed, strict=True) if each]
    return [_item(path, number, text.strip()) for number, text in items]


def _item(path: Path, number: int, text: str) -> NumberedRow:
    """A line or an item as a query; `BadInput` where marks of a format are left in it."""
    is_yaml = path.suffix.casefold() in _YAML
    text = _QUOTED.sub(r"\1", text)
    if _MARKS.fullmatch(text) or (is_yaml and _MARKS_OF_YAML.fullmatch(text)):
        raise BadInput.at(
            path,
            number,
            f"marks of a format, and no plain query: {text[:60]!r}; write a query a line, without "
            "marks",
        )
    return number, {"text": text}


def _are_short(cells: Sequence[str]) -> bool:
    """Whether these may all be names of columns: a word or three each, two columns or more."""
    return len(cells) > 1 and all(0 < len(c.split()) <= 3 for c in cells)


def _are_pairs(path: Path, head: bytes, delimiter: str) -> bool:
    """Whether the first lines are ids and texts, with a tab or something else between them.

    `BadInput` where they are a table of other columns. Commas with a space behind them stand in
    sentences, unless ids stand before them.
    """
    try:
        rows = [cells for _, cells in read_cells(path, first_lines(head), delimiter)]
    except BadInput:
        return False
    widths = {len(cells) for cells in rows}
    is_tab = delimiter == "\t"
    if is_tab and len(widths) > 1:
        number = next(n for n, cells in enumerate(rows, start=1) if len(cells) != 2)
        width = len(rows[number - 1])
        raise BadInput.at(path, number, f"expected 2 columns (id, text), found {width}")
    if len(widths) != 1 or widths == {1}:
        return False
    ids = [cells[0].strip() for cells in rows]
    has_ids = are_ids(ids) or (is_tab and all(len(id_.split()) == 1 for id_ in ids))
    is_prose = any(cell.startswith(" ") for cells in rows for cell in cells[1:])
    if has_ids and widths == {2}:
        return True
    if has_ids or is_tab or (len(rows) > 1 and not is_prose):
        raise BadInput(
            f"{path}: a table with the first row {in_words(rows[0])}; which column holds "
            "the query's text?",
            parameter="query_field",
        )
    return False


def _one_column(path: Path) -> Iterator[NumberedRow]:
    (_, name), *lines = _written(path)
    for number, line in lines:
        cells = next(csv.reader([line]), [line]) if line.lstrip().startswith('"') else [line]
        yield number, {name.strip(): cells[0]}


def _written(path: Path) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in numbered_lines(path, windows=True) if line.strip())


def _lines(path: Path) -> Iterator[NumberedRow]:
    for number, line in _written(path):
        if "\t" in line.strip():
            raise BadInput.at(path, number, "a tab in a line, and not in all others")
        yield _item(path, number, line.strip())


def _picked(read: Rows, query_field: str, id_field: str) -> Picked:
    """Which columns hold the id and the text; `BadInput` says what was seen where none does."""
    names = read.columns or ("_id", "text")
    text = query_field if read.columns else "text"
    text = text or column_of(names, _LINE_TEXTS) or ""
    if not text or (text == query_field and not has_field(names, query_field)):
        have = f"{read.form} with the columns {in_words(names)}"
        say = "which holds the query's text?" if not query_field else f"none is {query_field!r}"
        raise BadInput(f"{read.path}: {have}; {say}", parameter="query_field")
    rest = [name for name in names if name != text]
    is_named = id_field and has_field(rest, id_field)
    return Picked(id_field if is_named else column_of(rest, _LINE_IDS) or "", text)


def _parts(picked: Picked, *, query_field: str, id_field: str) -> list[RowPart]:
    """The id and the text of a row; columns that the caller named are not doubted."""
    texts = () if query_field else _PLAIN_TEXTS
    return [
        RowPart(picked.id, "query's id", () if id_field else _PLAIN_IDS, "id_field"),
        RowPart(picked.text, "query's text", texts, "query_field"),
    ]


def _numbered(read: Rows, picked: Picked) -> dict[str, Query]:
    queries: dict[str, Query] = {}
    texts: dict[str, str] = {}
    with reading(read.path) as position:
        for number, row in position.follow(read.rows):
            query = _query(read, number, row, picked, f"q{len(queries) + 1}")
            first = texts.get(query.text)
            if read.repeats and first and (first == query.id or not _has_id(row, picked)):
                continue
            if query.id in queries:
                raise position.error(f"the id {query.id!r} stands in an earlier line too")
            if first is not None:
                raise position.error(
                    f"the same query as {first!r}: {query.text[:60]!r}; keep one of them"
                )
            queries[query.id], texts[query.text] = query, query.id
    return queries


def _has_id(row: RowValues, picked: Picked) -> bool:
    return bool(picked.id) and (picked.id in row or value_at(row, picked.id) is not None)


def _query(read: Rows, number: int, row: JsonObject, picked: Picked, fallback: str) -> Query:
    path, text_key = read.path, picked.text
    if text_key not in row and value_at(row, text_key) is None:
        text_key = column_of(row, _LINE_TEXTS) or text_key
    cells = {**row, text_key: value_at(row, text_key), picked.id: value_at(row, picked.id)}
    text = squeezed(text_of(path, number, cells, text_key, None))
    if not text:
        raise BadRow("a query without text")
    query_id = stripped_id(path, number, cells, picked.id) if _has_id(row, picked) else fallback
    rest = with_metadata(row, picked.id, text_key)
    # what else a row of a list of judgements holds is of one pair
    return Query(query_id, text, {"origin": "real", **({} if read.repeats else rest)})
