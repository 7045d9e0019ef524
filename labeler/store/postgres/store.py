"""A store in PostgreSQL: the same keys, rows and leases as in a file, for several machines."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.errors import BadInput, FileProblem, LabelerError
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.model import Reply
from labeler.store.base import (
    LEASE_SECONDS,
    REPLY,
    Failed,
    Granted,
    KeyedReply,
    LeaseHolder,
    Record,
    Waiting,
    WriteBatch,
    has_ended,
    reply_of,
    this_process,
    values_of,
)
from labeler.store.keys import checksum
from labeler.store.postgres.address import DatabaseAddress
from labeler.store.postgres.connection import TABLES, VERSION, DatabaseConnection, Rows
from labeler.store.sqlite.open import Rescue, saved_beside, store_problems

if TYPE_CHECKING:
    from pg8000.native import Connection

# The rows of a store in PostgreSQL: many written by one statement, and read back as they were.

_COLUMNS = REPLY.split(", ")
_TEXTS = frozenset({"model", "served", "text", "finish_reason", "refusal", "sent", "top_tokens"})
_BYTES = _TEXTS | {"key"}
_REALS = frozenset({"at", "cost"})


def _kind(column: str) -> str:
    """What a column is in JSON: bytes are in hex."""
    if column in _BYTES:
        return f"{column} text"
    return f"{column} {'double precision' if column in _REALS else 'bigint'}"


def _from_json(column: str) -> str:
    return f"decode({column}, 'hex')" if column in _BYTES else column


_INSERT = f"""
WITH given AS (
    SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS row(
        number integer, checksum text, {", ".join(map(_kind, _COLUMNS))},
        wire_sum text, request text, body text
    )
), kept AS (
    INSERT INTO labeler.replies (checksum, {REPLY})
    SELECT decode(checksum, 'hex'), {", ".join(map(_from_json, _COLUMNS))}
    FROM given ORDER BY number
    ON CONFLICT (key) DO NOTHING RETURNING id, key
), wired AS (
    INSERT INTO labeler.wires (id, checksum, request, body)
    SELECT DISTINCT ON (kept.id) kept.id, decode(wire_sum, 'hex'), decode(request, 'hex'),
        decode(body, 'hex')
    FROM kept JOIN given ON decode(given.key, 'hex') = kept.key ORDER BY kept.id, given.number
), cleared AS (
    DELETE FROM labeler.failures WHERE key IN (SELECT key FROM kept)
)
SELECT key FROM kept
"""


class StoredRow(NamedTuple):
    """A reply as it is written: its checksum, its columns, and its request and body with theirs."""

    checksum: bytes
    values: Sequence[Any]
    wire_sum: bytes
    request: str | None
    body: bytes


def row_of(keyed: KeyedReply, *, redacted: bool) -> StoredRow:
    """A reply as a row, without its request's text where that is `redacted`."""
    values = values_of(keyed)
    wire = (None if redacted else keyed.request, keyed.reply.body)
    return StoredRow(checksum(*values), values, checksum(*wire), *wire)


def insert(connection: Connection, rows: Iterable[StoredRow]) -> set[bytes]:
    """Write rows; the keys of those that are the first under their keys, and so were kept."""
    written = json.dumps([_as_json(number, row) for number, row in enumerate(rows)])
    return {bytes(key) for (key,) in connection.run(_INSERT, rows=written) or ()}


def _as_json(number: int, row: StoredRow) -> dict[str, Any]:
    cells = zip(_COLUMNS, row.values, strict=True)
    return {
        "number": number,
        "checksum": row.checksum.hex(),
        **{name: _hex(value) if name in _BYTES else value for name, value in cells},
        "wire_sum": row.wire_sum.hex(),
        "request": _hex(row.request),
        "body": _hex(row.body),
    }


def _hex(value: str | bytes | None) -> str | None:
    if value is None:
        return None
    return (value if isinstance(value, bytes) else bytes_of(value)).hex()


def bytes_of(text: str) -> bytes:
    """A text as it is kept."""
    return text.encode("utf-8", "surrogatepass")


def text_of(value: bytes) -> str:
    """A kept text."""
    return bytes(value).decode("utf-8", "surrogatepass")


