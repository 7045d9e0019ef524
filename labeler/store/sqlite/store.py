"""A store in one SQLite file: what it keeps, and the one transaction in which all is written."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from labeler.errors import BadInput, FileProblem, LabelerError, Locked
from labeler.model import Reply
from labeler.store.base import Failed, Granted, KeyedReply, Record, Waiting, WriteBatch
from labeler.store.columns import REPLY, reply_of
from labeler.store.holder import this_process
from labeler.store.keys import checksum
from labeler.store.sqlite import leases
from labeler.store.sqlite.leases import Now, in_parts, now
from labeler.store.sqlite.open import begins, committed, connect, store_problems
from labeler.store.sqlite.rescue import Lost, OpenFile, Rescue, take_in
from labeler.store.sqlite.rows import insert, insert_facts
from labeler.store.sqlite.turn import Turn

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
        waiting: Waiting | None = None,
    ) -> None:
        self.path = path
        self._redacted = redacted
        self._clock = clock
        self._waiting = waiting or Waiting()
        self._connection = connect(path, reading=reading)
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._watch = leases.Watch()
        self._rescue: Rescue | None = None
        self._lasting: dict[str, str] = {}
        self._lost: LabelerError | None = None
        try:
            self._file = None if reading else OpenFile.of(path)
            if not reading:
                take_in(path, self._connection, self._waiting.note)
            self._newest, self._last_failure = self._newest_of_all()
        except BaseException:
            self._connection.close()
            raise

    def _newest_of_all(self) -> tuple[int, float]:
        """The number of the newest reply and the time of the last failure; those after them came
        while this store was open.
        """
        with self.reading() as connection:
            reply = connection.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()
            return int(reply[0]), leases.last_failure(connection)

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
        """Do all of a batch in one transaction, which is on the disk when this returns.

        Where the store's file is gone, is not the one that was opened, stays locked or cannot be
        written, as on a full disk, the replies are kept in a store beside it, from which they are
        taken in when it is opened again; the error says where.
        """
        try:
            self._check_file()
            return self._write(batch)
        except (BadInput, FileProblem) as error:
            raise self._kept_elsewhere(batch.replies, error) from error

    def _write(self, batch: WriteBatch) -> Granted:
        with self.writing() as connection:
            late = [
                keyed_reply.key
                for keyed_reply in batch.replies
                if not insert(connection, keyed_reply, redacted=self._redacted)
            ]
            rows = ((key, time.time(), status, detail) for key, status, detail in batch.failed)
            connection.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", rows)
            leases.release(connection, [each.lease or each.key for each in batch.replies])
            granted = self._grant(connection, batch.claimed, batch.sought)
            earlier = self._select(connection, late) if late else {}
        return replace(granted, replies={**earlier, **granted.replies})

    def _grant(
        self, connection: sqlite3.Connection, keys: Sequence[bytes], sought: Sequence[bytes]
    ) -> Granted:
        if not keys:
            return Granted()
        moment = self._clock()
        if self._owner is None:
            self._owner = leases.register(connection, this_process(), moment)
        leases.renew(connection, self._owner, moment)
        replies = self._select(connection, [*keys, *sought])
        unanswered = [key for key in keys if key not in replies]
        held_before = leases.held_by(connection, self._owner, unanswered)
        held = leases.claim(connection, self._owner, unanswered)
        if len(held) < len(set(unanswered)):
            self._watch.release_dead(connection, this_process(), moment)
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

    def asker(self, key: bytes) -> str:
        """Which other process asks for a key, in words."""
        with self.reading() as connection:
            holder = leases.holder_of(connection, key)
        if holder is None:
            return "another process"
        elsewhere = "" if holder.machine == this_process().machine else " of another machine"
        return f"process {holder.process}{elsewhere}"

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

    def learn_once(self, name: str, value: str) -> str:
        """Store a fact where there is none of its name; the fact that is stored then."""
        stored = self.fact(name)
        if stored is None:
            with self.writing() as connection:
                insert_facts(connection, {name: value})
            stored = self.fact(name) or value
        self._lasting[name] = stored
        return stored

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
        """Release the leases and close the file.

        Raises `Lost` where something was done to the file since the last batch.
        """
        try:
            if self._lost is None:
                self._check_file()
                self._release_leases()
        except Lost as error:
            raise self._kept_elsewhere((), error) from error
        finally:
            self._connection.close()
            if self._rescue is not None:
                self._rescue.close()
                for line in self._rescue.summary():
                    self._waiting.note(line)

    def _release_leases(self) -> None:
        """End this process' leases; where the store stays locked, they end with the process."""
        if self._owner is not None:
            with suppress(Locked), self.writing(Waiting(0.0)) as connection:
                leases.unregister(connection, self._owner)

    def _check_file(self) -> None:
        """Raise `Lost` where something was done to the file that was opened."""
        if self._lost is not None:
            raise self._lost
        if self._file is not None:
            self._file.check()

    def _kept_elsewhere(self, replies: Sequence[KeyedReply], error: LabelerError) -> LabelerError:
        """Keep replies in a store beside this one; what is wrong, and where they are.

        Where this store is lost, all that can be read of it is copied there, too.
        """
        with self._lock:
            if self._rescue is None:
                self._rescue = Rescue(self.path, self._lasting)
            if self._lost is None and isinstance(error, Lost):
                self._rescue.copy(self._connection)
            if not isinstance(error, Locked):
                self._lost = error
            self._rescue.add(replies, redacted=self._redacted)
            return type(error)("; ".join(filter(None, (str(error), str(self._rescue)))))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for queries; one thread at a time."""
        with self._lock, store_problems(self.path):
            yield self._connection

    @contextmanager
    def writing(self, waiting: Waiting | None = None) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction that is committed in the end, or undone.

        While another program holds the store, this waits; other threads may read meanwhile.
        """
        turn = Turn(self.path, waiting or self._waiting)
        while True:
            with self.reading() as connection:
                if begins(connection):
                    with committed(connection):
                        yield connection
                    return
            turn.wait()


@contextmanager
def open_store(
    path: Path,
    *,
    redacted: bool = False,
    reading: bool = False,
    waiting: Waiting | None = None,
) -> Iterator[SqliteStore]:
    """The store in a file, which is made where there is none.

    `redacted` keeps no request texts, only the hashes under which replies are found; `reading` is
    for who writes nothing, so that the file need not be writable. `waiting` says for how long to
    wait while another program holds it.
    """
    store = SqliteStore(path, redacted, reading=reading, waiting=waiting)
    try:
        yield store
    finally:
        store.close()
