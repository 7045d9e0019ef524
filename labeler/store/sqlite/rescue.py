"""Saving replies that cannot be kept in their store, and taking them in when it is opened again."""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from labeler.errors import FileProblem, LabelerError
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.store.base import KeyedReply
from labeler.store.sqlite.open import create, store_problems
from labeler.store.sqlite.rows import copy_rows, insert

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

    It lies in the folder for temporary files where the other one's folder cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self._of = path
        self._replies = 0
        self._path: Path | None = None
        self._connection: sqlite3.Connection | None = None
        self._problem = ""

    def __str__(self) -> str:
        """What becomes of the replies."""
        if self._problem:
            return f"replies could not be saved elsewhere: {self._problem}"
        if self._path is None:
            return "it held no reply"
        if self._path.parent == self._of.parent:
            return f"replies are saved in {self._path}, and taken in by the next run"
        move = f"move it into {self._of.parent}, and the next run takes them in"
        return f"replies are saved in {self._path}; {move}"

    def summary(self) -> str:
        """How many replies are saved; empty where none is."""
        saved = count_of(self._replies, "reply is", "replies are")
        return f"{saved} saved in {self._path}" if self._path else ""

    def add(self, replies: Sequence[KeyedReply], *, redacted: bool) -> None:
        """Keep replies."""
        with self._writing(bool(replies)) as connection:
            if connection is not None:
                kept = (insert(connection, reply, redacted=redacted) for reply in replies)
                self._replies += sum(kept)

    def copy(self, source: sqlite3.Connection) -> None:
        """Keep all that can be read of a store."""
        with self._writing(True) as connection:
            if connection is not None:
                self._replies += copy_rows(source, connection)
        if not self._replies:
            self._remove()

    @contextmanager
    def _writing(self, is_needed: bool) -> Iterator[sqlite3.Connection | None]:
        """The connection in a transaction; None where nothing is to be kept, or nothing can be."""
        if not is_needed or self._problem:
            yield None
            return
        try:
            if self._connection is None:
                self._path, self._connection = _made(self._of)
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except (OSError, sqlite3.Error, FileProblem) as error:
            self._problem = str(error)

    def _remove(self) -> None:
        """Leave no store behind that holds nothing."""
        self.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self._path = None

    def close(self) -> None:
        """Close the store, so that the next run can take it in."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _made(path: Path) -> tuple[Path, sqlite3.Connection]:
    """A new store beside another one, which nobody else reads until it is closed."""
    name = f"{path.name}{_MARK}{os.getpid()}-{secrets.token_hex(4)}"
    beside = path.with_name(name)
    try:
        return beside, _opened_alone(beside)
    except (OSError, sqlite3.Error):
        elsewhere = Path(tempfile.gettempdir(), name)
        return elsewhere, _opened_alone(elsewhere)


def _opened_alone(path: Path) -> sqlite3.Connection:
    create(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def take_in(path: Path, connection: sqlite3.Connection, note: Callable[[str], None]) -> None:
    """Copy the replies that were saved beside a store into it, and remove what held them.

    What a process still writes to, and what is no store, is left where it is.
    """
    for saved in sorted(path.parent.glob(f"{glob.escape(path.name)}{_MARK}*-????????")):
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
            target.execute("COMMIT")
        except BaseException:
            target.execute("ROLLBACK")
            raise
        saved.unlink()
        return copied