def values_in(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row of `REPLY` as it was before it was written."""
    return tuple(
        value
        if value is None
        else text_of(value)
        if name in _TEXTS
        else bytes(value)
        if name == "key"
        else value
        for name, value in zip(_COLUMNS, row, strict=True)
    )


_RECORD = (
    "at, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, cost, request,"
    " body"
)
RECORDS = f"SELECT {_RECORD} FROM labeler.replies JOIN labeler.wires USING (id)"
"""What `record_in` reads."""


def record_in(row: Sequence[Any]) -> Record:
    """All that is kept of a reply."""
    at, served, text, ending, refusal, tokens_in, tokens_out, cost, request, body = row
    texts = text_of(served), text_of(text), text_of(ending)
    refused = None if refusal is None else text_of(refusal)
    asked = None if request is None else text_of(request)
    return Record(at, *texts, refused, tokens_in, tokens_out, cost, asked, bytes(body))


# Leases in a database: which process of which machine is asking what, by the server's clock.
#
# All of it runs inside the caller's transaction.

_UNTIL = f"now() + interval '{LEASE_SECONDS:g} seconds'"
RENEW = f"UPDATE labeler.owners SET until = {_UNTIL} WHERE id = :owner RETURNING id"
"""The statement that renews the leases of an owner; without a row, it was forgotten."""

HOLDER = (
    "SELECT place, process, started FROM labeler.leases"
    " JOIN labeler.owners ON owners.id = leases.owner WHERE key = :key"
)
"""The statement that says who holds the lease on a key."""


def registered(connection: Connection, owner: int | None) -> int:
    """The number under which this process holds leases, renewed, or made anew."""
    if owner is not None and connection.run(RENEW, owner=owner):
        return owner
    holder = this_process()
    rows = connection.run(
        "INSERT INTO labeler.owners (place, process, started, until)"
        f" VALUES (:place, :process, :started, {_UNTIL}) RETURNING id",
        place=holder.machine,
        process=holder.process,
        started=holder.started,
    )
    return int(rows[0][0])


def claim(connection: Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    query = (
        "INSERT INTO labeler.leases SELECT unnest(CAST(:keys AS bytea[])), :owner"
        " ON CONFLICT DO NOTHING"
    )
    if keys:
        connection.run(query, keys=list(keys), owner=owner)
    return held_by(connection, owner, keys)


def held_by(connection: Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    if not keys:
        return set()
    query = "SELECT key FROM labeler.leases WHERE owner = :owner AND key = ANY(:keys)"
    return {bytes(key) for (key,) in connection.run(query, owner=owner, keys=list(keys))}


def release(connection: Connection, keys: Collection[bytes]) -> None:
    """End the leases on these keys."""
    if keys:
        connection.run("DELETE FROM labeler.leases WHERE key = ANY(:keys)", keys=list(keys))


def release_dead(connection: Connection) -> None:
    """Release the leases of processes that are gone: by the server's clock, or by a look here."""
    connection.run("DELETE FROM labeler.owners WHERE until < now()")
    query = "SELECT id, place, process, started FROM labeler.owners WHERE place = :place"
    for number, *holder in connection.run(query, place=this_process().machine):
        if has_ended(LeaseHolder(*holder)):
            connection.run("DELETE FROM labeler.owners WHERE id = :id", id=number)


def keep_failure(connection: Connection, failed: Failed) -> None:
    """Keep how a call failed."""
    connection.run(
        "INSERT INTO labeler.failures"
        " VALUES (:key, extract(epoch FROM clock_timestamp()), :status, :detail) ON CONFLICT (key)"
        " DO UPDATE SET at = excluded.at, status = excluded.status, detail = excluded.detail",
        key=failed.key,
        status=failed.status,
        detail=bytes_of(failed.detail),
    )


def fresh_failures(
    connection: Connection, keys: Sequence[bytes]
) -> dict[bytes, tuple[float, Failed]]:
    """When and how the calls under these keys failed, where none began since."""
    if not keys:
        return {}
    query = "SELECT key, at, status, detail FROM labeler.failures WHERE at > 0 AND key = ANY(:keys)"
    return {
        bytes(key): (at, Failed(bytes(key), status, text_of(detail)))
        for key, at, status, detail in connection.run(query, keys=list(keys))
    }


def mark_asked_again(connection: Connection, keys: Collection[bytes]) -> None:
    """Note that these keys are asked again, so that how they failed is of an earlier call."""
    if keys:
        query = "UPDATE labeler.failures SET at = -at WHERE at > 0 AND key = ANY(:keys)"
        connection.run(query, keys=list(keys))


_LEARN = (
    "INSERT INTO labeler.facts VALUES (:name, :value)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_LEARN_ONCE = "INSERT INTO labeler.facts VALUES (:name, :value) ON CONFLICT DO NOTHING"


class PostgresStore:
    """An open store; use `open_store`."""

    def __init__(
        self,
        address: DatabaseAddress,
        redacted: bool = False,
        *,
        waiting: Waiting | None = None,
    ) -> None:
        self.address = address
        self._redacted = redacted
        self._waiting = waiting or Waiting()
        self._database = DatabaseConnection(address, self._waiting)
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._rescue: Rescue | None = None
        self._lasting: dict[str, str] = {}
        self._make_tables()
        self._newest = int(self._value_of("SELECT coalesce(max(id), 0) FROM labeler.replies"))
        last = self._value_of("SELECT coalesce(max(abs(at)), 0) FROM labeler.failures")
        self._last_failure = float(last)

    def _make_tables(self) -> None:
        """Make what is missing; `BadInput` where another version made it."""

        def make(connection: Connection) -> None:
            for statement in TABLES.split(";\n"):
                connection.run(statement)

        if not self._value_of("SELECT to_regclass('labeler.version') IS NOT NULL"):
            self.transaction(make)
        versions = {row[0] for row in self.rows("SELECT version FROM labeler.version")}
        if versions != {VERSION}:
            problem = f"its tables are of version {max(versions, default=0)}, not {VERSION}"
            raise BadInput(f"{self.address}: {problem}; another labeler made them")

    def transaction(self, work: Callable[[Connection], Any], *, lock: bool = True) -> Any:
        """Do work in one transaction; with `lock`, while no other process writes."""
        with self._lock:
            return self._database.transaction(work, lock=lock)

    def rows(self, query: str, **values: Any) -> Rows:
        """The rows of one statement."""
        with self._lock:
            return self._database.run(query, **values)

    def alone(self, statement: str) -> None:
        """Run a statement that no transaction may hold."""
        with self._lock:
            self._database.alone(statement)

    def _value_of(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def replies(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies that are stored under these keys.

        Raises `BadInput` where a row is not as it was written.
        """
        replies: dict[bytes, Reply] = self.transaction(
            lambda connection: self._select(connection, keys), lock=False
        )
        return replies

    def _select(self, connection: Connection, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        replies: dict[bytes, Reply] = {}
        if not keys:
            return replies
        query = f"SELECT id, checksum, {REPLY} FROM labeler.replies WHERE key = ANY(:keys)"
        for number, stored_sum, *row in connection.run(query, keys=list(keys)):
            values = values_in(row)
            if bytes(stored_sum) != checksum(*values):
                raise BadInput(f"{self.address}: the store is damaged: a reply is not as written")
            replies[values[0]] = reply_of(values, shared=number > self._newest)
        return replies

    def write(self, batch: WriteBatch) -> Granted:
        """Do all of a batch in one transaction, which is durable when this returns.

        Where the database cannot be reached for longer than one would wait, the replies are kept
        in a file of the collection, from which the next run sends them; the error says where.
        """
        try:
            granted: Granted = self.transaction(lambda connection: self._write(connection, batch))
        except FileProblem as error:
            raise self._kept_elsewhere(batch.replies, error) from error
        return granted

    def _write(self, connection: Connection, batch: WriteBatch) -> Granted:
        earlier: dict[bytes, Reply] = {}
        if batch.replies:
            rows = [row_of(keyed, redacted=self._redacted) for keyed in batch.replies]
            new, keys = insert(connection, rows), [keyed.key for keyed in batch.replies]
            earlier = self._select(connection, [key for key in keys if key not in new])
            release(connection, [each.lease or each.key for each in batch.replies])
        for failed in batch.failed:
            keep_failure(connection, failed)
        granted = self._grant(connection, batch.claimed, batch.sought)
        return replace(granted, replies={**earlier, **granted.replies})

    def _grant(
        self, connection: Connection, keys: Sequence[bytes], sought: Sequence[bytes]
    ) -> Granted:
        if not keys:
            return Granted()
        owner = self._owner = registered(connection, self._owner)
        replies = self._select(connection, [*keys, *sought])
        unanswered = [key for key in dict.fromkeys(keys) if key not in replies]
        held_before = held_by(connection, owner, unanswered)
        held = claim(connection, owner, unanswered)
        if len(held) < len(unanswered):
            release_dead(connection)
            held = claim(connection, owner, unanswered)
        newly_asked = [key for key in unanswered if key not in held_before]
        failures = fresh_failures(connection, newly_asked)
        failed: dict[bytes, Failed] = {
            key: failure
            for key, (at, failure) in failures.items()
            if key not in held or at > self._last_failure
        }
        release(connection, held & failed.keys())
        mark_asked_again(connection, held - failed.keys())
        return Granted(replies, failed, frozenset(held - failed.keys()))

    def take_in(self, rows: Sequence[StoredRow]) -> int:
        """Write rows of another store as they are; how many were new here."""
        new: set[bytes] = self.transaction(lambda connection: insert(connection, rows))
        return len(new)

    def asker(self, key: bytes) -> str:
        """Which other process asks for a key, in words."""
        rows = self.rows(HOLDER, key=key)
        if not rows:
            return "another process"
        holder = LeaseHolder(*rows[0])
        elsewhere = "" if holder.machine == this_process().machine else " of another machine"
        return f"process {holder.process}{elsewhere}"

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""
        if self._owner is not None:
            self.rows(RENEW, owner=self._owner)

    def fact(self, name: str) -> str | None:
        """The fact that is stored under a name."""
        rows = self.rows("SELECT value FROM labeler.facts WHERE name = :name", name=name)
        return str(rows[0][0]) if rows else None

    def learn(self, name: str, value: str) -> None:
        """Store a fact."""
        self.rows(_LEARN, name=name, value=value)

    def learn_once(self, name: str, value: str) -> str:
        """Store a fact where there is none of its name; the fact that is stored then."""
        self.rows(_LEARN_ONCE, name=name, value=value)
        stored = self._lasting[name] = self.fact(name) or value
        return stored

    def record(self, key: bytes) -> Record | None:
        """All that is kept of the reply under a key."""
        rows = self.rows(f"{RECORDS} WHERE key = :key", key=key)
        return record_in(rows[0]) if rows else None

    def records_with(self, model_id: str, parts: tuple[str, str]) -> list[Record]:
        """The records of a model's replies to requests whose canonical text holds both parts."""
        query = (
            f"{RECORDS} WHERE model = :model AND position(:first IN request) > 0"
            " AND position(:second IN request) > 0 ORDER BY id"
        )
        first, second = map(bytes_of, parts)
        rows = self.rows(query, model=bytes_of(model_id), first=first, second=second)
        return [record_in(row) for row in rows]

    def failure(self, key: bytes) -> tuple[float, str, str] | None:
        """When and how the last call under a key failed for good."""
        query = "SELECT abs(at), status, detail FROM labeler.failures WHERE key = :key"
        rows = self.rows(query, key=key)
        return (float(rows[0][0]), str(rows[0][1]), text_of(rows[0][2])) if rows else None

    def __len__(self) -> int:
        return int(self._value_of("SELECT count(*) FROM labeler.replies"))

    def close(self) -> None:
        """Release the leases and end the connection; where that is lost, time ends the leases."""
        try:
            if self._owner is not None and self._rescue is None:
                self._database.stop_waiting()
                with suppress(LabelerError):
                    self.rows("DELETE FROM labeler.owners WHERE id = :owner", owner=self._owner)
        finally:
            self._database.close()
            if self._rescue is not None:
                self._rescue.close()
                for line in self._rescue.summary():
                    self._waiting.note(line)

    def _kept_elsewhere(self, replies: Sequence[KeyedReply], error: LabelerError) -> LabelerError:
        """Keep replies in a file of the collection; what is wrong, and where they are."""
        if self.address.unsent is None:
            return error
        with self._lock:
            if self._rescue is None:
                self._rescue = Rescue(self.address.unsent, self._lasting)
            self._database.stop_waiting()
            self._rescue.add(replies, redacted=self._redacted)
        return type(error)("; ".join(filter(None, (str(error), str(self._rescue)))))


# Replies of a file sent into the database: those that it could not take in, or all of a store.

ROWS_AT_ONCE = 500
_ALL = (
    f"SELECT replies.checksum, {REPLY}, wires.checksum, request, body"
    " FROM replies JOIN wires USING (id) ORDER BY id"
)


def copy_file(path: Path, store: PostgresStore) -> int:
    """Send the replies of a store in a file into the database; how many were new there.

    The facts of the file come along, where the database has none of their names: without the secret
    of its marks, replies are not found again. What is not as it was written is passed over.
    """
    with store_problems(path), closing(_opened(path, "ro")) as source:
        return _copy(source, store)


def send_unsent(store: PostgresStore, waiting: Waiting) -> None:
    """Send what earlier runs could not, and remove the files that held it."""
    unsent = store.address.unsent
    if unsent is None:
        return
    for saved in saved_beside(unsent):
        with suppress(LabelerError), store_problems(saved):
            with closing(_opened(saved, "rw")) as source:
                source.execute("BEGIN EXCLUSIVE")
                copied = _copy(source, store)
            saved.unlink()
            waiting.note(f"took in {count_of(copied, 'reply', 'replies')} from {saved}")


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{true_path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)


def _copy(source: sqlite3.Connection, store: PostgresStore) -> int:
    for name, value in source.execute("SELECT name, value FROM facts").fetchall():
        store.learn_once(name, value)
    return sum(store.take_in(rows) for rows in _whole_rows(source))


def _whole_rows(source: sqlite3.Connection) -> Iterator[list[StoredRow]]:
    """The rows that are as they were written, some hundreds at a time."""
    stored = source.execute(_ALL)
    while batch := stored.fetchmany(ROWS_AT_ONCE):
        rows = []
        for reply_sum, *reply, wire_sum, request, body in batch:
            if (reply_sum, wire_sum) == (checksum(*reply), checksum(request, body)):
                rows.append(StoredRow(reply_sum, tuple(reply), wire_sum, request, body))
        if rows:
            yield rows
