"""Opening a store: making it, and refusing what is not one.

What is refused stays as it was, byte for byte: the file's head is read before SQLite touches it.
"""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, FileProblem, LabelerError
from labeler.files.paths import true_path
from labeler.files.read import check_regular
from labeler.messages import count_of
from labeler.store.base import REPLY, KeyedReply, values_of
from labeler.store.keys import checksum

# The tables of a store: one SQLite file, in WAL mode, that any SQLite program can read.
#
# `replies` holds one row a reply: `key` is the SHA-256 of the canonical request without its limit
# on tokens (of a reply that was cut at that limit, of both), `model` whom it was asked of,
# `served` the name that the server gave itself, `at` the time in seconds since 1970, `cost`
# dollars or NULL where no price was known, `sent` the parameters that the server was sent as JSON,
# `top_tokens` log probabilities as JSON or NULL. `wires` holds, under the same `id`, the canonical
# request (NULL in a redacted store) and the body as it came over the wire. `checksum` covers its
# row. `labeler.store.keys` makes keys, requests and checksums.
#
# `failures` holds the last call under a key that failed for good; `at` is negative once the key
# was asked again. `facts` holds what was found out about servers. `owners` (processes, each with
# its machine as `place`) and `leases` say which process is asking what; they mean nothing once
# none runs.
#
# A copy of a store, which may be in use: `sqlite3 replies.db ".backup copy.db"`. To take in the
# replies of another store, attach it as `other` and run `MERGE`; what is there already stays, and
# `labeler store verify` checks the rest.

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

MERGE = f"""
INSERT OR IGNORE INTO replies (checksum, {REPLY})
    SELECT checksum, {REPLY} FROM other.replies ORDER BY id;
INSERT OR IGNORE INTO wires (id, checksum, request, body)
    SELECT here.id, wire.checksum, wire.request, wire.body
    FROM other.wires AS wire
    JOIN other.replies AS there USING (id)
    JOIN replies AS here ON here.key = there.key;
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
            advice = "`labeler store verify` says what is left; a copy of it may be whole"
            raise BadInput(f"{path}: the store is damaged ({error}); {advice}") from error
        raise FileProblem(f"{path}: {_explained(error, code)}") from error


def _explained(error: sqlite3.DatabaseError, code: int) -> str:
    """What one of SQLite's errors means for whoever uses the store."""
    meanings = {
        sqlite3.SQLITE_BUSY: "locked by another program; end it, or try again",
        sqlite3.SQLITE_FULL: "the disk is full; replies up to the last batch are kept",
        sqlite3.SQLITE_READONLY: "the store is read-only; this has to write to it",
        sqlite3.SQLITE_IOERR: f"could not be written ({error}); is the disk full?",
    }
    return meanings.get(code, str(error))


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
        connection = sqlite3.connect(fresh, isolation_level=None)
        try:
            connection.executescript(f"BEGIN; {TABLES} COMMIT;")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        fresh.chmod(0o666 & ~_umask())
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_head(path: Path) -> None:
    """Refuse what is no store, a store of another version, or one that is cut short."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if len(head) < _HEAD or not head.startswith(_MAGIC):
        raise BadInput(f"{path}: not a store of labeler's; move it away or give another folder")
    page = struct.unpack_from(">H", head, 16)[0]
    (pages,) = struct.unpack_from(">I", head, 28)
    version, kind = struct.unpack_from(">I4xI", head, 60)
    if kind != APPLICATION_ID:
        raise BadInput(f"{path}: an SQLite file, but not a store of labeler's; move it away")
    if version > VERSION:
        raise BadInput(f"{path}: made by a newer labeler (store {version}); upgrade labeler")
    if version == 0:
        raise BadInput(f"{path}: a store of no version, so damaged; bring back a copy of it")
    if version < VERSION:
        problem = f"a store of version {version}, from before the first release"
        raise BadInput(f"{path}: {problem}; move it away, and a new one is made")
    log = Path(f"{path}-wal")
    whole = path.stat().st_size >= pages * (65536 if page == 1 else page)
    if not whole and not (log.exists() and log.stat().st_size):
        raise BadInput(f"{path}: the store is cut short; bring back a copy of it")


# The rows of a store in a file: written once under their keys, and copied as they are.

ROWS_OF_A_CHUNK = 500
_MARKS = ",".join("?" * (REPLY.count(",") + 1))
_INSERT_REPLY = f"INSERT OR IGNORE INTO replies (checksum, {REPLY}) VALUES (?, {_MARKS})"
_INSERT_WIRE = "INSERT OR REPLACE INTO wires VALUES (?, ?, ?, ?)"


def insert(connection: sqlite3.Connection, keyed_reply: KeyedReply, *, redacted: bool) -> bool:
    """Whether the reply is the first under its key, and so was kept."""
    values = values_of(keyed_reply)
    done = connection.execute(_INSERT_REPLY, (checksum(*values), *values))
    if done.rowcount != 1:
        return False
    request = None if redacted else keyed_reply.request
    wire = (request, keyed_reply.reply.body)
    connection.execute(_INSERT_WIRE, (done.lastrowid, checksum(*wire), *wire))
    connection.execute("DELETE FROM failures WHERE key = ?", (keyed_reply.key,))
    return True


def insert_facts(connection: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    """Insert facts; one of a name that is there stays as it is."""
    connection.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", facts.items())


def copy_facts(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy the facts of a store into another one, but for those whose names are there."""
    insert_facts(target, dict(source.execute("SELECT name, value FROM facts")))


