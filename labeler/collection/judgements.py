"""`judgements/NAME.jsonl`: one row a pair, with its grade or why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.data import FAILURES, JUDGED, Failure, Judged, Judgement, Outcome, Pair, Qrels
from labeler.errors import BadInput
from labeler.files.jsonl import identifier, read_rows, row_of_line, text_of
from labeler.files.read import numbered_lines


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


class Rows:
    """Writes the rows of one origin: `line` is that of one pair, without its line end."""

    def __init__(self, origin: Origin) -> None:
        made_by = {
            "prompt": origin.prompt,
            "asked": origin.model,
            "parameters": dict(origin.parameters),
        }
        self._end = _ENCODER.encode(made_by)[1:]

    def line(self, judged: Judged) -> str:
        """The line of one pair: its outcome, what that took, then the origin."""
        query, document = judged.outcome.pair
        cost = "null" if judged.cost is None else _ENCODER.encode(judged.cost)
        return (
            f'{{"query_id": {_QUOTED(query)}, "doc_id": {_QUOTED(document)}, '
            f'{_said(judged.outcome)}, "attempts": {judged.attempts:d}, '
            f'"prompt_tokens": {judged.prompt_tokens:d}, '
            f'"completion_tokens": {judged.completion_tokens:d}, "cost": {cost}, '
            f'"model": {_QUOTED(judged.model)}, {self._end}'
        )


_ENCODER = json.JSONEncoder(ensure_ascii=False)
_QUOTED = _ENCODER.encode


def _said(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        status, detail = _QUOTED(outcome.status), _QUOTED(outcome.detail)
        return f'"grade": null, "status": {status}, "detail": {detail}'
    reason = "null" if outcome.reason is None else _QUOTED(outcome.reason)
    said = f'"grade": {outcome.grade:d}, "status": "{JUDGED}", "reason": {reason}'
    shares = outcome.distribution
    return f'{said}, "distribution": {_ENCODER.encode(dict(shares))}' if shares else said


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
    known: set[str] = set()
    for number, line in numbered_lines(path):
        plain = _PLAIN.fullmatch(line)
        if plain and (plain[5] in known or _ends_well(path, number, plain[5])):
            known.add(plain[5])
            if plain[4]:
                row_of_line(path, number, plain[4])
            yield plain[1], plain[2], int(plain[3])
        elif line.strip():
            row = row_of_line(path, number, line)
            outcome = _outcome(path, number, row, _pair(path, number, row))
            if isinstance(outcome, Judgement):
                yield (*outcome.pair, outcome.grade)


_ID = r'"([^"\\\s\x00-\x1f]+)"'
_TEXT = r'(?:null|"[^"\\\x00-\x1f]*")'
_COUNT = "(?:0|[1-9][0-9]{0,17})"
_NUMBER = rf"{_COUNT}(?:\.[0-9]{{1,20}})?(?:e-[0-9]{{2,3}})?"
_SHARE = rf'"-?[0-9]{{1,9}}": {_NUMBER}'
_PLAIN = re.compile(
    rf'\{{"query_id": {_ID}, "doc_id": {_ID}, "grade": (-?(?:0|[1-9][0-9]{{0,8}})), '
    rf'"status": "{JUDGED}", "reason": {_TEXT}, '
    rf'(?:"distribution": (\{{{_SHARE}(?:, {_SHARE})*\}}), )?"attempts": {_COUNT}, '
    rf'"prompt_tokens": {_COUNT}, "completion_tokens": {_COUNT}, '
    rf'"cost": (?:null|{_NUMBER}), "model": {_TEXT}, ("prompt": .*\}})'
)
"""A judgement as `Rows` writes nearly all, which needs no parser to be known as well-formed; its
last group, what the rows of one origin share, is read once."""


def _ends_well(path: Path, number: int, end: str) -> bool:
    """Whether a row's end is well-formed and names nothing that stands before it."""
    row = row_of_line(path, number, "{" + end)
    _origin(path, number, row)
    return list(row) == ["prompt", "asked", "parameters"]


def qrels_of(path: Path) -> Qrels:
    """The grades of a file of judgements; failures are left out."""
    qrels: Qrels = {}
    for row in read_judgements(path):
        outcome = row.judged.outcome
        if isinstance(outcome, Judgement):
            qrels.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade
    return qrels
