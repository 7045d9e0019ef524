"""Qrels of ranx and pytrec_eval in JSON: `{query: {document: grade}}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labeler.exchange.judged import RatedFile, Rating


def nested_qrels(value: Any) -> RatedFile | None:
    """The grades of a nested object; `None` where the value is something else."""
    if not isinstance(value, dict) or not value:
        return None
    if not all(isinstance(grades, dict) for grades in value.values()):
        return None
    if any(isinstance(x, dict | list) for grades in value.values() for x in grades.values()):
        return None
    return RatedFile("qrels from JSON ({query: {document: grade}})", _ratings(value))


def _ratings(value: dict[str, dict[str, Any]]) -> Iterator[Rating]:
    number = 0
    for query, grades in value.items():
        for document, grade in grades.items():
            number += 1
            yield Rating(number, query, document, grade)
