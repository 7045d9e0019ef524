"""The journal of a rater: answers are appended at once, and read as other processes append them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labeler.collection.annotations import (
    JournalRow,
    journal_names,
    journal_path,
    journal_rows,
    read_journal,
)
from labeler.collection.layout import Collection
from labeler.errors import BadInput, FileProblem
from labeler.files.cache import lock_file
from labeler.files.read import file_problems

LONGEST_WAIT = 10.0
"""Seconds to wait for another process, which appends a line and is done."""


class RatingJournal:
    """The file of one rater's answers, which several processes may append to.

    `append` returns when the answer is on the disk. A process that reads sees the lines of others.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = 0
        self._end = 0
        self._inode = -1

    def check(self) -> None:
        """Raise where the file cannot be read, or nothing can be written beside it."""
        read_journal(self.path)
        with self.held():
            pass

    def fresh(self) -> tuple[list[JournalRow], bool]:
        """The rows since the last time, and whether they are all rows: the file is another one."""
        with file_problems(self.path):
            try:
                state = self.path.stat()
            except FileNotFoundError:
                was_read, self._end, self._lines, self._inode = self._end > 0, 0, 0, -1
                return [], was_read
            is_other = state.st_ino != self._inode or state.st_size < self._end
            if is_other:
                self._end, self._lines, self._inode = 0, 0, state.st_ino
            whole = b""
            if state.st_size > self._end:  # of what was not read, the whole lines
                with self.path.open("rb") as file:
                    file.seek(self._end)
                    unread = file.read()
                whole = unread[: unread.rfind(b"\n") + 1]
        rows: list[JournalRow] = []
        for line in whole.split(b"\n")[:-1]:
            self._lines += 1
            rows += journal_rows(self.path, self._lines, line + b"\n")
        self._end += len(whole)
        return rows, is_other

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from appending while the block runs."""
        from filelock import Timeout

        with file_problems(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = lock_file(self.path.with_name(f".{self.path.stem}.lock"))
        try:
            lock.acquire(timeout=LONGEST_WAIT, poll_interval=0.005)
        except Timeout as error:
            problem = "another process has held it for too long"
            raise FileProblem(f"{self.path}: {problem}") from error
        except OSError as error:
            problem = f"cannot be locked for writing: {error.strerror or error}"
            raise FileProblem(f"{self.path}: {problem}") from error
        try:
            yield
        finally:
            lock.release()

    def append(self, row: JournalRow) -> None:
        """Write an answer and wait until it is on the disk; the journal must be held.

        Where that fails the file is as it was before.
        """
        with file_problems(self.path):
            is_new = not self.path.exists()
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
            try:
                before = _mended(self.path, file)
                try:
                    _write_all(file, row.line())
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, before)
                    raise
            finally:
                os.close(file)
            if is_new and hasattr(os, "O_DIRECTORY"):  # so that the new file's name is there, too
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)


_BINARY = getattr(os, "O_BINARY", 0)


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _mended(path: Path, file: int) -> int:
    """Remove a last line that was cut short, or end one that is whole; the file's size then.

    `BadInput` where it is none of ours.
    """
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if any(journal_rows(path, 0, content[end:])):
        _write_all(file, b"\n")
        return len(content) + 1
    os.ftruncate(file, end)
    return end


def read_journals(collection: Collection) -> dict[str, list[JournalRow]]:
    """The journals of a collection by rater; `BadInput` where nobody has answered anything."""
    names = journal_names(collection)
    journals = {name: read_journal(journal_path(collection, name)) for name in names}
    if not any(journals.values()):
        folder = collection.folder
        raise BadInput(
            f"{folder}: nobody has answered anything yet; next: labeler annotate {folder}"
        )
    return journals
