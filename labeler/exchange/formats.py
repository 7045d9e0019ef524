"""The formats of other tools, and which of them a file is of.

A format is one function, from a JSON value or the rows of a table to `Contents`, or to None where
the value is something else. The first that knows a value reads it, for every command alike.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from labeler.exchange.contents import Contents
from labeler.exchange.nested import predictions
from labeler.exchange.opensearch import ranking_evaluation, workbench
from labeler.exchange.quepid import book, rated_ranking_evaluator
from labeler.exchange.rag import deepeval, llama_index, promptfoo, ragas
from labeler.exchange.responses import search_responses
from labeler.exchange.shapes import JSON, JSON_LINES, TREC, XML, head_of, shape_of
from labeler.exchange.tables import (
    first_cells,
    first_line,
    json_value,
    rows_of_columns,
    rows_of_json_lines,
    rows_of_text,
)
from labeler.files.boundary import reading

Format = Callable[[Any], Contents | None]

FORMATS: dict[str, Format] = {
    "OpenSearch's workbench": workbench,
    "_rank_eval": ranking_evaluation,
    "Quepid's books": book,
    "RRE": rated_ranking_evaluator,
    "search responses": search_responses,
    "LlamaIndex": llama_index,
    "ragas": ragas,
    "deepeval": deepeval,
    "promptfoo": promptfoo,
    "MTEB's predictions": predictions,
}
"""The registry: what each format is called, and what knows it."""


def recognised(value: Any) -> Contents | None:
    """What the first format that knows a value makes of it."""
    every = (of_format(value) for of_format in FORMATS.values())
    return next((contents for contents in every if contents is not None), None)


def contents_of(path: Path) -> Contents | None:
    """What a file of a known format holds; None of TREC's columns, plain tables and texts."""
    with reading(path):
        head = head_of(path)
        shape = shape_of(path, head)
        return recognised(json_value(path)) if shape == JSON else of_rows(path, shape, head)


def of_rows(path: Path, shape: str, head: bytes) -> Contents | None:
    """What the rows of a file hold, which are read where the first one is of a format's shape."""
    if shape in (TREC, XML):
        return None
    rows = rows_of_json_lines(path) if shape == JSON_LINES else rows_of_columns(path, shape)
    if rows is None:
        cells = first_cells(first_line(head))
        delimiter = next((by for by, names in cells.items() if _is_known(names)), " ")
        if delimiter == " ":
            return None
        rows = rows_of_text(path, delimiter)
    source = iter(rows.rows)
    first = next(source, None)
    if first is None or recognised([unpacked(first[1])]) is None:
        return None
    return recognised([unpacked(first[1]), *(unpacked(row) for _, row in source)])


def _is_known(names: Iterable[str]) -> bool:
    """Whether a table with these columns may be of a format."""
    return recognised([dict.fromkeys((name.strip() for name in names), "[]")]) is not None


def unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
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
