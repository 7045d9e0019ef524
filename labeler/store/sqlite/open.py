"""Opening a store: making it, refusing what is not one, and bringing old ones up to date.

What is refused stays as it was, byte for byte: the file's head is read before SQLite touches it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labeler.errors import BadInput, FileProblem
from labeler.store.sqlite.schema import APPLICATION_ID, TABLES, VERSION, migrate

BUSY_SECONDS = 30.0
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
        raise FileProblem(f"{path}: {_said(error, code)}") from error


def _said(error: sqlite3.DatabaseError, code: int) -> str:
    known = {
        sqlite3.SQLITE_BUSY: "locked by another program; end it, or try again",
        sqlite3.SQLITE_FULL: "the disk is full; replies up to the last batch are kept",
        sqlite3.SQLITE_READONLY: "the store is read-only; this has to write to it",
        sqlite3.SQLITE_IOERR: f"could not be written ({error}); is the disk full?",
    }
    return known.get(code, str(error))


def connect(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """A connection to the store in a file, made where there is none or an empty one.

    Who is only `reading` may have one that cannot be written.
    """
    with store_problems(path):
        if reading and path.exists() and path.stat().st_size and not _may_write(path):
            return _read_only(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() and not path.exists():
            raise FileProblem(f"{path}: a link to {path.readlink()}, which is not there")
        while not path.exists() or path.stat().st_size == 0:
            _create(path)
        _check_head(path)
        if not _may_write(path):
            raise FileProblem(f"{path}: the store is read-only; this has to write to it")
        connection = _connection(path)
        try:
            _bring_up_to_date(path, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
    return connection


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, not even beside the file where no log has to be read."""
    version = _check_head(path)
    if version < VERSION:
        raise FileProblem(f"{path}: read-only, and of an older labeler; make it writable once")
    log = Path(f"{path}-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )


def _create(path: Path) -> None:
    """Make the store under another name, then give it its own: it is never seen half made."""
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
        _place(fresh, path)
    finally:
        for rest in (fresh, Path(f"{name}-wal"), Path(f"{name}-shm")):
            rest.unlink(missing_ok=True)


def _place(fresh: Path, path: Path) -> None:
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


def _check_head(path: Path) -> int:
    """The store's version; what is not a store, newer, or cut short is refused."""
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
    log = Path(f"{path}-wal")
    whole = path.stat().st_size >= pages * (65536 if page == 1 else page)
    if not whole and not (log.exists() and log.stat().st_size):
        raise BadInput(f"{path}: the store is cut short; bring back a copy of it")
    return int(version)


def _bring_up_to_date(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("SELECT count(*) FROM sqlite_schema")
    if _version(connection) == VERSION:
        return
    backup = path.with_name(f"{path.name}.v{_version(connection)}-{time.strftime('%Y%m%d%H%M%S')}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > VERSION:
            raise BadInput(f"{path}: made by a newer labeler (store {version}); upgrade labeler")
        if version < VERSION:
            shutil.copy2(path, backup)
            migrate(connection, version)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        backup.unlink(missing_ok=True)
        raise
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs"}


def network_file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of network file system that `path` lies on, None where it is none or unknown.

    SQLite's locks and shared memory do not work across hosts.
    """
    with suppress(OSError, UnicodeDecodeError):
        found, longest = None, -1
        for line in mounts.read_text(encoding="utf-8").splitlines():
            _, point, kind, *_ = line.split(" ")
            below = path.resolve().is_relative_to(point.replace("\\040", " "))
            if below and len(point) > longest:
                found, longest = kind, len(point)
        return found if found in _NETWORK else None
    return None
