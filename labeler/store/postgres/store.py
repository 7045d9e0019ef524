"""A store in PostgreSQL: the same keys, rows and leases as in a file, for several machines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeler.errors import BadInput, FileProblem, LabelerError
from labeler.model import Reply
from labeler.store.base import Failed, Granted, KeyedReply, Record, Waiting, WriteBatch
from labeler.store.columns import REPLY, reply_of
from labeler.store.holder import LeaseHolder, this_process
from labeler.store.keys import checksum
from labeler.store.postgres import leases
from labeler.store.postgres.address import DatabaseAddress
from labeler.store.postgres.connection import DatabaseConnection, Rows
from labeler.store.postgres.rows import (
    RECORDS,
    StoredRow,
    bytes_of,
    insert,
    record_in,
    row_of,
    text_of,
    values_in,
)
from labeler.store.postgres.schema import TABLES, VERSION
from labeler.store.sqlite.rescue import Rescue

if TYPE_CHECKING:
    from pg8000.native import Connection

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
            leases.release(connection, [each.lease or each.key for each in batch.replies])
        for failed in batch.failed:
            leases.keep_failure(connection, failed)
        granted = self._grant(connection, batch.claimed, batch.sought)
        return replace(granted, replies={**earlier, **granted.replies})

    def _grant(
        self, connection: Connection, keys: Sequence[bytes], sought: Sequence[bytes]
    ) -> Granted:
        if not keys:
            return Granted()
        owner = self._owner = leases.registered(connection, self._owner)
        replies = self._select(connection, [*keys, *sought])
        unanswered = [key for key in dict.fromkeys(keys) if key not in replies]
        held_before = leases.held_by(connection, owner, unanswered)
        held = leases.claim(connection, owner, unanswered)
        if len(held) < len(unanswered):
            leases.release_dead(connection)
            held = leases.claim(connection, owner, unanswered)
        newly_asked = [key for key in unanswered if key not in held_before]
        failures = leases.fresh_failures(connection, newly_asked)
        failed: dict[bytes, Failed] = {
            key: failure
            for key, (at, failure) in failures.items()
            if key not in held or at > self._last_failure
        }
        leases.release(connection, held & failed.keys())
        leases.mark_asked_again(connection, held - failed.keys())
        return Granted(replies, failed, frozenset(held - failed.keys()))

    def take_in(self, rows: Sequence[StoredRow]) -> int:
        """Write rows of another store as they are; how many were new here."""
        new: set[bytes] = self.transaction(lambda connection: insert(connection, rows))
        return len(new)

    def asker(self, key: bytes) -> str:
        """Which other process asks for a key, in words."""
        rows = self.rows(leases.HOLDER, key=key)
        if not rows:
            return "another process"
        holder = LeaseHolder(*rows[0])
        elsewhere = "" if holder.machine == this_process().machine else " of another machine"
        return f"process {holder.process}{elsewhere}"

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""
        if self._owner is not None:
            self.rows(leases.RENEW, owner=self._owner)

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
