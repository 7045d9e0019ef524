"""The chances with which queries were drawn for people: a line `query chance` each."""

from __future__ import annotations

from pathlib import Path

from labeler.errors import BadInput
from labeler.files.numbers import finite
from labeler.trec.rows import rows, shown, texts


def read_chances(path: Path) -> dict[str, float]:
    """The chance of each query to be drawn, above 0 and at most 1."""
    chances: dict[str, float] = {}
    for number, columns in rows(path, "query chance"):
        (query_id,) = texts(path, number, columns[0])
        chance = _number(columns[1])
        if not chance:
            problem = f"expected a chance above 0 and at most 1, found {shown(columns[1])}"
            raise BadInput.at(path, number, problem)
        if query_id in chances:
            problem = f"the query {query_id:.80} stands in an earlier line too"
            raise BadInput.at(path, number, problem)
        chances[query_id] = chance
    return chances


def _number(text: bytes) -> float | None:
    try:
        return finite(float(text), 0.0, 1.0)
    except ValueError:
        return None
