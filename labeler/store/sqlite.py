"""A store in one SQLite file: opened, written in turn, and saved where it cannot be written.

What is refused stays as it was, byte for byte: the file's head is read before SQLite touches it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from labeler.errors import BadInput, FileProblem, LabelerError, Locked
from labeler.files.atomic import usual_mode
from labeler.files.paths import true_path
from labeler.files.read import check_regular
from labeler.messages import batched
from labeler.store.base import REPLY, SELECT_WHOLE, Keys, Statements, StoredRow, Waiting
from labeler.store.keys import LEASE_SECONDS, LeaseHolder, has_ended, this_process

Result = TypeVar("Result")

# The tables of a store: one SQLite file, in WAL mode, that any SQLite program can read.
#
# `replies` holds one row a reply: `key` is the SHA-256 of the canonical request without its limit
# on tokens (of a reply that was cut at that limit, of both), `model` whom it was asked of,
# `served` the name that the server gave itself, `at` the time in seconds since 1970, `cost`
# dollars or NULL where no price was known, `sent` the parameters that the server was sent as JSON,
# `top_tokens` log probabilities as JSON or NULL. `wires` holds, under the same `id`, the canonical
# request (NULL in a redacted store) and the body as it came over the wire. `checksum` covers its
# row. `labeler.store.base` makes keys, requests and checksums.
#
# `failures` holds the last call under a key that failed for good; `at` is negative once the key
# was asked again. `facts` holds what was found out about servers. `owners` (processes, each with
# its machine as `place`) and `leases` say which process is asking what; they mean nothing once
# none runs.
#
# A copy of a store, which may be in use: `sqlite3 replies.db ".backup copy.db"`. `labeler store
# copy` takes in the replies of another store.

APPLICATION_ID = 0x6C61626C  # "labl"
VERSION = 3

TABLES = """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    checksum BLOB NOT NULL,
    model TEXT NOT NULL,
    served TEXT NOT NULL,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    refusal TEXT,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at REAL NOT NULL,
    cost REAL,
    sent TEXT,
    top_tokens TEXT
) STRICT;
CREATE TABLE wires (
    id INTEGER PRIMARY KEY,
    checksum BLOB NOT NULL,
    request TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE failures (
    key BLOB PRIMARY KEY,
    at REAL NOT NULL,
    status TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE owners (
    id INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,
    until REAL NOT NULL,
    until_wall REAL NOT NULL
) STRICT;
CREATE TABLE leases (
    key BLOB PRIMARY KEY,
    owner INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


BUSY_SECONDS = 30.0
"""For how long a reader waits: for another process that opens or closes the store."""

TRY_SECONDS = 0.25
"""For how long one try to begin a transaction waits; other threads' reading waits meanwhile."""

CACHE_KILOBYTES = 16_384
_HEAD = 100
_MAGIC = b"SQLite format 3\0"


@contextmanager
def store_problems(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that names the file."""
    try:
        yield
    except OSError as error:
        raise FileProblem(f"{path}: {error.strerror or error}") from error
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise BadInput(
                f"{path}: the store is damaged ({error}); `labeler store verify` says what is "
                "left; a copy of it may be whole"
            ) from error
        meaning = {
            sqlite3.SQLITE_BUSY: "locked by another program; end it, or try again",
            sqlite3.SQLITE_FULL: "the disk is full; replies up to the last batch are kept",
            sqlite3.SQLITE_READONLY: "the store is read-only; this has to write to it",
            sqlite3.SQLITE_IOERR: f"could not be written ({error}); is the disk full?",
        }.get(code, str(error))
        raise FileProblem(f"{path}: {meaning}") from error


def connect(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """A connection to the store in a file, made where there is none or an empty one.

    Who is only `reading` may have one that cannot be written.
    """
    with store_problems(path):
        if reading and path.is_file() and path.stat().st_size and not _may_write(path):
            return _read_only(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() and not path.exists():
            raise FileProblem(f"{path}: a link to {path.readlink()}, which is not there")
        check_regular(path)
        while not path.exists() or path.stat().st_size == 0:
            create(path)
        _check_head(path)
        if not _may_write(path):
            raise FileProblem(f"{path}: the store is read-only; this has to write to it")
        return _connection(path)


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")  # a damaged file fails here or below
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except BaseException:
        connection.close()
        raise
    return connection


def begins(connection: sqlite3.Connection) -> bool:
    """Whether a transaction that writes has begun; false where another program holds the store."""
    connection.execute(f"PRAGMA busy_timeout = {TRY_SECONDS * 1000:.0f}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
    return True


@contextmanager
def committed(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the transaction that has begun in the end, or undo it after an error."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite itself may have undone it
            connection.execute("ROLLBACK")
        raise


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, not even beside the file where no log has to be read."""
    _check_head(path)
    log = Path(f"{path}-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(
        f"{true_path(path).as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )


def create(path: Path) -> None:
    """Make a store under another name, then give it its own: it is never seen half made."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.executescript(f"BEGIN; {TABLES} COMMIT;")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("PRAGMA journal_mode = WAL")
        fresh.chmod(usual_mode())
        _publish(fresh, path)
    finally:
        for rest in (fresh, Path(f"{name}-wal"), Path(f"{name}-shm")):
            rest.unlink(missing_ok=True)


def _publish(fresh: Path, path: Path) -> None:
    """Give the new store its name, unless another process was faster."""
    if path.exists() and path.stat().st_size == 0:
        with suppress(FileNotFoundError):
            path.rename(f"{fresh}.empty")
            Path(f"{fresh}.empty").unlink()
    with suppress(FileExistsError):
        try:
            os.link(fresh, path)
        except (PermissionError, NotImplementedError):
            os.rename(fresh, path)
    with suppress(OSError):  # not every system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _check_head(path: Path) -> None:
    """Refuse what is no store, a store of another version, or one that is cut short."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if len(head) < _HEAD or not head.startswith(_MAGIC):
        raise BadInput(f"{path}: not a store of labeler's; move it away or give another folder")
    page, pages, version, kind = struct.unpack_from(">16xH10xI28xI4xI", head)
    if kind != APPLICATION_ID:
        raise BadInput(f"{path}: an SQLite file, but not a store of labeler's; move it away")
    if version > VERSION:
        raise BadInput(f"{path}: made by a newer labeler (store {version}); upgrade labeler")
    if version < VERSION:
        raise BadInput(
            f"{path}: a store of version {version}, from before the first release or damaged; "
            "move it away, and a new one is made"
        )
    log = Path(f"{path}-wal")
    whole = path.stat().st_size >= pages * (65536 if page == 1 else page)
    if not whole and not (log.exists() and log.stat().st_size):
        raise BadInput(f"{path}: the store is cut short; bring back a copy of it")


# The rows of a store in a file: written once under their keys, and copied as they are.

ROWS_OF_A_CHUNK = 500


def insert_rows(connection: sqlite3.Connection, rows: Iterable[StoredRow]) -> set[bytes]:
    """Write replies; the keys of those that are the first under their keys, and so are kept."""
    new, to = set[bytes](), _Statements(connection)
    for some in batched(rows, ROWS_OF_A_CHUNK):
        replies = [(row.checksum, *row.values) for row in some]
        into, given = f"OR IGNORE INTO replies (checksum, {REPLY})", "RETURNING key, id"
        ids = dict(_inserted(connection, into, replies, given))
        first = {row.values[0]: row for row in reversed(some)}
        wires = [(number, *first[key][2:]) for key, number in ids.items()]
        if wires:
            _inserted(connection, "OR REPLACE INTO wires", wires)
            to.run("DELETE FROM failures WHERE key IN ({keys})", list(ids))
        new.update(ids)
    return new


def _inserted(
    connection: sqlite3.Connection, into: str, rows: Sequence[Sequence[Any]], more: str = ""
) -> list[Any]:
    """Insert rows by one statement, as each lets other threads run; what it gives back."""
    marks = ",".join(f"({','.join('?' * len(row))})" for row in rows)
    query = f"INSERT {into} VALUES {marks} {more}"
    return connection.execute(query, [*chain.from_iterable(rows)]).fetchall()


def whole_rows(source: sqlite3.Connection) -> Iterator[list[StoredRow]]:
    """The replies of a store, some hundreds at a time.

    What cannot be read, or is not as it was written, is passed over.
    """
    last = 0
    with suppress(sqlite3.DatabaseError):
        last = source.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()[0]
    query = f"{SELECT_WHOLE} WHERE id > ? AND id <= ?"
    for start in range(0, last, ROWS_OF_A_CHUNK):
        with suppress(sqlite3.DatabaseError):
            stored = source.execute(query, (start, start + ROWS_OF_A_CHUNK)).fetchall()
            rows = [row for row in map(StoredRow.of, stored) if row.is_whole]
            if rows:
                yield rows


class Lost(FileProblem):
    """The store's path does not lead to the file any more that was opened, or not to all of it."""


def _is_whole(path: Path) -> bool:
    """Whether a store's file holds all that it says."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


@contextmanager
def opened_alone(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection to a store's file, to take its replies; `mode` is `ro` or `rw`."""
    address = f"{true_path(path).as_uri()}?mode={mode}"
    with store_problems(path):
        connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
        with closing(connection):
            yield connection


# Waiting for one's turn to write, while another program holds the store.

POLL_SECONDS = 0.1
LAST_SECONDS = 3.0
"""For how long the last try goes on, once the run is told to stop."""

NOTE_AFTER_SECONDS = 2.0
NOTE_SECONDS = 60.0


def turns(path: Path, waiting: Waiting) -> Iterator[None]:
    """The moments at which to try to write; `Locked` where this has gone on for too long."""
    began = time.monotonic()
    next_note, until = began + NOTE_AFTER_SECONDS, began + waiting.seconds
    while True:
        yield
        now = time.monotonic()
        if waiting.is_stopped():
            until = min(until, now + LAST_SECONDS)
        if now >= until:
            raise Locked(f"{path}: locked by another program for {round(now - began)} s")
        if now >= next_note:
            next_note = now + NOTE_SECONDS
            waiting.note(
                f"{path} is locked by another program; waiting for it, {round(until - now)} s at "
                "most"
            )
        time.sleep(POLL_SECONDS)


class Now(NamedTuple):
    """The monotonic clock and the wall clock, in seconds.

    The first is one that every process of a machine shares and nobody can set; the second counts
    only between machines.
    """

    monotonic: float
    wall: float


def now() -> Now:
    """The time on both clocks."""
    return Now(time.monotonic(), time.time())


@dataclass(slots=True)
class _Statements:
    """Runs SQL on a connection; `{keys}` stands for as many keys as one statement takes."""

    connection: Any

    def run(self, query: str, keys: Keys | None = None, **values: Any) -> list[Sequence[Any]]:
        if keys is None:
            return list(self.connection.execute(query, values))
        rows: list[Sequence[Any]] = []
        for chunk in batched(keys, ROWS_OF_A_CHUNK):
            some = {f"k{at}": key for at, key in enumerate(chunk)}
            table = f"VALUES {','.join(f'(:{name})' for name in some)}"
            rows += self.connection.execute(query.replace("{keys}", table), some | values)
        return rows


class SqliteDatabase:
    """The file of a store, open."""

    def __init__(
        self,
        path: Path,
        waiting: Waiting | None = None,
        clock: Callable[[], Now] = now,
        *,
        reading: bool = False,
    ) -> None:
        self.address = self.beside = path  # beside which replies are saved that it cannot take
        self._waiting = waiting or Waiting()
        self._clock = clock
        self._first_seen: dict[tuple[int, Now], float] = {}
        self._lock = threading.Lock()
        self._connection = connect(path, reading=reading)
        try:
            with store_problems(path):
                self._status = None if reading else path.stat()
        except BaseException:
            self._connection.close()
            raise

    @property
    def now(self) -> str:
        """The time in seconds since 1970."""
        return repr(time.time())

    def transaction(self, work: Callable[[Statements], Result], *, writing: bool = True) -> Result:
        """Do work in one transaction, which is on the disk when this returns.

        While another program holds the store, this waits; other threads may read meanwhile.
        """
        turn = turns(self.address, self._waiting)
        while True:
            next(turn)
            with self._lock, store_problems(self.address):
                if not writing:
                    return work(_Statements(self._connection))
                if begins(self._connection):
                    with committed(self._connection):
                        return work(_Statements(self._connection))

    def insert(self, to: Statements, rows: Sequence[StoredRow]) -> set[bytes]:
        """Write replies; the keys of those that are kept."""
        return insert_rows(to.connection, rows)

    def registered(self, to: Statements, owner: int | None) -> int:
        """The number under which this process holds leases, which are renewed; else a new one."""
        until, wall = (clock + LEASE_SECONDS for clock in self._clock())
        if owner is not None:
            to.run(
                "UPDATE owners SET until = :until, until_wall = :wall WHERE id = :owner",
                owner=owner,
                until=until,
                wall=wall,
            )
            return owner
        columns = "(place, process, started, until, until_wall)"
        made = f"INSERT INTO owners {columns} VALUES (:machine, :process, :started, :until, :wall)"
        holder = this_process()._asdict()
        return int(to.run(f"{made} RETURNING id", until=until, wall=wall, **holder)[0][0])

    def release_dead(self, to: Statements) -> None:
        """Release the leases of processes that are gone.

        Whoever is alive renews its leases. So a lease counts for at most its lifetime from when
        this process first saw it, whatever its date says.
        """
        current, moment = this_process(), self._clock()
        seen, self._first_seen = self._first_seen, {}
        for number, *rest in to.run("SELECT * FROM owners"):
            holder, until = LeaseHolder(*rest[:3]), Now(*rest[3:])
            first = seen.get((number, until), moment.monotonic)
            self._first_seen[number, until] = first
            is_old = moment.monotonic - first > LEASE_SECONDS
            if is_old or _is_gone(holder, until, current, moment):
                to.run("DELETE FROM leases WHERE owner = :owner", owner=number)
                to.run("DELETE FROM owners WHERE id = :owner", owner=number)

    def is_lost(self, error: LabelerError) -> bool:
        """Whether nothing can be written any more: all but a lock, which may pass."""
        return not isinstance(error, Locked)

    def rows_left(self) -> Iterator[list[StoredRow]]:
        """What can still be read of the replies."""
        with self._lock:
            yield from whole_rows(self._connection)

    def check(self) -> None:
        """Raise `Lost` where something was done to the file while it was in use.

        Another process that gives unused room back makes it smaller, and leaves it whole.
        """
        path, last = self.address, self._status
        if last is None:
            return
        try:
            status = path.stat()
        except FileNotFoundError:
            raise Lost(f"{path}: removed while it was in use") from None
        except OSError as error:
            raise Lost(
                f"{path}: out of reach while it was in use ({error.strerror or error})"
            ) from error
        if (status.st_dev, status.st_ino) != (last.st_dev, last.st_ino):
            raise Lost(f"{path}: replaced while it was in use")
        if status.st_size < last.st_size and not (status.st_size and _is_whole(path)):
            raise Lost(f"{path}: cut short while it was in use; move it away")
        self._status = status

    def problems(self) -> list[str]:
        """What is wrong with the file's structure."""
        report = self.transaction(lambda to: to.run("PRAGMA integrity_check(20)"), writing=False)
        return [line for (line,) in report if line != "ok"]

    def size(self) -> int:
        """How many bytes the file takes."""
        return self.address.stat().st_size

    def collect_garbage(self) -> tuple[int, int]:
        """Give unused room back to the disk; the bytes before and after."""

        def collect(to: Statements) -> int:
            to.run("PRAGMA wal_checkpoint(TRUNCATE)")
            before = self.size()
            to.run("VACUUM")
            to.run("PRAGMA wal_checkpoint(TRUNCATE)")
            return before

        return self.transaction(collect, writing=False), self.size()

    def stop_waiting(self) -> None:
        """From now on, try once, and wait for nothing."""
        self._waiting = Waiting(0.0)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _is_gone(holder: LeaseHolder, until: Now, current: LeaseHolder, moment: Now) -> bool:
    """Whether a process has ended: on this machine that can be looked up, elsewhere time tells."""
    if holder.machine != current.machine:
        return until.wall < moment.wall
    return until.monotonic < moment.monotonic or has_ended(holder)
