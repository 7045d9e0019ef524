"""Rows with named columns, whatever holds them: CSV, TSV, JSON Lines, a JSON array, Parquet."""

from __future__ import annotations

import csv
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from labeler.errors import BadInput, TooLarge
from labeler.exchange.shapes import SOLR, is_cbor
from labeler.files.archives import LARGEST_XML, xml_of
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import needing, problem_of, reading
from labeler.files.csv import NumberedCells, read_cells, table_lines
from labeler.files.jsonl import STRICT, NumberedRow, RowValues, read_rows
from labeler.files.read import TIMES, decoded, file_of, file_problems, most_unpacked, read_bytes
from labeler.messages import missing_extra
from labeler.trec.values import DOCUMENT_ID, NUMBER, QUERY_ID, key_of

# What the columns of other tools' tables mean, by their usual names.
#
# The column with the most usual name holds a part of each row. Where another column has a name of
# the same meaning, both must hold the same in every row: else nobody can tell which is meant.

QUERY_TEXT = (
    *("query", "querytext", "queryterms", "userquery", "searchquery", "searchterm", "searchterms"),
    *("topqueries", "queries", "frage", "suchanfrage", "consulta", "pregunta", "requete"),
)
RATING = ("rating", "judgement", "judgment")
RANK = ("rank", "position", "docposition")
"""Names of columns as `key_of` spells them, the usual ones first."""


