"""Looking after a store: check it, count it, move its replies, and give back room."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.store.keys import checksum
from labeler.store.sqlite import exported
from labeler.store.sqlite.replies import Store, rows_of
from labeler.store.sqlite.schema import REPLY

_WIRE = "checksum, request, body"


class Verified(NamedTuple):
    """How many replies there are, and what is not as it was written."""

    replies: int
    problems: tuple[str, ...]


def verify(store: Store) -> Verified:
    """Check the file's structure, and every row against its checksum."""
    with store.reading() as connection:
        said = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    problems = [line for line in said if line != "ok"]
    count = 0
    for number, kept, *values in rows_of(store, f"checksum, {REPLY}", "replies"):
        count += 1
        if kept != checksum(*values):
            problems.append(f"reply {number} ({values[0].hex()[:16]}…)")
    for number, kept, request, body in rows_of(store, _WIRE, "wires"):
        if kept != checksum(request, body):
            problems.append(f"request or body of reply {number}")
    return Verified(count, tuple(problems))


class ModelCount(NamedTuple):
    """What is kept of one model; the cost is None where no price was known."""

    model: str
    replies: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    first: float
    last: float


def statistics(store: Store) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    query = (
        "SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost), min(at),"
        " max(at) FROM replies GROUP BY model ORDER BY 2 DESC, 1"
    )
    with store.reading() as connection:
        return [ModelCount(*row) for row in connection.execute(query)]


def export(store: Store, path: Path) -> int:
    """Write every reply as a line of JSON, in the order of their arrival; how many."""
    count = 0
    with replacing(path) as out:
        for row in _exported(store):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _exported(store: Store) -> Iterator[dict[str, Any]]:
    names = ", ".join(f"r.{name}" for name in exported.COLUMNS)
    last = 0
    while True:
        query = (
            f"SELECT r.id, r.checksum, w.checksum, w.request, w.body, {names} FROM replies r"
            " JOIN wires w USING (id) WHERE r.id > ? ORDER BY r.id LIMIT 500"
        )
        with store.reading() as connection:
            rows = connection.execute(query, (last,)).fetchall()
        if not rows:
            return
        for number, reply_sum, wire_sum, request, body, *reply in rows:
            last = number
            yield exported.written(exported.Row(reply, reply_sum, (request, body), wire_sum))


def import_rows(store: Store, rows: Iterator[tuple[int, dict[str, Any]]], path: Path) -> int:
    """Take in what `export` wrote; a reply that is there already stays; how many were new."""
    new = 0
    with store.writing() as connection:
        for number, row in rows:
            new += _take_in(connection, row, path, number)
    return new


def _take_in(connection: sqlite3.Connection, row: dict[str, Any], path: Path, number: int) -> int:
    try:
        found = exported.read(row)
    except ValueError as error:
        problem = f"not a row that `labeler store export` wrote ({error})"
        raise BadInput.at(path, number, problem) from error
    marks = ",".join("?" * len(found.reply))
    query = f"INSERT OR IGNORE INTO replies (checksum, {REPLY}) VALUES (?, {marks})"
    done = connection.execute(query, (found.reply_sum, *found.reply))
    if done.rowcount == 1:
        placed = (done.lastrowid, found.wire_sum, *found.wire)
        connection.execute("INSERT OR REPLACE INTO wires VALUES (?, ?, ?, ?)", placed)
    return done.rowcount


def prune(store: Store, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many."""
    conditions, values = ["1"], list[Any]()
    if model is not None:
        conditions.append("model = ?")
        values.append(model)
    if before is not None:
        conditions.append("at < ?")
        values.append(_timestamp(before))
    where = " AND ".join(conditions)
    with store.writing() as connection:
        wires = f"DELETE FROM wires WHERE id IN (SELECT id FROM replies WHERE {where})"
        connection.execute(wires, values)
        return connection.execute(f"DELETE FROM replies WHERE {where}", values).rowcount


def _timestamp(day: str) -> float:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise BadInput(f"{day!r} is not a day; expected one as 2026-01-31")
    try:
        return datetime.fromisoformat(day).astimezone().timestamp()
    except ValueError as error:
        raise BadInput(f"{day!r} is not a day: {error}") from error


def collect_garbage(store: Store) -> tuple[int, int]:
    """Give unused room back to the disk; the file's bytes before and after."""
    with store.reading() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = store.path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, store.path.stat().st_size


class Record(NamedTuple):
    """One reply as it is kept: when, from whom, what was asked and what came over the wire."""

    at: float
    served: str
    text: str
    finish_reason: str
    refusal: str | None
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    request: str | None
    body: bytes


_RECORD = (
    "at, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, cost, request,"
    " body"
)


def records_with(store: Store, model_id: str, parts: tuple[str, str]) -> list[Record]:
    """What is kept of a model's replies to requests whose canonical text holds both parts."""
    query = (
        f"SELECT {_RECORD} FROM replies JOIN wires USING (id)"
        " WHERE model = ? AND instr(request, ?) AND instr(request, ?) ORDER BY id"
    )
    with store.reading() as connection:
        return [Record(*row) for row in connection.execute(query, (model_id, *parts))]


def record_of(store: Store, key: bytes) -> Record | None:
    """What is kept under a key."""
    query = f"SELECT {_RECORD} FROM replies JOIN wires USING (id) WHERE key = ?"
    with store.reading() as connection:
        row = connection.execute(query, (key,)).fetchone()
    return Record(*row) if row else None


def failure_of(store: Store, key: bytes) -> tuple[float, str, str] | None:
    """When and how the last call under a key failed for good."""
    query = "SELECT abs(at), status, detail FROM failures WHERE key = ?"
    with store.reading() as connection:
        row = connection.execute(query, (key,)).fetchone()
    return (float(row[0]), str(row[1]), str(row[2])) if row else None
