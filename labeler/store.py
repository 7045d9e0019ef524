"""The store: one SQLite file that remembers replies, so that none is asked for twice.

It keeps what a server sent, not what was made of it: labels are a pure function of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.data import Model, Reply, Request
from labeler.errors import BadInput, FileProblem

APPLICATION_ID = 0x6C61626C  # "labl"
VERSION = 1
BUSY_SECONDS = 30
ROWS_OF_A_BATCH = 512
SECONDS_OF_A_BATCH = 0.02
KEYS_OF_A_QUERY = 500

_SCHEMA = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    served TEXT NOT NULL,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    refusal TEXT,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at REAL NOT NULL,
    top_tokens TEXT,
    request TEXT,
    body BLOB NOT NULL
) STRICT
"""
_COLUMNS = "key, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, top_tokens"


def key_of(model_id: str, request: Request) -> bytes:
    """The 32 bytes under which a reply is kept: a hash of all that the answer depends on."""
    return hashlib.sha256(_canonical(model_id, request).encode()).digest()


def _canonical(model_id: str, request: Request) -> str:
    """Tagged, with sorted keys and nothing left out, so that no two requests share a text."""
    everything = {
        "tag": "labeler reply 1",
        "model": model_id,
        "messages": request.messages,
        "parameters": request.parameters,
        "schema": request.schema,
        "inputs": request.inputs,
        "repeat": request.repeat,
        "attempt": request.attempt,
    }
    return json.dumps(everything, sort_keys=True, separators=(",", ":"), default=dict)


class Store:
    """An open store; use `open_store`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.Lock()

    def replies(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """What is kept under these keys."""
        found: dict[bytes, Reply] = {}
        with self._guarded() as connection:
            for start in range(0, len(keys), KEYS_OF_A_QUERY):
                some = keys[start : start + KEYS_OF_A_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT {_COLUMNS} FROM replies WHERE key IN ({marks})"
                for row in connection.execute(query, some):
                    found[row[0]] = _reply(row)
        return found

    def keep(self, rows: Iterable[tuple[bytes, str, Request, Reply]]) -> None:
        """Keep replies in one transaction, on the disk when this returns.

        Rows are `(key, model id, request, reply)`; a key that is there already stays as it is.
        """
        values = [_values(*row) for row in rows]
        marks = ",".join("?" * 12)
        with self._guarded() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(f"INSERT OR IGNORE INTO replies VALUES ({marks})", values)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def __len__(self) -> int:
        with self._guarded() as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._guarded() as connection:
            connection.close()

    @contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _store_problems(self.path):
            yield self._connection


def _values(key: bytes, model_id: str, request: Request, reply: Reply) -> tuple[Any, ...]:
    tops = json.dumps(reply.top_tokens, default=dict) if reply.top_tokens else None
    return (
        key,
        model_id,
        reply.model,
        reply.text,
        reply.finish_reason,
        reply.refusal,
        reply.prompt_tokens,
        reply.completion_tokens,
        time.time(),
        tops,
        _canonical(model_id, request),
        reply.body,
    )


def _reply(row: tuple[Any, ...]) -> Reply:
    _, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, tops = row
    top_tokens: Sequence[Mapping[str, float]] = json.loads(tops) if tops else ()
    counts = (prompt_tokens, completion_tokens)
    return Reply(text, finish_reason, refusal, served, *counts, top_tokens, remembered=True)


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """The store in a file, which is made where there is none."""
    with _store_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(path, connection)
        except BaseException:
            connection.close()
            raise
    store = Store(path, connection)
    try:
        yield store
    finally:
        store.close()


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    if not (kind == APPLICATION_ID or (empty and kind == 0 and version == 0)):
        raise BadInput(f"{path}: not a store of labeler's; move it away or give another folder")
    if version > VERSION:
        raise BadInput(f"{path}: made by a newer labeler (store {version}); upgrade labeler")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if empty:
        _create(connection)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


@contextmanager
def _store_problems(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that names the file."""
    try:
        yield
    except OSError as error:
        raise FileProblem(f"{path}: {error.strerror or error}") from error
    except sqlite3.DatabaseError as error:
        damaged = "not a database" in str(error) or "malformed" in str(error)
        problem = BadInput if damaged else FileProblem
        raise problem(f"{path}: {error}") from error


def remembered(model: Model, store: Store) -> Model:
    """Answer from the store what is there; keep every other reply before handing it on."""
    writer = _Writer(store)

    def recall(requests: Sequence[Request]) -> list[Reply | None]:
        keys = [key_of(model.id, request) for request in requests]
        known = store.replies(keys)
        return [known.get(key) for key in keys]

    async def ask(request: Request) -> Reply:
        key = key_of(model.id, request)
        known = store.replies([key]).get(key)
        if known is not None:
            return known
        reply = await model.ask(request)
        await writer.keep((key, model.id, request, reply))
        return reply

    return replace(model, ask=ask, recall=recall)


_Row = tuple[bytes, str, Request, Reply]


class _Writer:
    """Commits replies in batches: what arrives while a batch is written makes the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[_Row, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def keep(self, row: _Row) -> None:
        """Return when the row is on the disk; a cancelled caller's row is kept all the same."""
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, kept))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        await asyncio.shield(kept)

    async def _drain(self) -> None:
        while self._waiting:
            if len(self._waiting) < ROWS_OF_A_BATCH:
                await asyncio.sleep(SECONDS_OF_A_BATCH)
            batch = self._waiting[:ROWS_OF_A_BATCH]
            del self._waiting[:ROWS_OF_A_BATCH]
            await self._commit(batch)

    async def _commit(self, batch: list[tuple[_Row, asyncio.Future[None]]]) -> None:
        try:
            await asyncio.to_thread(self._store.keep, [row for row, _ in batch])
        except Exception as error:
            _settle(batch, error)
        else:
            _settle(batch, None)


def _settle(batch: list[tuple[_Row, asyncio.Future[None]]], error: Exception | None) -> None:
    for _, kept in batch:
        if not kept.done():
            kept.set_result(None) if error is None else kept.set_exception(error)
