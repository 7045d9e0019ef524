"""A store in one SQLite file: what it keeps, and the one transaction in which all is written."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from labeler.errors import BadInput, FileProblem, LabelerError, Locked
from labeler.files.paths import true_path
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
)
from labeler.store.keys import checksum
from labeler.store.sqlite.open import (
    Lost,
    OpenFile,
    Rescue,
    begins,
    committed,
    connect,
    copy_facts,
    copy_rows,
    insert,
    insert_facts,
    insert_whole,
    store_problems,
    take_in,
)

# Leases: which process is asking what, so that several can share the work and none does twice.
#
# All of it runs inside the caller's transaction. Time is the machine's monotonic clock, which every
# process on it shares and nobody can set; the wall clock counts only between machines.

KEYS_OF_A_QUERY = 500


class Now(NamedTuple):
    """The monotonic clock and the wall clock, in seconds."""

    monotonic: float
    wall: float


def now() -> Now:
    """The time on both clocks."""
    return Now(time.monotonic(), time.time())


def register(connection: sqlite3.Connection, holder: LeaseHolder, moment: Now) -> int:
    """Register a process; the number under which it holds leases."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    columns = "(place, process, started, until, until_wall)"
    connection.execute(f"INSERT INTO owners {columns} VALUES (?, ?, ?, ?, ?)", (*holder, *until))
    return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])


