"""Looking after a store: check it, count it, forget replies, and give their room back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from labeler.errors import BadInput
from labeler.messages import moment
from labeler.report.table import Column, Table
from labeler.store.columns import REPLY
from labeler.store.keys import checksum
from labeler.store.sqlite.store import SqliteStore

FORGOTTEN_AT_ONCE = 10_000


class Verified(NamedTuple):
    """How many replies there are, and what is not as it was written."""

    replies: int
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The count, and the problems as they are said."""
        return self._asdict()


def verify(store: SqliteStore) -> Verified:
    """Check the file's structure, and every row against its checksum."""
    with store.reading() as connection:
        report = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    problems = [line for line in report if line != "ok"]
    count = 0
    for number, stored_sum, *values in _rows(store, f"checksum, {REPLY}", "replies"):
        count += 1
        if stored_sum != checksum(*values):
            problems.append(f"reply {number} ({values[0].hex()[:16]}…)")
    for number, stored_sum, *values in _rows(store, "checksum, request, body", "wires"):
        if stored_sum != checksum(*values):
            problems.append(f"request or body of reply {number}")
    return Verified(count, tuple(problems))


def _rows(store: SqliteStore, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a table, a few at a time, in the order in which they were written."""
    last = 0
    query = f"SELECT id, {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT 500"
    while True:
        with store.reading() as connection:
            rows = connection.execute(query, (last,)).fetchall()
        if not rows:
            return
        yield from rows
        last = rows[-1][0]


class ModelCount(NamedTuple):
    """What is kept of one model; the cost is None where no price was known."""

    model: str
    replies: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    first: float
    last: float


def statistics(store: SqliteStore) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    query = (
        "SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost), min(at),"
        " max(at) FROM replies GROUP BY model ORDER BY 2 DESC, 1"
    )
    with store.reading() as connection:
        return [ModelCount(*row) for row in connection.execute(query)]


_COLUMNS = (
    Column("model", align="left"),
    Column("replies", format=",d"),
    Column("tokens in", format=",d"),
    Column("tokens out", format=",d"),
    Column("cost", format="$", undefined="unknown"),
    Column("last", align="left"),
)


def statistics_table(counts: Sequence[ModelCount], note: str = "") -> Table:
    """What is kept as a table, with the time of each model's last reply."""
    rows = [
        (
            count.model,
            count.replies,
            count.tokens_in,
            count.tokens_out,
            count.cost,
            moment(count.last)[:16],
        )
        for count in counts
    ]
    return Table("store", _COLUMNS, rows, note=note)


def prune(store: SqliteStore, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many.

    Each transaction forgets some of them, so that processes that judge meanwhile wait for none
    long.
    """
    conditions, values = ["id > ?"], list[Any]()
    if model is not None:
        conditions.append("model = ?")
        values.append(model)
    if before is not None:
        conditions.append("at < ?")
        values.append(_timestamp(before))
    query = f"SELECT id FROM replies WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?"
    forgotten, last = 0, 0
    while True:
        with store.writing() as connection:
            ids = connection.execute(query, (last, *values, FORGOTTEN_AT_ONCE)).fetchall()
            connection.executemany("DELETE FROM wires WHERE id = ?", ids)
            connection.executemany("DELETE FROM replies WHERE id = ?", ids)
        if not ids:
            return forgotten
        forgotten, last = forgotten + len(ids), ids[-1][0]


def _timestamp(day: str) -> float:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise BadInput(f"{day!r} is not a day; expected one as 2026-01-31")
    try:
        return datetime.fromisoformat(day).astimezone().timestamp()
    except ValueError as error:
        raise BadInput(f"{day!r} is not a day: {error}") from error


def collect_garbage(store: SqliteStore) -> tuple[int, int]:
    """Give unused room back to the disk; the file's bytes before and after."""
    with store.reading() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = store.path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, store.path.stat().st_size