def copy_rows(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """Copy the replies of a store into another one, as they are; how many were new there.

    What cannot be read of the source, or is not as it was written, is passed over.
    """
    columns = f"id, replies.checksum, {REPLY}, wires.checksum, request, body"
    query = f"SELECT {columns} FROM replies JOIN wires USING (id) WHERE id > ? AND id <= ?"
    copied, last = 0, _last_number(source)
    for start in range(0, last, ROWS_OF_A_CHUNK):
        rows: list[tuple[Any, ...]] = []
        with suppress(sqlite3.DatabaseError):
            rows = source.execute(query, (start, start + ROWS_OF_A_CHUNK)).fetchall()
        copied += insert_whole(target, rows)
    return copied


def insert_whole(target: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
    """Insert replies of another store with what came over the wire; how many were new.

    What is not as it was written is passed over.
    """
    copied = 0
    for _, reply_sum, *reply, wire_sum, request, body in rows:
        if (reply_sum, wire_sum) != (checksum(*reply), checksum(request, body)):
            continue
        done = target.execute(_INSERT_REPLY, (reply_sum, *reply))
        if done.rowcount == 1:
            copied += 1
            target.execute(_INSERT_WIRE, (done.lastrowid, wire_sum, request, body))
    return copied


def _last_number(connection: sqlite3.Connection) -> int:
    with suppress(sqlite3.DatabaseError):
        row = connection.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()
        return int(row[0])
    return 0


# Saving replies that cannot be kept in their store, and taking them in when it is opened again.

_MARK = ".rescued-"


class Lost(FileProblem):
    """The store's path does not lead to the file any more that was opened, or not to all of it."""


@dataclass(slots=True)
class OpenFile:
    """Which file a store's path led to when it was opened, and how large it was last."""

    path: Path
    device: int
    inode: int
    size: int

    @classmethod
    def of(cls, path: Path) -> OpenFile:
        """The file that a path leads to now."""
        with store_problems(path):
            status = path.stat()
        return cls(path, status.st_dev, status.st_ino, status.st_size)

    def check(self) -> None:
        """Raise `Lost` where something was done to the file while it was in use.

        Another process that gives unused room back makes it smaller, and leaves it whole.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise Lost(f"{self.path}: removed while it was in use") from None
        except OSError as error:
            problem = f"out of reach while it was in use ({error.strerror or error})"
            raise Lost(f"{self.path}: {problem}") from error
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            raise Lost(f"{self.path}: replaced while it was in use")
        if status.st_size < self.size and not (status.st_size and self._is_whole()):
            raise Lost(f"{self.path}: cut short while it was in use; move it away")
        self.size = status.st_size

    def _is_whole(self) -> bool:
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False


class Rescue:
    """A store beside another one, for replies that cannot be kept there.

    It lies in the folder for temporary files where the other one's folder cannot be written to, or
    has no room left. What there is room for in neither is counted. `facts` are kept with the
    replies, which are not found again without them.
    """

    def __init__(self, path: Path, facts: Mapping[str, str]) -> None:
        self._of = path
        self._facts = facts
        self._folders = [path.parent, Path(tempfile.gettempdir())]
        self._saved: dict[Path, int] = {}
        self._connection: sqlite3.Connection | None = None
        self._is_copy_empty = False
        self._unsaved = 0
        self._problem = ""

    def __str__(self) -> str:
        """What becomes of the replies; empty where there was none to save."""
        if self._unsaved:
            return f"replies could not be saved elsewhere: {self._problem}"
        if not self._saved:
            return "it held no reply" if self._is_copy_empty else ""
        *_, last = self._saved
        where = f"replies are saved in {' and '.join(map(str, self._saved))}"
        if last.parent == self._of.parent:
            return f"{where}, and taken in by the next run"
        return f"{where}; move {last} into {self._of.parent}, and the next run takes them in"

    def summary(self) -> list[str]:
        """How many replies are saved in which file, and how many are lost; a line each."""
        lines = [
            f"{count_of(number, 'reply is', 'replies are')} saved in {path}"
            for path, number in self._saved.items()
        ]
        if self._unsaved:
            lost = count_of(self._unsaved, "reply is lost", "replies are lost")
            lines.append(f"{lost}, for which there was no room ({self._problem})")
        return lines

    def add(self, replies: Sequence[KeyedReply], *, redacted: bool) -> None:
        """Keep replies."""

        def inserted(connection: sqlite3.Connection) -> int:
            return sum(insert(connection, reply, redacted=redacted) for reply in replies)

        if replies and not self._keeps(inserted):
            self._unsaved += len(replies)

    def copy(self, source: sqlite3.Connection) -> None:
        """Keep all that can be read of a store."""
        self._keeps(lambda connection: copy_rows(source, connection))
        self._is_copy_empty = not any(self._saved.values())
        if self._is_copy_empty:
            self._leave()

    def _keeps(self, written: Callable[[sqlite3.Connection], int]) -> bool:
        """Whether rows are written in one transaction, in the first folder where that can be."""
        while self._folders:
            try:
                self._write(written)
            except (OSError, sqlite3.Error, FileProblem) as error:
                self._problem = str(error)
                self._leave()
                del self._folders[0]
            else:
                return True
        return False

    def _write(self, written: Callable[[sqlite3.Connection], int]) -> None:
        if self._connection is None:
            name = f"{self._of.name}{_MARK}{os.getpid()}-{secrets.token_hex(4)}"
            path = self._folders[0] / name
            self._saved[path] = 0
            self._connection = _opened_alone(path)
            insert_facts(self._connection, self._facts)
        path = list(self._saved)[-1]
        self._connection.execute("BEGIN IMMEDIATE")
        with committed(self._connection):
            number = written(self._connection)
        self._saved[path] += number

    def _leave(self) -> None:
        """End with the last file, which is removed where it holds nothing."""
        self.close()
        for path in [path for path, number in self._saved.items() if not number]:
            del self._saved[path]
            with suppress(OSError):
                path.unlink()

    def close(self) -> None:
        """Close the store, so that the next run can take it in."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _opened_alone(path: Path) -> sqlite3.Connection:
    """A new store, which nobody else reads until it is closed."""
    create(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def saved_beside(path: Path) -> list[Path]:
    """The files in which replies were saved beside a store."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}{_MARK}*-????????"))


def take_in(path: Path, connection: sqlite3.Connection, note: Callable[[str], None]) -> None:
    """Copy the replies that were saved beside a store into it, and remove what held them.

    What a process still writes to, and what is no store, is left where it is.
    """
    for saved in saved_beside(path):
        with suppress(LabelerError), store_problems(saved):
            copied = _taken(saved, connection)
            note(f"took in {count_of(copied, 'reply', 'replies')} from {saved}")


def _taken(saved: Path, target: sqlite3.Connection) -> int:
    address = f"{true_path(saved).as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as source:
        source.execute("BEGIN EXCLUSIVE")
        target.execute("BEGIN IMMEDIATE")
        try:
            copied = copy_rows(source, target)
            copy_facts(source, target)
            target.execute("COMMIT")
        except BaseException:
            target.execute("ROLLBACK")
            raise
        saved.unlink()
        return copied
