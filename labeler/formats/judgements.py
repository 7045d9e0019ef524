"""`judgements/NAME.jsonl`: one row a pair, with its grade or why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.data import FAILURES, JUDGED, Failure, Judged, Judgement, Outcome, Pair, Qrels
from labeler.errors import BadInput
from labeler.formats.jsonl import identifier, read_rows, text_of


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a set of judgements; two sets of one origin may share a name."""

    prompt: str
    model: str
    parameters: Mapping[str, Any]


class JudgementRow(NamedTuple):
    """One row: how judging the pair went, and what judged it."""

    judged: Judged
    origin: Origin


def row_of(judged: Judged, origin: Origin) -> str:
    """The line of one pair, without its line end."""
    row = {
        "query_id": judged.outcome.pair.query_id,
        "doc_id": judged.outcome.pair.doc_id,
        **_said(judged.outcome),
        "attempts": judged.attempts,
        "prompt_tokens": judged.prompt_tokens,
        "completion_tokens": judged.completion_tokens,
        "cost": judged.cost,
        "model": judged.model,
        "prompt": origin.prompt,
        "asked": origin.model,
        "parameters": dict(origin.parameters),
    }
    return _ENCODER.encode(row)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _said(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"grade": None, "status": outcome.status, "detail": outcome.detail}
    said = {"grade": outcome.grade, "status": JUDGED, "reason": outcome.reason}
    shares = outcome.distribution
    return {**said, "distribution": dict(shares)} if shares else said


def read_judgements(path: Path) -> Iterator[JudgementRow]:
    """The rows of a file in its order; only the ids, `grade` and `status` are required.

    Raises `BadInput` where a grade stands beside a failure's status, or none beside `judged`.
    """
    for number, row in read_rows(path):
        pair = _pair(path, number, row)
        judged = Judged(
            _outcome(path, number, row, pair),
            _count(row, "attempts"),
            _count(row, "prompt_tokens"),
            _count(row, "completion_tokens"),
            _cost(row),
            text_of(path, number, row, "model", ""),
        )
        yield JudgementRow(judged, _origin(path, number, row))


def _pair(path: Path, number: int, row: dict[str, Any]) -> Pair:
    return Pair(identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id"))


def _outcome(path: Path, number: int, row: dict[str, Any], pair: Pair) -> Outcome:
    grade, status = row.get("grade"), row.get("status")
    if status == JUDGED and type(grade) is int:
        reason, shares = row.get("reason"), row.get("distribution")
        distribution = {int(g): float(p) for g, p in shares.items()} if shares else None
        return Judgement(pair, grade, reason, distribution)
    if status in FAILURES and grade is None:
        return Failure(pair, str(status), text_of(path, number, row, "detail", ""))
    known = ", ".join((JUDGED, *FAILURES))
    problem = (
        f"grade {grade!r} with status {status!r}; a grade goes with {JUDGED!r} alone ({known})"
    )
    raise BadInput.at(path, number, problem)


def _origin(path: Path, number: int, row: dict[str, Any]) -> Origin:
    parameters = row.get("parameters") or {}
    prompt = text_of(path, number, row, "prompt", "")
    return Origin(prompt, text_of(path, number, row, "asked", ""), parameters)


def _count(row: dict[str, Any], key: str) -> int:
    value = row.get(key)
    return value if type(value) is int else 0


def _cost(row: dict[str, Any]) -> float | None:
    value = row.get("cost")
    return float(value) if isinstance(value, int | float) else None


def origin_of(path: Path) -> Origin | None:
    """What made the judgements in a file; None where there is no file, or no row in it."""
    if not path.exists():
        return None
    return next((row.origin for row in read_judgements(path)), None)


def grades_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """The query, document and grade of each row that has one, in the file's order."""
    for number, row in read_rows(path):
        outcome = _outcome(path, number, row, _pair(path, number, row))
        if isinstance(outcome, Judgement):
            yield (*outcome.pair, outcome.grade)


def qrels_of(path: Path) -> Qrels:
    """The grades of a file of judgements; failures are left out."""
    qrels: Qrels = {}
    for row in read_judgements(path):
        outcome = row.judged.outcome
        if isinstance(outcome, Judgement):
            qrels.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade
    return qrels
