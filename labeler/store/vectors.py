"""Vectors of texts in a file, so that no text is encoded twice.

A file belongs to one encoder: an SQLite database with the 32-bit floats of each vector under a hash
of its text. A batch is in the file when it was added, so a kill loses none but the one under way; a
power loss may cost the latest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.errors import BadInput, FileProblem
from labeler.files.cache import exclusive_in_loop
from labeler.files.read import check_regular, file_problems
from labeler.messages import Note, batched

Vectors = NDArray[np.float32]

_KEY_BYTES = 16
_KEYS_AT_ONCE = 500
_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN;
CREATE TABLE IF NOT EXISTS about (encoder TEXT NOT NULL, dimensions INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL);
COMMIT;
"""


def key_of_text(text: str) -> bytes:
    """The hash under which a text's vector is kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


@dataclass(slots=True)
class VectorFile:
    """The vectors of an encoder in a file, and the keys that it has; `dimensions` is 0 at first.

    `_to_add` is the open file while it may be added to.
    """

    path: Path
    encoder: str
    dimensions: int = 0
    _keys: set[bytes] = field(default_factory=set)
    _to_add: sqlite3.Connection | None = None

    @classmethod
    def read(cls, path: Path, encoder: str) -> VectorFile:
        """What a file holds; an empty one where there is none."""
        vectors = cls(path, encoder)
        vectors._read_anew()
        return vectors

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors under these keys, `(keys, dimensions)`; `KeyError` where one has none."""
        vectors: dict[bytes, bytes] = {}
        with self._opened() as database:
            for some in batched(keys, _KEYS_AT_ONCE):
                query = f"SELECT * FROM vectors WHERE key IN ({','.join('?' * len(some))})"
                vectors.update(database.execute(query, some))
        numbers = np.frombuffer(b"".join([vectors[key] for key in keys]), np.float32)
        return numbers.reshape(len(keys), self.dimensions)

    @asynccontextmanager
    async def appending(self, note: Note, is_stopped: Callable[[], bool]) -> AsyncIterator[None]:
        """Open the file to be added to; another process that adds to it is waited for meanwhile.

        `Stopped` where that is stopped.
        """
        problem = f"another process encodes texts for {self.path}; waiting for it"
        lock = self.path.with_name(f".{self.path.name}")
        with file_problems(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            async with exclusive_in_loop(lock, is_stopped, lambda _: note(problem)):
                self._read_anew()
                with self._opened() as database:
                    database.executescript(_TABLES)
                    self._to_add = database
                    try:
                        yield
                    finally:  # without a log, it can be read where nothing may be written
                        self._to_add = None
                        with suppress(sqlite3.OperationalError):  # who reads meanwhile needs it
                            database.execute("PRAGMA journal_mode = DELETE")

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors, a row each; they are in the file when this returns.

        Where they cannot be written, the file is as it was before, and others may be added.
        """
        database, dimensions = self._to_add, vectors.shape[1]
        assert database is not None, "who adds has the file open by `appending`"
        if self.dimensions and dimensions != self.dimensions:
            raise BadInput(
                f"{self.path}: its vectors have {self.dimensions:,} numbers, new ones "
                f"{dimensions:,}; if another encoder bears that name now, move it away"
            )
        rows = zip(keys, (vector.tobytes() for vector in vectors), strict=True)
        with _problems(self.path), database:
            if not self.dimensions:
                database.execute("INSERT INTO about VALUES (?, ?)", (self.encoder, dimensions))
            database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        self.dimensions = dimensions
        self._keys.update(keys)

    def _read_anew(self) -> None:
        self.dimensions, self._keys = 0, set()
        if not self.path.exists():
            return
        check_regular(self.path)
        with self._opened() as database:
            if not database.execute("SELECT name FROM sqlite_schema").fetchall():
                return  # a kill left nothing else
            for encoder, dimensions in database.execute("SELECT * FROM about"):
                if encoder != self.encoder:
                    raise BadInput(
                        f"{self.path}: the vectors of another encoder, {encoder!r:.100}; move it "
                        "away"
                    )
                self.dimensions = dimensions
            self._keys = {key for (key,) in database.execute("SELECT key FROM vectors")}

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with _problems(self.path):
            connection = sqlite3.connect(self.path, check_same_thread=False)
            with closing(connection):
                yield connection


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
            raise BadInput(
                f"{path}: no vectors that labeler keeps, or damaged; move it away"
            ) from error
        raise FileProblem(f"{path}: {error}") from error
