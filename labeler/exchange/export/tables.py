"""Tables: CSV, Quepid's ratings, and the Parquet folder that Hugging Face and MTEB load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from labeler.exchange.export.content import (
    Content,
    Export,
    Write,
    lost,
    nothing_lost,
    refuse_equal_texts,
)
from labeler.exchange.tables import parquet_writer
from labeler.exchange.written import write_table
from labeler.files.atomic import replacing

Rows = Iterable[Sequence[object]]
_FORMULA = ("=", "+", "-", "@")
_BATCH = 10_000


def _write_csv(columns: Sequence[str], rows: Rows, path: Path) -> None:
    write_table(path, columns, rows)


def _csv_files(content: Content) -> dict[str, Write]:
    documents = ((d.id, d.title, d.text) for d in content.documents.values())
    queries = ((q.id, q.text) for q in content.queries.values())
    tables: dict[str, tuple[Sequence[str], Rows]] = {
        "documents.csv": (("doc_id", "title", "text"), documents),
        "queries.csv": (("query_id", "text"), queries),
        "qrels.csv": (("query_id", "doc_id", "grade"), content.grades()),
    }
    return {name: partial(_write_csv, *table) for name, table in tables.items()}


def _csv_losses(content: Content) -> list[str]:
    documents = ((d.id, d.title, d.text) for d in content.documents.values())
    cells = (cell for row in documents for cell in row)
    queries = (cell for q in content.queries.values() for cell in (q.id, q.text))
    formulas = sum(cell.startswith(_FORMULA) for part in (cells, queries) for cell in part)
    what = "with = + - or @, which a spreadsheet takes for a formula; programs read it as it is"
    return lost(formulas, "cell begins", "cells begin", what)


CSV = Export(
    _csv_files, _csv_losses, 'pandas.read_csv("{}/qrels.csv", dtype=str, keep_default_na=False)'
)


def _quepid_files(content: Content) -> dict[str, Write]:
    refuse_equal_texts(content, "Quepid")
    rows = ((content.queries[q].text, d, grade) for q, d, grade in content.grades())
    return {"ratings.csv": partial(_write_csv, ("query", "docid", "rating"), rows)}


QUEPID = Export(_quepid_files, nothing_lost, "Quepid: a case, Import, Ratings, {}")

_CARD = """---
configs:
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus.parquet
- config_name: queries
  data_files:
  - split: queries
    path: queries.parquet
- config_name: default
  default: true
  data_files:
  - split: test
    path: qrels.parquet
task_categories:
- text-retrieval
---
A test collection for retrieval: `corpus` and `queries` with `_id` and `text`, and their grades.
"""


def _parquet_files(content: Content) -> dict[str, Write]:
    documents = ((d.id, d.title, d.text) for d in content.documents.values())
    queries = ((q.id, q.text) for q in content.queries.values())

    def card(path: Path) -> None:
        with replacing(path) as out:
            out.write(_CARD)

    tables: dict[str, tuple[Sequence[str], Rows]] = {
        "corpus.parquet": (("_id", "title", "text"), documents),
        "queries.parquet": (("_id", "text"), queries),
        "qrels.parquet": (("query-id", "corpus-id", "score"), content.grades()),
    }
    written: dict[str, Write] = {name: partial(_write_parquet, *t) for name, t in tables.items()}
    return {**written, "README.md": card}


def _write_parquet(columns: Sequence[str], rows: Rows, path: Path) -> None:
    """Write texts, and the one column of grades as integers, some thousand rows at a time."""
    types = {name: "int32" if name == "score" else "string" for name in columns}
    source = iter(rows)
    with parquet_writer(path, types) as write:
        while batch := list(islice(source, _BATCH)):
            write([[row[column] for row in batch] for column in range(len(columns))])


HUGGING_FACE = Export(_parquet_files, nothing_lost, 'datasets.load_dataset("{}", "corpus")')
MTEB = Export(
    _parquet_files,
    nothing_lost,
    'mteb.abstasks.retrieval_dataset_loaders.RetrievalDatasetLoader("{}", None).load()',
)
