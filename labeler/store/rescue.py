"""Saving replies that cannot be kept in their store, until it is opened again."""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from labeler.errors import FileProblem
from labeler.messages import count_of
from labeler.store.base import StoredRow
from labeler.store.sqlite import committed, create, insert_rows

_MARK = ".rescued-"


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

    def add(self, rows: Sequence[StoredRow]) -> None:
        """Keep replies."""
        if rows and not self._keeps([rows]):
            self._unsaved += len(rows)

    def copy(self, chunks: Iterable[list[StoredRow]]) -> None:
        """Keep all that can be read of a store."""
        self._keeps(list(chunks))
        self._is_copy_empty = not any(self._saved.values())
        if self._is_copy_empty:
            self._leave()

    def _keeps(self, chunks: Sequence[Sequence[StoredRow]]) -> bool:
        """Whether rows are written in one transaction, in the first folder where that can be."""
        while self._folders:
            try:
                self._write(chunks)
            except (OSError, sqlite3.Error, FileProblem) as error:
                self._problem = str(error)
                self._leave()
                del self._folders[0]
            else:
                return True
        return False

    def _write(self, chunks: Sequence[Sequence[StoredRow]]) -> None:
        if self._connection is None:
            name = f"{self._of.name}{_MARK}{os.getpid()}-{secrets.token_hex(4)}"
            path = self._folders[0] / name
            self._saved[path] = 0
            self._connection = _new_for_one(path)
            facts = "INSERT OR IGNORE INTO facts VALUES (?, ?)"
            self._connection.executemany(facts, self._facts.items())
        path = list(self._saved)[-1]
        self._connection.execute("BEGIN IMMEDIATE")
        with committed(self._connection):
            number = sum(len(insert_rows(self._connection, rows)) for rows in chunks)
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


def _new_for_one(path: Path) -> sqlite3.Connection:
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
