"""A store in one SQLite file: what it keeps, and the one transaction in which all is written."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, LabelerError
from labeler.files.numbers import amount, count
from labeler.model import Reply
from labeler.store.base import Failed, Granted, KeyedReply, Record, WriteBatch
from labeler.store.keys import checksum
from labeler.store.sqlite import leases
from labeler.store.sqlite.leases import Now, in_parts, now, this_process
from labeler.store.sqlite.open import connect, store_problems
from labeler.store.sqlite.schema import REPLY

_MARKS = ",".join("?" * (REPLY.count(",") + 1))
_RECORD = (
    "at, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, cost, request,"
    " body"
)


class SqliteStore:
    """An open store; use `open_store`."""

    def __init__(
        self,
        path: Path,
        redacted: bool = False,
        clock: Callable[[], Now] = now,
        *,
        reading: bool = False,
    ) -> None:
        self.path = path
        self._redacted = redacted
        self._clock = clock
        self._connection = connect(path, reading=reading)
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._newest, self._last_failure = self._newest_of_all()

    def _newest_of_all(self) -> tuple[int, float]:
        """The number of the newest reply and the time of the last failure; those after them came
        while this store was open.
        """
        try:
            with self.reading() as connection:
                reply = connection.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()
                return int(reply[0]), leases.last_failure(connection)
        except LabelerError:
            self._connection.close()
            raise

    def replies(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies that are stored under these keys.

        Raises `BadInput` where a row is not as it was written.
        """
        with self.reading() as connection:
            return self._select(connection, keys)

    def _select(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        replies: dict[bytes, Reply] = {}
        for some, marks in in_parts(keys):
            query = f"SELECT id, checksum, {REPLY} FROM replies WHERE key IN ({marks})"
            for number, stored_sum, *row in connection.execute(query, some):
                if stored_sum != checksum(*row):
                    advice = "`labeler store verify` lists what is not as it was written"
                    raise BadInput(f"{self.path}: the store is damaged; {advice}")
                replies[row[0]] = reply_of(row, shared=number > self._newest)
        return replies

    def write(self, batch: WriteBatch) -> Granted:
        """Do all of a batch in one transaction, which is on the disk when this returns."""
        with self.writing() as connection:
            late = [
                keyed_reply.key
                for keyed_reply in batch.replies
                if not self._insert(connection, keyed_reply)
            ]
            rows = ((key, time.time(), status, detail) for key, status, detail in batch.failed)
            connection.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", rows)
            leases.release(connection, [keyed_reply.key for keyed_reply in batch.replies])
            granted = self._grant(connection, batch.claimed)
            earlier = self._select(connection, late) if late else {}
        return replace(granted, replies={**earlier, **granted.replies})

    def _insert(self, connection: sqlite3.Connection, keyed_reply: KeyedReply) -> bool:
        """Whether the reply is the first under its key, and so was kept."""
        values = _values(keyed_reply)
        query = f"INSERT OR IGNORE INTO replies (checksum, {REPLY}) VALUES (?, {_MARKS})"
        done = connection.execute(query, (checksum(*values), *values))
        if done.rowcount != 1:
            return False
        request = None if self._redacted else keyed_reply.request
        wire = (request, keyed_reply.reply.body)
        query = "INSERT OR REPLACE INTO wires VALUES (?, ?, ?, ?)"
        connection.execute(query, (done.lastrowid, checksum(*wire), *wire))
        connection.execute("DELETE FROM failures WHERE key = ?", (keyed_reply.key,))
        return True

    def _grant(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> Granted:
        if not keys:
            return Granted()
        moment = self._clock()
        if self._owner is None:
            self._owner = leases.register(connection, this_process(), moment)
        leases.renew(connection, self._owner, moment)
        replies = self._select(connection, keys)
        unanswered = [key for key in keys if key not in replies]
        held_before = leases.held_by(connection, self._owner, unanswered)
        held = leases.claim(connection, self._owner, unanswered)
        if len(held) < len(set(unanswered)):
            leases.release_dead(connection, this_process(), moment)
            held = leases.claim(connection, self._owner, unanswered)
        newly_asked = [key for key in unanswered if key not in held_before]
        failed = self._failed_elsewhere(connection, newly_asked, held)
        leases.release(connection, held & failed.keys())
        leases.mark_asked_again(connection, held - failed.keys())
        return Granted(replies, failed, frozenset(held - failed.keys()))

    def _failed_elsewhere(
        self, connection: sqlite3.Connection, keys: Sequence[bytes], held: Set[bytes]
    ) -> dict[bytes, Failed]:
        """What failed for a process that still runs, or since this store was opened."""
        failures = leases.fresh_failures(connection, keys)
        return {
            key: failed
            for key, (at, failed) in failures.items()
            if key not in held or at > self._last_failure
        }

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""
        if self._owner is not None:
            with self.writing() as connection:
                leases.renew(connection, self._owner, self._clock())

    def fact(self, name: str) -> str | None:
        """The fact that is stored under a name."""
        with self.reading() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def learn(self, name: str, value: str) -> None:
        """Store a fact."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def record(self, key: bytes) -> Record | None:
        """All that is kept of the reply under a key."""
        query = f"SELECT {_RECORD} FROM replies JOIN wires USING (id) WHERE key = ?"
        with self.reading() as connection:
            row = connection.execute(query, (key,)).fetchone()
        return Record(*row) if row else None

    def records_with(self, model_id: str, parts: tuple[str, str]) -> list[Record]:
        """The records of a model's replies to requests whose canonical text holds both parts."""
        query = (
            f"SELECT {_RECORD} FROM replies JOIN wires USING (id)"
            " WHERE model = ? AND instr(request, ?) AND instr(request, ?) ORDER BY id"
        )
        with self.reading() as connection:
            return [Record(*row) for row in connection.execute(query, (model_id, *parts))]

    def failure(self, key: bytes) -> tuple[float, str, str] | None:
        """When and how the last call under a key failed for good."""
        query = "SELECT abs(at), status, detail FROM failures WHERE key = ?"
        with self.reading() as connection:
            row = connection.execute(query, (key,)).fetchone()
        return (float(row[0]), str(row[1]), str(row[2])) if row else None

    def __len__(self) -> int:
        with self.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Release the leases and close the file."""
        try:
            if self._owner is not None:
                with self.writing() as connection:
                    leases.unregister(connection, self._owner)
        finally:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for queries; one thread at a time."""
        with self._lock, store_problems(self.path):
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction that is committed in the end, or undone."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise


def _values(keyed_reply: KeyedReply) -> tuple[Any, ...]:
    """A reply's columns, in the order of `REPLY`, as SQLite gives them back.

    It would read NaN as NULL, -0.0 as 0.0 and true as 1: checksums are of what is read.
    """
    reply = keyed_reply.reply
    tops = json.dumps(reply.top_tokens, default=dict) if reply.top_tokens else None
    return (
        keyed_reply.key,
        keyed_reply.model_id,
        reply.model,
        reply.text,
        reply.finish_reason,
        reply.refusal,
        count(reply.prompt_tokens) or 0,
        count(reply.completion_tokens) or 0,
        time.time(),
        amount(reply.cost),
        tops,
    )


def reply_of(row: Sequence[Any], *, shared: bool = False) -> Reply:
    """The reply in a row of `REPLY`."""
    _, _, served, text, ending, refusal, tokens_in, tokens_out, _, cost, tops = row
    columns = (text, ending, refusal, served, tokens_in, tokens_out)
    tokens = json.loads(tops) if tops else ()
    price = amount(cost)
    return Reply(*columns, top_tokens=tokens, cost=price, remembered=True, shared=shared)


@contextmanager
def open_store(
    path: Path, *, redacted: bool = False, reading: bool = False
) -> Iterator[SqliteStore]:
    """The store in a file, which is made where there is none.

    `redacted` keeps no request texts, only the hashes under which replies are found; `reading` is
    for who writes nothing, so that the file need not be writable.
    """
    store = SqliteStore(path, redacted, reading=reading)
    try:
        yield store
    finally:
        store.close()
