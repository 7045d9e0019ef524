"""Looking after a store: check, count, forget, and give room back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from labeler.errors import BadInput
from labeler.messages import moment
from labeler.report.table import Column, Table
from labeler.store.base import REPLY, Statements, checksum
from labeler.store.replies import Store

ROWS_AT_ONCE = 500
FORGOTTEN_AT_ONCE = 10_000
"""How many replies one transaction forgets, so that processes that judge meanwhile wait little."""


class Verified(NamedTuple):
    """How many replies there are, and what is not as it was written."""

    replies: int
    problems: Sequence[str]


class ModelCount(NamedTuple):
    """What is kept of one model; the cost is None where no price was known."""

    model: str
    replies: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    first: float
    last: float


def verify(store: Store) -> Verified:
    """Check the database as such, and every row against its checksum."""
    problems, count = store.database.problems(), 0
    for number, stored_sum, *values in _rows(store, f"checksum, {REPLY}", "replies"):
        count += 1
        if stored_sum != checksum(*values):
            problems.append(f"reply {number} ({values[0].hex()[:16]}…)")
    for number, stored_sum, *values in _rows(store, "checksum, request, body", "wires"):
        if stored_sum != checksum(*values):
            problems.append(f"request or body of reply {number}")
    bare = "SELECT id FROM replies WHERE id NOT IN (SELECT id FROM wires) ORDER BY id"
    problems += [f"reply {number} has no request and no body" for (number,) in store.rows(bare)]
    return Verified(count, tuple(problems))


def _rows(store: Store, columns: str, table: str) -> Iterator[Sequence[Any]]:
    """All rows of a table, a few at a time, in the order in which they were written."""
    last = 0
    query = f"SELECT id, {columns} FROM {table} WHERE id > :last ORDER BY id LIMIT {ROWS_AT_ONCE}"
    while rows := store.rows(query, last=last):
        yield from rows
        last = rows[-1][0]


def statistics(store: Store) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    query = (
        "SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost), min(at),"
        " max(at) FROM replies GROUP BY model ORDER BY 2 DESC, 1"
    )
    return [
        ModelCount(model, int(count), int(tokens_in), int(tokens_out), *rest)
        for model, count, tokens_in, tokens_out, *rest in store.rows(query)
    ]


def prune(store: Store, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many.

    Each transaction forgets some of them, so that who judges meanwhile does not wait long.
    """
    values: dict[str, Any] = {"last": 0}
    if model is not None:
        values["model"] = model
    if before is not None:
        values["before"] = timestamp_of(before)
    conditions = {"last": "id > :last", "model": "model = :model", "before": "at < :before"}
    some = f"FROM replies WHERE {' AND '.join(conditions[name] for name in values)}"
    some = f"SELECT id {some} ORDER BY id LIMIT {FORGOTTEN_AT_ONCE}"

    def forget(to: Statements) -> int:
        to.run(f"DELETE FROM wires WHERE id IN ({some})", **values)
        ids = to.run(f"DELETE FROM replies WHERE id IN ({some}) RETURNING id", **values)
        values["last"] = max((row[0] for row in ids), default=0)
        return len(ids)

    forgotten = 0
    while count := store.database.transaction(forget):
        forgotten += count
    return forgotten


def statistics_table(counts: Sequence[ModelCount], note: str = "") -> Table:
    """What is kept as a table, with the time of each model's last reply."""
    columns = (
        Column("model", align="left"),
        Column("replies"),
        Column("tokens in"),
        Column("tokens out"),
        Column("cost", format="$", undefined="unknown"),
        Column("last", align="left"),
    )
    return Table(
        "store", columns, [(*count[:5], moment(count.last)[:16]) for count in counts], note=note
    )


def timestamp_of(day: str) -> float:
    """When a day (`2026-01-31`) begins, by the clock of this machine."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise BadInput(f"{day!r} is not a day; expected one as 2026-01-31")
    try:
        return datetime.fromisoformat(day).astimezone().timestamp()
    except ValueError as error:
        raise BadInput(f"{day!r} is not a day: {error}") from error