def renew(connection: sqlite3.Connection, owner: int, moment: Now) -> None:
    """Renew the leases of a process, so that they do not expire."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    connection.execute("UPDATE owners SET until = ?, until_wall = ? WHERE id = ?", (*until, owner))


def unregister(connection: sqlite3.Connection, owner: int) -> None:
    """Release all leases of a process, and forget it."""
    connection.execute("DELETE FROM leases WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


class Watch:
    """The leases of other processes as they were first seen, by this process' own clock.

    Whoever is alive renews its leases. So none is honored longer than it can last from the moment
    when it was first seen as it is, whatever the clock said by which it was dated.
    """

    def __init__(self) -> None:
        self._first_seen: dict[tuple[int, Now], float] = {}

    def release_dead(
        self, connection: sqlite3.Connection, current: LeaseHolder, moment: Now
    ) -> None:
        """Release the leases of processes that are gone."""
        seen = self._first_seen
        self._first_seen = {}
        for number, *rest in connection.execute("SELECT * FROM owners").fetchall():
            holder, until = LeaseHolder(*rest[:3]), Now(*rest[3:])
            first = seen.get((number, until), moment.monotonic)
            self._first_seen[number, until] = first
            is_old = moment.monotonic - first > LEASE_SECONDS
            if is_old or _is_gone(holder, until, current, moment):
                unregister(connection, number)


def holder_of(connection: sqlite3.Connection, key: bytes) -> LeaseHolder | None:
    """Who holds the lease on a key."""
    query = (
        "SELECT place, process, started FROM leases JOIN owners ON owners.id = leases.owner"
        " WHERE key = ?"
    )
    row = connection.execute(query, (key,)).fetchone()
    return LeaseHolder(*row) if row else None


def _is_gone(holder: LeaseHolder, until: Now, current: LeaseHolder, moment: Now) -> bool:
    """Whether a process has ended: on this machine that can be looked up, elsewhere time tells."""
    if holder.machine != current.machine:
        return until.wall < moment.wall
    if until.monotonic < moment.monotonic:
        return True
    return has_ended(holder)


def claim(connection: sqlite3.Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    rows = ((key, owner) for key in keys)
    connection.executemany("INSERT OR IGNORE INTO leases VALUES (?, ?)", rows)
    return held_by(connection, owner, keys)


def held_by(connection: sqlite3.Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    held = set[bytes]()
    for some, marks in in_parts(keys):
        query = f"SELECT key FROM leases WHERE owner = ? AND key IN ({marks})"
        held |= {key for (key,) in connection.execute(query, (owner, *some))}
    return held


def release(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """End the leases on these keys."""
    connection.executemany("DELETE FROM leases WHERE key = ?", ((key,) for key in keys))


def last_failure(connection: sqlite3.Connection) -> float:
    """The time of the last failure, 0 where there is none."""
    row = connection.execute("SELECT coalesce(max(abs(at)), 0) FROM failures").fetchone()
    return float(row[0])


def fresh_failures(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> dict[bytes, tuple[float, Failed]]:
    """When and how the calls under these keys failed, where none began since."""
    failures = dict[bytes, tuple[float, Failed]]()
    for some, marks in in_parts(keys):
        query = f"SELECT key, at, status, detail FROM failures WHERE at > 0 AND key IN ({marks})"
        for key, at, status, detail in connection.execute(query, some):
            failures[key] = (at, Failed(key, status, detail))
    return failures


def mark_asked_again(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """Note that these keys are asked again, so that how they failed is of an earlier call."""
    query = "UPDATE failures SET at = -at WHERE key = ? AND at > 0"
    connection.executemany(query, ((key,) for key in keys))


def in_parts(keys: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], str]]:
    """As many keys as one query takes, with a question mark for each."""
    for start in range(0, len(keys), KEYS_OF_A_QUERY):
        some = keys[start : start + KEYS_OF_A_QUERY]
        yield some, ",".join("?" * len(some))


# Waiting for one's turn to write, while another program holds the store.

POLL_SECONDS = 0.1
LAST_SECONDS = 3.0
"""For how long the last try goes on, once the run is told to stop."""

NOTE_AFTER_SECONDS = 2.0
NOTE_SECONDS = 60.0


class Turn:
    """A wait for the moment at which this process may write."""

    def __init__(
        self, path: Path, waiting: Waiting, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._waiting = waiting
        self._clock = clock
        self._began = self._next_note = clock()
        self._next_note += NOTE_AFTER_SECONDS
        self._until = self._began + waiting.seconds

    def wait(self) -> None:
        """Wait a little, before another try; `Locked` where this has gone on for too long."""
        now = self._clock()
        if self._waiting.is_stopped():
            self._until = min(self._until, now + LAST_SECONDS)
        if now >= self._until:
            seconds = round(now - self._began)
            raise Locked(f"{self._path}: locked by another program for {seconds} s")
        if now >= self._next_note:
            self._next_note = now + NOTE_SECONDS
            most = round(self._until - now)
            problem = f"{self._path} is locked by another program"
            self._waiting.note(f"{problem}; waiting for it, {most} s at most")
        time.sleep(POLL_SECONDS)


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
        self._watch = Watch()
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
            return int(reply[0]), last_failure(connection)

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
            release(connection, [each.lease or each.key for each in batch.replies])
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
            self._owner = register(connection, this_process(), moment)
        renew(connection, self._owner, moment)
        replies = self._select(connection, [*keys, *sought])
        unanswered = [key for key in keys if key not in replies]
        held_before = held_by(connection, self._owner, unanswered)
        held = claim(connection, self._owner, unanswered)
        if len(held) < len(set(unanswered)):
            self._watch.release_dead(connection, this_process(), moment)
            held = claim(connection, self._owner, unanswered)
        newly_asked = [key for key in unanswered if key not in held_before]
        failed = self._failed_elsewhere(connection, newly_asked, held)
        release(connection, held & failed.keys())
        mark_asked_again(connection, held - failed.keys())
        return Granted(replies, failed, frozenset(held - failed.keys()))

    def _failed_elsewhere(
        self, connection: sqlite3.Connection, keys: Sequence[bytes], held: Set[bytes]
    ) -> dict[bytes, Failed]:
        """What failed for a process that still runs, or since this store was opened."""
        failures = fresh_failures(connection, keys)
        return {
            key: failed
            for key, (at, failed) in failures.items()
            if key not in held or at > self._last_failure
        }

    def asker(self, key: bytes) -> str:
        """Which other process asks for a key, in words."""
        with self.reading() as connection:
            holder = holder_of(connection, key)
        if holder is None:
            return "another process"
        elsewhere = "" if holder.machine == this_process().machine else " of another machine"
        return f"process {holder.process}{elsewhere}"

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""
        if self._owner is not None:
            with self.writing() as connection:
                renew(connection, self._owner, self._clock())

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
                unregister(connection, self._owner)

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


# Replies copied from one store's file into another's, as they were written.


def copy_file(source: Path, target: SqliteStore) -> int:
    """Copy all replies of a store's file, and its facts, into an open store; how many were new."""
    with open_store(source) as other, other.reading() as rows, target.writing() as connection:
        copy_facts(rows, connection)
        return copy_rows(rows, connection)


def copy_keys(source: Path, target: Path, keys: Sequence[bytes]) -> None:
    """Copy the replies under some keys into a store's file, which is made where there is none."""
    columns = f"id, replies.checksum, {REPLY}, wires.checksum, request, body"
    address = f"{true_path(source).as_uri()}?mode=ro"
    opened = closing(sqlite3.connect(address, uri=True))
    with store_problems(source), opened as rows, open_store(target) as store:
        for some, marks in in_parts(keys):
            query = f"SELECT {columns} FROM replies JOIN wires USING (id) WHERE key IN ({marks})"
            with store.writing() as connection:
                insert_whole(connection, rows.execute(query, some).fetchall())
