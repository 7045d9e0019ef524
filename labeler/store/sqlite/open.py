"""Opening a store: making it, and refusing what is not one.

What is refused stays as it was, byte for byte: the file's head is read before SQLite touches it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labeler.errors import BadInput, FileProblem
from labeler.files.paths import true_path
from labeler.files.read import check_regular
from labeler.store.sqlite.schema import APPLICATION_ID, TABLES, VERSION

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
