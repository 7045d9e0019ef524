"""Looking after a store in a database: check it, count it, forget replies, give back their room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labeler.errors import Misconfigured
from labeler.store.base import (
    FORGOTTEN_AT_ONCE,
    REPLY,
    ROWS_AT_ONCE,
    ModelCount,
    Verified,
    timestamp_of,
)
from labeler.store.keys import checksum
from labeler.store.postgres.store import PostgresStore, bytes_of, text_of, values_in

if TYPE_CHECKING:
    from pg8000.native import Connection

_TABLES = ("labeler.replies", "labeler.wires")
_OF_MODELS = (
    "SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost), min(at),"
    " max(at) FROM labeler.replies GROUP BY model ORDER BY 2 DESC, 1"
)


def verify(store: PostgresStore) -> Verified:
    """Check every row against its checksum, and that each reply has what was asked and answered."""
    problems: list[str] = []
    count = 0
    for number, stored_sum, *row in _rows(store, f"checksum, {REPLY}", _TABLES[0]):
        count += 1
        values = values_in(row)
        if bytes(stored_sum) != checksum(*values):
            problems.append(f"reply {number} ({values[0].hex()[:16]}…)")
    for number, stored_sum, request, body in _rows(store, "checksum, request, body", _TABLES[1]):
        asked = None if request is None else text_of(request)
        if bytes(stored_sum) != checksum(asked, bytes(body)):
            problems.append(f"request or body of reply {number}")
    bare = "SELECT id FROM labeler.replies r WHERE NOT EXISTS (SELECT 1 FROM labeler.wires w WHERE"
    for (number,) in store.rows(f"{bare} w.id = r.id) ORDER BY id"):
        problems.append(f"reply {number} has no request and no body")
    return Verified(count, tuple(problems))


def _rows(store: PostgresStore, columns: str, table: str) -> Iterator[list[Any]]:
    """All rows of a table, a few at a time, in the order in which they were written."""
    last = 0
    query = f"SELECT id, {columns} FROM {table} WHERE id > :last ORDER BY id LIMIT {ROWS_AT_ONCE}"
    while rows := store.rows(query, last=last):
        yield from rows
        last = rows[-1][0]


def statistics(store: PostgresStore) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    return [
        ModelCount(text_of(model), int(count), int(tokens_in), int(tokens_out), *rest)
        for model, count, tokens_in, tokens_out, *rest in store.rows(_OF_MODELS)
    ]


def size_of(store: PostgresStore) -> int:
    """How many bytes the replies take, with all that belongs to them."""
    sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in _TABLES)
    return int(store.rows(f"SELECT {sizes}")[0][0])


def prune(store: PostgresStore, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many.

    Each transaction forgets some of them, so that machines that judge meanwhile wait for none long.
    """
    conditions, values = [], dict[str, Any]()
    if model is not None:
        conditions.append("model = :model")
        values["model"] = bytes_of(model)
    if before is not None:
        conditions.append("at < :before")
        values["before"] = timestamp_of(before)
    query = (
        "WITH gone AS (DELETE FROM labeler.replies WHERE id IN (SELECT id FROM labeler.replies"
        f" WHERE {' AND '.join(conditions) or 'true'} ORDER BY id LIMIT {FORGOTTEN_AT_ONCE})"
        " RETURNING id), wired AS (DELETE FROM labeler.wires WHERE id IN (SELECT id FROM gone))"
        " SELECT count(*) FROM gone"
    )

    def forget(connection: Connection) -> int:
        return int(connection.run(query, **values)[0][0])

    forgotten = 0
    while some := store.transaction(forget):
        forgotten += some
    return forgotten


def collect_garbage(store: PostgresStore) -> tuple[int, int]:
    """Give unused room back to the disk; the bytes of the replies before and after.

    Meanwhile other machines wait. `Misconfigured` for who does not own the tables.
    """
    owner = "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE') FROM pg_class"
    name, is_owner = store.rows(f"{owner} WHERE oid = CAST('{_TABLES[0]}' AS regclass)")[0]
    if not is_owner:
        problem = f"{store.address}: only {name}, who owns the tables, can give their room back"
        raise Misconfigured(problem, parameter="store")
    before = size_of(store)
    for table in _TABLES:
        store.alone(f"VACUUM (FULL, ANALYZE) {table}")
    return before, size_of(store)
