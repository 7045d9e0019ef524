"""Runs in parquet, with the columns of ir_measures' DataFrames: `query_id`, `doc_id`, `score`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, Misconfigured
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import problem_of, reading
from labeler.files.read import file_problems
from labeler.messages import missing_extra
from labeler.trec.values import ids_of, score_of
from labeler.trec.write import RankedPart

NEEDS = missing_extra("parquet", "parquet files need")
_COLUMNS = ["query_id", "doc_id", "score"]
_ROWS = 1 << 16


def read_parquet_run(path: Path) -> Iterator[tuple[str, str, float]]:
    """The query, document and score of each row of a parquet file."""
    arrow, parquet = _pyarrow()
    with file_problems(path), reading(path) as position:
        try:
            with parquet.ParquetFile(path) as file:
                _check_columns(path, file.schema_arrow.names)
                for batch in file.iter_batches(_ROWS, columns=_COLUMNS):
                    columns = [batch.column(name).to_pylist() for name in _COLUMNS]
                    for query, document, score in zip(*columns, strict=True):
                        position.line += 1
                        where = f"{path}:{position.line}"
                        yield *ids_of(where, query, document), score_of(where, score)
        except arrow.ArrowException as error:
            raise BadInput(f"{path}: not parquet: {problem_of(error)}") from error


def _check_columns(path: Path, names: Sequence[str]) -> None:
    """`BadInput` where a column is missing, or stands there twice."""
    for name in _COLUMNS:
        if names.count(name) != 1:
            problem = f"no column {name}" if name not in names else f"two columns are called {name}"
            raise BadInput(f"{path}: {problem}; expected {', '.join(_COLUMNS)}")


def write_parquet_run(path: Path, parts: Iterable[RankedPart], _tag: str) -> int:
    """Write a run's queries, documents and scores, a row each; how many there are."""
    arrow, parquet = _pyarrow()
    types = (arrow.string(), arrow.string(), arrow.float64())
    schema = arrow.schema(dict(zip(_COLUMNS, types, strict=True)))
    count = 0
    with replacing_bytes(path) as out, parquet.ParquetWriter(out, schema) as writer:
        for part in parts:
            count += len(part.query)
            names = [part.names[query].decode() for query in part.query.tolist()]
            ids = [doc_id.decode() for doc_id in part.documents]
            writer.write_table(arrow.table([names, ids, part.score], schema=schema))
    return count


def _pyarrow() -> tuple[Any, Any]:
    """The optional package and its parquet module."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Misconfigured(NEEDS) from error
    return pyarrow, pyarrow.parquet
