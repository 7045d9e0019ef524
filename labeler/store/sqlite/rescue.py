"""Saving replies that cannot be kept in their store, and taking them in when it is opened again."""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from labeler.errors import FileProblem, LabelerError
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.store.base import KeyedReply
from labeler.store.sqlite.open import committed, create, store_problems
from labeler.store.sqlite.rows import copy_facts, copy_rows, insert, insert_facts

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
