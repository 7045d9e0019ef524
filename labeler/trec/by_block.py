"""Whole qrels and runs as dicts, many lines at a time; the slow readers judge unusual files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from labeler.trec.columns import Fields, Irregular, Stretches, fields
from labeler.trec.index import BLOCK, Kind
from labeler.trec.rows import LONGEST_ID


def numbers_by_query(path: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    """The number of each document of each query, in the file's order.

    Raises `Irregular` or `BadInput` where a line is not plain, or names a pair a second time.
    """
    table: dict[str, dict[str, Any]] = {}
    for part in fields(path, kind.columns, BLOCK):
        if int((part.ends - part.starts)[:, [0, 2]].max()) > LONGEST_ID:
            raise Irregular
        values, documents, stretches = (
            kind.values(part).tolist(),
            _documents(part),
            Stretches.of(part),
        )
        edges = pairwise(stretches.edges.tolist())
        for query, (first, end) in zip(stretches.names, edges, strict=True):
            own = table.setdefault(query.decode(), {})
            count = len(own) + end - first
            own.update(zip(documents[first:end], values[first:end], strict=True))
            if len(own) < count:
                raise Irregular
    return table


def _documents(part: Fields) -> list[str]:
    """The document of each line."""
    text = part.text.tobytes()
    ends = zip(part.starts[:, 2].tolist(), part.ends[:, 2].tolist(), strict=True)
    return [text[start:end].decode() for start, end in ends]
