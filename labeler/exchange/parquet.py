"""Tables in parquet; runs are written with ir_measures' columns: `query_id`, `doc_id`, `score`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, Misconfigured, TooLarge
from labeler.exchange.tables import Rows
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import problem_of, reading
from labeler.files.read import TIMES, file_of, file_problems, most_unpacked
from labeler.messages import missing_extra
from labeler.trec.write import RankedPart

NEEDS = missing_extra("parquet", "parquet files need")
_COLUMNS = ["query_id", "doc_id", "score"]
_TYPES = ("string", "string", "double")
_ROWS, _NESTED_ROWS = 1 << 16, 1 << 8
"""Rows of a batch; fewer where values are lists or structs, whose texts are not shared."""


def rows_of_parquet(path: Path) -> Rows:
    """The rows of a parquet file, numbered from 1, of which a batch is held."""
    _, parquet = _pyarrow()
    with file_problems(path), _problems(path), parquet.ParquetFile(file_of(path)) as file:
        names = tuple(file.schema_arrow.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{path}: two columns are called {twice}")

    def selected(columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        return _cells(path, columns)

    rows = ((number, dict(zip(names, cells, strict=True))) for number, cells in _cells(path, names))
    return Rows("Parquet", names, rows, selected)


def _cells(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    number = 0
    for batch in batches_of_parquet(path, names):
        columns = [batch.column(name) for name in names]
        for cells in zip(*map(_values, columns), strict=True):
            number += 1
            yield number, cells


def parquet_columns(path: Path) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names of a file's columns, and which of them hold lists or structs."""
    arrow, parquet = _pyarrow()
    with file_problems(path), _problems(path), parquet.ParquetFile(file_of(path)) as file:
        fields = list(file.schema_arrow)
    nested = frozenset(field.name for field in fields if arrow.types.is_nested(field.type))
    return tuple(field.name for field in fields), nested


def batches_of_parquet(
    path: Path, names: Sequence[str], *, is_shared: bool = True
) -> Iterator[Any]:
    """Some columns of a file of Parquet in pyarrow's batches, of which one is held.

    Where texts are shared, a batch holds each text of its group of rows once, however many there
    are; else those of its own rows.
    """
    arrow, parquet = _pyarrow()
    opened = _opened if is_shared else lambda path: parquet.ParquetFile(file_of(path))
    with file_problems(path), _problems(path), opened(path) as file:
        size = 0
        _check_size(path, sum(group.total_byte_size for group in _groups(file)))
        is_nested = any(map(arrow.types.is_nested, file.schema_arrow.types))
        for batch in file.iter_batches(_NESTED_ROWS if is_nested else _ROWS, columns=list(names)):
            size += sum(_size(batch.column(name)) for name in names)
            _check_size(path, size)
            yield batch


def _opened(path: Path) -> Any:
    """A parquet file, each text of which is held once however many rows have it."""
    arrow, parquet = _pyarrow()
    kinds = (arrow.string(), arrow.large_string(), arrow.binary(), arrow.large_binary())
    texts = [field.name for field in parquet.read_schema(file_of(path)) if field.type in kinds]
    return parquet.ParquetFile(file_of(path), read_dictionary=texts)


def _groups(file: Any) -> Iterator[Any]:
    """What a parquet file says of each of its groups of rows."""
    return map(file.metadata.row_group, range(file.num_row_groups))


def _check_size(path: Path, size: int) -> None:
    """Raise `TooLarge` where so many bytes of rows are far more than texts shrink to."""
    if size > most_unpacked(file_of(path).stat().st_size):
        problem = f"its rows hold more than {TIMES} times the file's size"
        raise TooLarge(f"{path}: {problem}; write them as JSON Lines if they should")


def _values(column: Any) -> list[Any]:
    """The values of a column; rows that share one share its memory."""
    if not hasattr(column, "dictionary"):
        values: list[Any] = column.to_pylist()
        return values
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
def _problems(path: Path) -> Iterator[None]:
    """`BadInput` of what pyarrow raises."""
    arrow, _ = _pyarrow()
    try:
        with reading(path):
            yield
    except arrow.ArrowException as error:
        raise BadInput(f"{path}: not parquet: {problem_of(error)}") from error


def write_parquet_run(path: Path, parts: Iterable[RankedPart], _tag: str) -> int:
    """Write a run's queries, documents and scores, a row each; how many there are."""
    count = 0
    with parquet_writer(path, dict(zip(_COLUMNS, _TYPES, strict=True))) as write:
        for part in parts:
            count += len(part.query)
            names = [part.names[query].decode() for query in part.query.tolist()]
            write([names, [doc_id.decode() for doc_id in part.documents], part.score])
    return count


@contextmanager
def parquet_writer(
    path: Path, types: Mapping[str, str]
) -> Iterator[Callable[[Sequence[Any]], None]]:
    """A function that writes some rows, column by column, of a file with columns of these types."""
    arrow, parquet = _pyarrow()
    schema = arrow.schema({name: arrow.type_for_alias(kind) for name, kind in types.items()})
    with replacing_bytes(path) as out, parquet.ParquetWriter(out, schema) as writer:
        yield lambda columns: writer.write_table(arrow.table(list(columns), schema=schema))


def _pyarrow() -> tuple[Any, Any]:
    """The optional package and its parquet module."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Misconfigured(NEEDS) from error
    return pyarrow, pyarrow.parquet
