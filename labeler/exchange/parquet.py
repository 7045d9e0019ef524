"""Tables in parquet; runs are written with ir_measures' columns: `query_id`, `doc_id`, `score`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, Misconfigured
from labeler.exchange.tables import Rows
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import problem_of, reading
from labeler.files.read import file_of, file_problems
from labeler.messages import missing_extra
from labeler.trec.write import RankedPart

NEEDS = missing_extra("parquet", "parquet files need")
_COLUMNS = ["query_id", "doc_id", "score"]
_TYPES = ("string", "string", "double")
_ROWS = 1 << 16


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
    _, parquet = _pyarrow()
    number = 0
    with file_problems(path), _problems(path), parquet.ParquetFile(file_of(path)) as file:
        for batch in file.iter_batches(_ROWS, columns=list(names)):
            columns = [batch.column(name).to_pylist() for name in names]
            for cells in zip(*columns, strict=True):
                number += 1
                yield number, cells


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
