"""An open store: what it keeps, and the one transaction in which everything is written."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import BadInput, LabelerError
from labeler.model import Reply
from labeler.store.keys import checksum
from labeler.store.sqlite.leases import (
    Now,
    bury,
    claim,
    enter,
    fresh_failures,
    give_back,
    grow_old,
    held_by,
    last_failure,
    leave,
    now,
    renew,
    this_process,
)
from labeler.store.sqlite.open import connect, store_problems
from labeler.store.sqlite.schema import REPLY

KEYS_OF_A_QUERY = 500
_MARKS = ",".join("?" * (REPLY.count(",") + 1))


class Kept(NamedTuple):
    """A reply to keep: under which key, who was asked what (as `canonical` has it), the reply."""

    key: bytes
    model_id: str
    request: str
    reply: Reply


class Failed(NamedTuple):
    """A call that failed for good: nothing to keep but the news of it."""

    key: bytes
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What goes into one transaction: replies, failed calls, and keys to take leases on."""

    kept: Sequence[Kept] = ()
    failed: Sequence[Failed] = ()
    claimed: Sequence[bytes] = ()


@dataclass(slots=True)
class Granted:
    """What came of a batch: replies that were there before it, what failed for another process
    meanwhile, and leases that were given.

    A claimed key in none of them is leased by another process.
    """

    replies: Mapping[bytes, Reply] = field(default_factory=dict)
    failures: Mapping[bytes, Failed] = field(default_factory=dict)
    leases: frozenset[bytes] = frozenset()


class Store:
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
                return int(reply[0]), last_failure(connection)
        except LabelerError:
            self._connection.close()
            raise

    def replies(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """What is kept under these keys; raises `BadInput` where a row is not as it was written."""
        with self.reading() as connection:
            return self._select(connection, keys)

    def _select(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        found: dict[bytes, Reply] = {}
        for start in range(0, len(keys), KEYS_OF_A_QUERY):
            some = keys[start : start + KEYS_OF_A_QUERY]
            marks = ",".join("?" * len(some))
            query = f"SELECT id, checksum, {REPLY} FROM replies WHERE key IN ({marks})"
            for row in connection.execute(query, some):
                reply = row[2:]
                if row[1] != checksum(*reply):
                    advice = "`labeler store verify` lists what is not as it was written"
                    raise BadInput(f"{self.path}: the store is damaged; {advice}")
                found[row[2]] = reply_of(reply, shared=row[0] > self._newest)
        return found

    def write(self, batch: Batch) -> Granted:
        """Do all of a batch in one transaction, which is on the disk when this returns.

        A key that is there already keeps its first reply. A key whose call failed stays leased, so
        that no other process that runs now asks for it again.
        """
        with self.writing() as connection:
            late = [kept.key for kept in batch.kept if not self._insert(connection, kept)]
            rows = ((key, time.time(), status, detail) for key, status, detail in batch.failed)
            connection.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", rows)
            give_back(connection, [kept.key for kept in batch.kept])
            granted = self._grant(connection, batch.claimed)
            earlier = self._select(connection, late) if late else {}
        return replace(granted, replies={**earlier, **granted.replies})

    def _insert(self, connection: sqlite3.Connection, kept: Kept) -> bool:
        """Whether the reply is the first under its key, and so was kept."""
        values = _values(kept)
        query = f"INSERT OR IGNORE INTO replies (checksum, {REPLY}) VALUES (?, {_MARKS})"
        done = connection.execute(query, (checksum(*values), *values))
        if done.rowcount != 1:
            return False
        request = None if self._redacted else kept.request
        wire = (request, kept.reply.body)
        query = "INSERT OR REPLACE INTO wires VALUES (?, ?, ?, ?)"
        connection.execute(query, (done.lastrowid, checksum(*wire), *wire))
        connection.execute("DELETE FROM failures WHERE key = ?", (kept.key,))
        return True

    def _grant(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> Granted:
        if not keys:
            return Granted()
        moment = self._clock()
        if self._owner is None:
            self._owner = enter(connection, this_process(), moment)
        renew(connection, self._owner, moment)
        there = self._select(connection, keys)
        open_keys = [key for key in keys if key not in there]
        before = held_by(connection, self._owner, open_keys)
        mine = claim(connection, self._owner, open_keys)
        if len(mine) < len(set(open_keys)):
            bury(connection, this_process(), moment)
            mine = claim(connection, self._owner, open_keys)
        failed = self._failed_elsewhere(connection, set(open_keys) - before, mine)
        give_back(connection, mine & failed.keys())
        grow_old(connection, mine - failed.keys())
        return Granted(there, failed, frozenset(mine - failed.keys()))

    def _failed_elsewhere(
        self, connection: sqlite3.Connection, keys: Iterable[bytes], mine: Set[bytes]
    ) -> dict[bytes, Failed]:
        """What failed for a process that still runs, or since this store was opened."""
        news = fresh_failures(connection, keys)
        return {
            key: Failed(key, status, detail)
            for key, (at, status, detail) in news.items()
            if key not in mine or at > self._last_failure
        }

    def renew(self) -> None:
        """Say that the leases of this process are still held."""
        if self._owner is not None:
            with self.writing() as connection:
                renew(connection, self._owner, self._clock())

    def fact(self, name: str) -> str | None:
        """What is known under a name."""
        with self.reading() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def learn(self, name: str, value: str) -> None:
        """Keep what was found out."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def __len__(self) -> int:
        with self.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Give back the leases and close the file."""
        try:
            if self._owner is not None:
                with self.writing() as connection:
                    leave(connection, self._owner)
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


def _values(kept: Kept) -> tuple[Any, ...]:
    """A reply's columns, in the order of `REPLY`."""
    reply = kept.reply
    tops = json.dumps(reply.top_tokens, default=dict) if reply.top_tokens else None
    return (
        kept.key,
        kept.model_id,
        reply.model,
        reply.text,
        reply.finish_reason,
        reply.refusal,
        reply.prompt_tokens,
        reply.completion_tokens,
        time.time(),
        reply.cost,
        tops,
    )


def reply_of(row: Sequence[Any], *, shared: bool = False) -> Reply:
    """The reply in a row of `REPLY`."""
    _, _, served, text, ending, refusal, tokens_in, tokens_out, _, cost, tops = row
    said = (text, ending, refusal, served, tokens_in, tokens_out)
    tokens = json.loads(tops) if tops else ()
    return Reply(*said, top_tokens=tokens, cost=cost, remembered=True, shared=shared)


@contextmanager
def open_store(path: Path, *, redacted: bool = False, reading: bool = False) -> Iterator[Store]:
    """The store in a file, which is made where there is none.

    `redacted` keeps no request texts, only the hashes under which replies are found; `reading` is
    for who writes nothing, so that the file need not be writable.
    """
    store = Store(path, redacted, reading=reading)
    try:
        yield store
    finally:
        store.close()


def rows_of(store: Store, columns: str, table: str) -> Iterable[tuple[Any, ...]]:
    """All rows of a table, a few at a time, in the order in which they were written."""
    last = 0
    while True:
        with store.reading() as connection:
            query = f"SELECT id, {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT 500"
            rows = connection.execute(query, (last,)).fetchall()
        if not rows:
            return
        yield from rows
        last = rows[-1][0]