class RowPart(NamedTuple):
    """The column that holds a part of each row: `what` says which, as in "query's id".

    A column with another of `names` means the same; there are none where the user named the column.
    `parameter` is the setting that names it.
    """

    column: str
    what: str
    names: Sequence[str] = ()
    parameter: str = ""

    def alike(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The other columns that mean the same; names as `_id` are a program's own."""
        key = key_of(self.column)
        means_one_thing = key in self.names
        return tuple(
            other
            for other in columns
            if other != self.column
            and self.names
            and (
                key_of(other) == key
                or (means_one_thing and other[:1] != "_" and key_of(other) in self.names)
            )
        )

    def check(self, where: str, row: RowValues, other: str) -> None:
        """`BadInput` where another column of the same meaning holds something, and another."""
        if row[other] in (row[self.column], None, ""):
            return
        first, second = sorted((self.column, other), key=list(row).index)
        remedy = "rename or remove one" + (", or say which" if self.parameter else "")
        raise BadInput(
            f"{where}: {first!r} and {second!r} could each be the {self.what}; {remedy}",
            parameter=self.parameter,
        )


def part_of(
    columns: Sequence[str], names: Sequence[str], what: str, parameter: str = ""
) -> RowPart | None:
    """The part of a row that the column with the most usual of these names holds."""
    column = column_of(columns, names)
    return None if column is None else RowPart(column, what, names, parameter)


def column_of(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column with the most usual of these names; the first of several."""
    by_key = {key_of(column): column for column in reversed(list(columns))}
    return next((by_key[name] for name in names if name in by_key), None)


def has_column(columns: Iterable[str], *names: Collection[str]) -> bool:
    """Whether one of the columns has one of these names."""
    return any(key_of(column) in alike for column in columns for alike in names)


def names_a_pair(cells: Iterable[str]) -> bool:
    """Whether these are the names of columns, among them those of a query and a document."""
    return has_column(cells, QUERY_ID, QUERY_TEXT) and has_column(cells, DOCUMENT_ID)


def refuse_trec(path: Path, head: bytes, expected: str) -> None:
    """`BadInput` of lines that are all of qrels or of a run in TREC's columns."""
    rows = [line.split() for line in first_lines(head)]
    columns = list(zip(*rows, strict=True)) if len(set(map(len, rows))) == 1 else []
    of_numbers = {n for n, cells in enumerate(columns) if all(map(NUMBER.fullmatch, cells))}
    is_table = len(columns) > 3 and len(of_numbers) > 1  # one may be a text
    is_table = len(rows) > 1 and (is_table or 1 < len(columns) == len(of_numbers))
    if len(columns) == 4 and 3 in of_numbers:
        problem = "these are qrels in TREC's columns"
    elif len(columns) == 6 and {3, 4} <= of_numbers:
        problem = "this is a run in TREC's columns"
    elif is_table or (rows and all(_LEARNED.match(" ".join(row)) for row in rows)):
        problem = f"columns without names ({' '.join(rows[0])[:60]})"
    else:
        return
    raise BadInput.at(path, 1, f"{problem}; expected {expected}")


def in_words(columns: Iterable[str]) -> str:
    """The names of columns for a message."""
    return ", ".join(f"{column:.40}" for column in columns) or "none"


DELIMITERS = {"\t": "TSV", ",": "CSV", ";": "CSV with semicolons", "|": "CSV with bars"}
_LOOKED_AT = 50
_LEARNED = re.compile(r"\d+ qid:\S+ \d+:")
"""A line of features for learning to rank, as LETOR and SVMrank have them."""

_NO_NAME = re.compile(r"-?\d+(\.\d+)?|\w+://.*")


@dataclass(frozen=True)
class Rows:
    """The rows of a file, each with its line or its number, and what holds them.

    `columns` are the names of all columns, or of the first row's. `repeats` says that a query may
    stand in several rows, as in a list of judgements. `left` counts rows that are nothing to read,
    by what they are, as far as the rows were gone through.
    """

    path: Path
    form: str
    columns: Sequence[str]
    rows: Iterable[NumberedRow]
    repeats: bool = False
    left: Counter[str] = field(default_factory=Counter)

    def checked(self, parts: Iterable[RowPart]) -> Iterator[NumberedRow]:
        """The rows; `BadInput` at one where two columns of one meaning hold different values."""
        alike = {}
        for number, row in self.rows:
            columns = tuple(row)
            if columns not in alike:
                named = [part for part in parts if part.column in row]
                alike[columns] = [(part, other) for part in named for other in part.alike(columns)]
            for part, other in alike[columns]:
                part.check(f"{self.path}:{number}", row, other)
            yield number, row

    def pair_parts(self, value: RowPart | None, expected: str, hint: str) -> list[RowPart]:
        """The parts of a row that hold a query, a document and a value of the two.

        `BadInput` where columns lack one; `hint` ends the message where these are a pair's.
        """
        by_id = part_of(self.columns, QUERY_ID, "query's id")
        query = by_id or part_of(self.columns, QUERY_TEXT, "query")
        document = part_of(self.columns, DOCUMENT_ID, "document's id")
        if query and document and value:
            return [query, document, value]
        have = f"{self.form} with the columns {in_words(self.columns)}"
        why = hint if query and document else ""
        raise BadInput(f"{self.path}: {have}; expected those of {expected}{why}")

    def cells(self, parts: Sequence[RowPart]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The cells of the columns of some parts, row by row; None where a row lacks one.

        `BadInput` at a row where another column that means the same holds another value.
        """
        columns = [part.column for part in parts]
        return ((number, tuple(map(row.get, columns))) for number, row in self.checked(parts))

    def kind(self, what: str, columns: Iterable[str | None]) -> str:
        """What the file was taken for: `qrels from CSV (columns query_id, doc_id, grade)`."""
        listed = ", ".join(filter(None, columns))
        return f"{what} from {self.form}" + (f" (columns {listed})" if listed else "")


def rows_of_text(path: Path, delimiter: str, names: Sequence[str] = ()) -> Rows:
    """The rows of a table of text; the first one names the columns, unless `names` do."""
    cells = read_cells(path, table_lines(path), delimiter)
    header = tuple(names or (name.strip() for name in next(cells, (1, []))[1]))
    if not names:
        _check_names(path, header)
    if delimiter == "\t":
        cells = ((number, list(map(_unquoted, row))) for number, row in cells)
    return Rows(path, DELIMITERS.get(delimiter, "columns"), header, _by_name(path, header, cells))


def rows_of_cells(path: Path, form: str, cells: Iterable[NumberedCells]) -> Rows:
    """Rows of cells whose first one names the columns; cells at the end of a row may be missing."""
    (line, header), *rows = cells
    names = [name.strip() for name in header]
    _check_names(path, names, line)
    padded = ((number, [*row, *[""] * (len(names) - len(row))]) for number, row in rows)
    return Rows(path, form, names, _by_name(path, names, padded))


def delimiter_of(line: str) -> str:
    """The delimiter that stands in a line most often."""
    return max(DELIMITERS, key=line.count)


def _check_names(path: Path, names: Sequence[str], line: int = 1) -> None:
    """`BadInput` of a first row that does not name the columns, each once."""
    value = next((name for name in names if _NO_NAME.fullmatch(name) or len(name) > 100), None)
    if value is not None or not any(names):
        raise BadInput.at(
            path,
            line,
            f"expected the names of the columns, as id and text; found {str(value)[:40]!r}; write "
            "such a row above it",
        )
    _refuse_repeated(f"{path}:{line}", names)


def _refuse_repeated(where: str, names: Sequence[str]) -> None:
    """`BadInput` where two columns have one name."""
    times = Counter(names)
    twice = next((name for name in names if times[name] > 1), None)
    if twice is not None:
        raise BadInput(f"{where}: two columns have the name {twice!r}")


def _unquoted(cell: str) -> str:
    """A cell of TSV less the quotes that a writer of CSV, as BEIR's is, puts around a quote.

    Other quotes are letters like others.
    """
    inner = cell[1:-1]
    is_quoted = cell[:1] == cell[-1:] == '"' and '""' in inner
    doubled = is_quoted and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if doubled else cell


def _by_name(
    path: Path, names: Sequence[str], cells: Iterator[NumberedCells]
) -> Iterator[NumberedRow]:
    for number, row in cells:
        if len(row) != len(names):
            raise BadInput.at(
                path, number, f"expected {len(names)} columns as in the first row, found {len(row)}"
            )
        yield number, dict(zip(names, row, strict=True))


def rows_of_json_lines(path: Path) -> Rows:
    """The objects of a file of JSON Lines."""
    return _with_columns(path, "JSON Lines", read_rows(path))


def rows_of_array(path: Path, array: Sequence[Any]) -> Rows:
    """The objects of a JSON array, numbered from 1."""
    return _with_columns(path, "a JSON array", numbered_objects(path, array))


def numbered_objects(path: Path, array: Sequence[Any]) -> Iterator[NumberedRow]:
    """The members of an array, numbered from 1; `BadInput` of one that is no object."""
    for number, row in enumerate(array, start=1):
        if not isinstance(row, dict):
            raise BadInput(f"{path}: row {number}: expected an object, found {row!r:.40}")
        yield number, row


def _with_columns(path: Path, form: str, rows: Iterator[NumberedRow]) -> Rows:
    first = list(islice(rows, 1))
    return Rows(path, form, tuple(first[0][1]) if first else (), chain(first, rows))


def first_cells(line: str) -> dict[str, list[str]]:
    """The cells of a first line by each delimiter that stands in it."""
    cells = {}
    for delimiter in DELIMITERS:
        if delimiter in line:
            with suppress(csv.Error, StopIteration):
                cells[delimiter] = next(csv.reader([line], delimiter=delimiter, strict=True))
    return cells


def first_lines(head: bytes) -> list[str]:
    """The lines with something on them, of the first bytes of a file; some of them at most."""
    lines = [line.rstrip("\r") for line in head.decode("utf-8", "replace").split("\n")]
    return [line for line in lines if line.strip()][:_LOOKED_AT]


def first_line(head: bytes) -> str:
    """The first of them; empty where there is none."""
    return next(iter(first_lines(head)), "")


# A whole JSON file as one value, read strictly.

LARGEST = 1 << 29
"""The most bytes of a file of one JSON value: 512 MB, of which Python makes some gigabytes."""


def json_value(path: Path) -> Any:
    """The value of a file, in JSON, CBOR or the XML of Solr; `BadInput` where it is none.

    JSON that names a key twice is none.
    """
    raw = read_bytes(path, LARGEST)
    if is_cbor(path, raw):
        return _cbor(path, raw)
    if SOLR.match(raw.removeprefix(BOM_UTF8)):
        return _of_solr(xml_of(path, read_bytes(path, LARGEST_XML)))
    text = decoded(path, raw, windows=False)
    try:
        value = STRICT.decode(text)
    except json.JSONDecodeError as error:
        several = "; if these are several values, this writes a line each: jq -c . FILE"
        problem = f"not JSON: {error.msg}{several if error.msg == 'Extra data' else ''}"
        raise BadInput.at(path, error.lineno, problem) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {problem_of(error)}") from error
    if _is_by_column(value):
        raise BadInput(
            f"{path}: a table by columns; write a list of its rows, as pandas' "
            'to_json(FILE, orient="records") does'
        )
    return value


def _is_by_column(value: Any) -> bool:
    """Whether a value is a table with its names apart from its rows.

    ES|QL answers so, and pandas writes it where `orient` is not `records`. Lists beside that of
    queries are columns where all are as long.
    """
    if not isinstance(value, dict):
        return False
    texts = value.get("queries")
    if isinstance(texts, list) and len(value) > 1 and all(isinstance(x, str) for x in texts):
        return all(isinstance(x, list) and len(x) == len(texts) for x in value.values())
    is_named = names_a_pair(value) or has_column(value, ("userinput", "question"))
    is_apart = "columns" in value and {"values", "rows", "data"} & value.keys()
    return bool(is_apart) or (
        is_named and all(isinstance(each, dict | list) for each in value.values())
    )


def _cbor(path: Path, raw: bytes) -> Any:
    """The value of a file in CBOR, by the package that ranx writes it with."""
    problem = "a file in CBOR, as ranx packs it, needs a package: pip install cbor2"
    with needing(f"{path}: {problem}"):
        import cbor2
    try:
        return cbor2.loads(raw)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: damaged CBOR ({problem_of(error)})") from error


def _of_solr(element: Element) -> Any:
    """The value that an element of Solr's XML is; Solr's JSON has the same values."""
    text = element.text or ""
    match element.tag:
        case "arr":
            return list(map(_of_solr, element))
        case "result":
            return {"docs": list(map(_of_solr, element))}
        case "response" | "lst" | "doc":
            return {inner.get("name", ""): _of_solr(inner) for inner in element}
        case "int" | "long" | "float" | "double":
            return float(text) if "." in text else int(text)
        case _:
            return text


def described(value: Any) -> str:
    """What a JSON value is, for a message: `an object with the keys 'a', 'b'`."""
    if isinstance(value, dict):
        keys = ", ".join(f"{key!r:.40}" for key in list(value)[:6])
        return f"an object with the keys {keys}{', …' if len(value) > 6 else ''}"
    if isinstance(value, list):
        return f"an array of {described(value[0])}" if value else "an empty array"
    return f"{value!r:.40}"


# Tables in parquet.

_ROWS, _NESTED_ROWS = 1 << 16, 1 << 8
"""Rows of a batch; fewer where values are lists or structs, whose texts are not shared."""


def rows_of_parquet(path: Path) -> Rows:
    """The rows of a parquet file, numbered from 1, of which a batch is held.

    A batch holds each text of its group of rows once, however many rows have it.
    """
    with file_problems(path), reading(path):
        schema = _pyarrow().parquet.read_schema(file_of(path))
    _refuse_repeated(str(path), schema.names)
    return Rows(path, "Parquet", schema.names, _parquet_rows(path, schema))


def _parquet_rows(path: Path, schema: Any) -> Iterator[NumberedRow]:
    arrow = _pyarrow()
    names = schema.names
    kinds = (arrow.string(), arrow.large_string(), arrow.binary(), arrow.large_binary())
    texts = [field.name for field in schema if field.type in kinds]
    number = size = 0
    with (
        file_problems(path),
        reading(path),
        arrow.parquet.ParquetFile(file_of(path), read_dictionary=texts) as file,
    ):
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        _check_size(path, sum(group.total_byte_size for group in groups))
        is_nested = any(map(arrow.types.is_nested, schema.types))
        for batch in file.iter_batches(_NESTED_ROWS if is_nested else _ROWS):
            size += sum(map(_size, batch.columns))
            _check_size(path, size)
            for cells in zip(*map(_values, batch.columns), strict=True):
                number += 1
                yield number, dict(zip(names, cells, strict=True))


def rows_of_arrow(path: Path) -> Rows:
    """The rows of an Arrow file or stream, as `save_to_disk` of datasets writes it."""
    arrow = _pyarrow()
    with file_problems(path), reading(path), arrow.memory_map(str(file_of(path))) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = arrow.ipc.open_file(source) if is_file else arrow.ipc.open_stream(source)
        table = opened.read_all()
    rows = (row for batch in table.to_batches(_ROWS) for row in batch.to_pylist())
    return Rows(path, "Arrow", table.column_names, enumerate(rows, start=1))


def _check_size(path: Path, size: int) -> None:
    """Raise `TooLarge` where so many bytes of rows are far more than texts shrink to."""
    if size > most_unpacked(file_of(path).stat().st_size):
        raise TooLarge(
            f"{path}: its rows hold more than {TIMES} times the file's size; write them as JSON "
            "Lines if they should"
        )


def _values(column: Any) -> list[Any]:
    """The values of a column; rows that share one share its memory."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    shared = column.dictionary.to_pylist()
    return [None if index is None else shared[index] for index in column.indices.to_pylist()]


def _size(column: Any) -> int:
    """The bytes of a column's values, were none of them shared."""
    if not hasattr(column, "dictionary"):
        return int(column.nbytes)
    import pyarrow.compute

    lengths = pyarrow.compute.binary_length(column.dictionary)
    total = pyarrow.compute.sum(lengths.cast("int64").take(column.indices))
    return int(total.as_py() or 0)


@contextmanager
def parquet_writer(
    path: Path, types: Mapping[str, str]
) -> Iterator[Callable[[Sequence[Any]], None]]:
    """A function that writes some rows, column by column, of a file with columns of these types."""
    arrow = _pyarrow()
    schema = arrow.schema({name: arrow.type_for_alias(kind) for name, kind in types.items()})
    with replacing_bytes(path) as out, arrow.parquet.ParquetWriter(out, schema) as writer:
        yield lambda columns: writer.write_table(arrow.table(list(columns), schema=schema))


def _pyarrow() -> Any:
    """The optional package with its modules for parquet and streams."""
    with needing(missing_extra("parquet", "parquet files need")):
        import pyarrow.ipc
        import pyarrow.parquet
    return pyarrow


def is_nested(value: Any) -> bool:
    """Whether a JSON value is an object of objects, as `{query: {document: grade}}`."""
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values())
