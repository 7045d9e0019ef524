"""An open store: its replies are looked up, and written with leases in one transaction a batch.

Keys, rows, checksums and leases are the same over every database: a file, or a server that several
machines share. How a transaction begins and waits, how rows are inserted, and by which clock leases
end differs between databases.
"""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.errors import BadInput, FileProblem, LabelerError
from labeler.messages import count_of
from labeler.model import Reply
from labeler.store.address import DatabaseAddress
from labeler.store.base import (
    REPLY,
    SELECT_WHOLE,
    Failed,
    Granted,
    KeyedReply,
    Keys,
    Record,
    Statements,
    StoredRow,
    Waiting,
    WriteBatch,
    checksum,
    reply_of,
    rows_of,
)
from labeler.store.keys import holders_of
from labeler.store.sqlite import (
    Lost,
    SqliteDatabase,
    committed,
    create,
    insert_rows,
    opened_alone,
    whole_rows,
)

if TYPE_CHECKING:
    from labeler.store.postgres import PostgresDatabase

StorePlace = Path | DatabaseAddress
"""Where a store is."""


_RECORD = (
    "SELECT at, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, cost,"
    " request, body FROM replies JOIN wires USING (id) WHERE key = :key"
)


class Store:
    """An open store; use `open_store`. Every method may be called from any thread."""

    def __init__(
        self,
        database: SqliteDatabase | PostgresDatabase,
        *,
        redacted: bool = False,
        reading: bool = False,
        waiting: Waiting | None = None,
    ) -> None:
        self.database = database
        self._redacted = redacted
        self._waiting = waiting or Waiting()
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._rescue: Rescue | None = None
        self._lasting: dict[str, str] = {}
        self._lost: LabelerError | None = None
        try:
            if not reading:
                self._take_in_saved()
            self._newest = int(self._value_of("SELECT coalesce(max(id), 0) FROM replies"))
            last = self._value_of("SELECT coalesce(max(abs(at)), 0) FROM failures")
            self._last_failure = float(last)
        except BaseException:
            database.close()
            raise

    def rows(self, query: str, keys: Keys | None = None, **values: Any) -> Sequence[Sequence[Any]]:
        """The rows of one query."""
        return self.database.transaction(lambda to: to.run(query, keys, **values), writing=False)

    def _run(self, query: str, **values: Any) -> None:
        self.database.transaction(lambda to: to.run(query, **values))

    def _value_of(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def replies(self, keys: Keys) -> dict[bytes, Reply]:
        """The replies that are stored under these keys.

        Raises `BadInput` where a row is not as it was written.
        """
        return self.database.transaction(lambda to: self._select(to, keys), writing=False)

    def _select(self, to: Statements, keys: Keys) -> dict[bytes, Reply]:
        replies: dict[bytes, Reply] = {}
        query = f"SELECT id, checksum, {REPLY} FROM replies WHERE key IN ({{keys}})"
        for number, stored_sum, *row in to.run(query, keys):
            if stored_sum != checksum(*row):
                raise BadInput(
                    f"{self.database.address}: the store is damaged; `labeler store verify` "
                    "lists what is not as it was written"
                )
            replies[row[0]] = reply_of(row, shared=number > self._newest)
        return replies

    def write(self, batch: WriteBatch) -> Granted:
        """Do all of a batch in one transaction, which is durable when this returns.

        A key that has a reply keeps that one. A key whose call failed stays leased, so that no
        other process that runs now asks for it again.
        Where that cannot be (the file is gone, is not the one that was opened, or stays locked; the
        disk is full; the server cannot be reached for longer than one would wait), the replies are
        kept in a file, from which they are taken in when the store is opened again; the error says
        where.
        """
        try:
            if self._lost is not None:
                raise self._lost
            self.database.check()
            rows = rows_of(batch.replies, redacted=self._redacted)
            return self.database.transaction(lambda to: self._write(to, batch, rows))
        except (BadInput, FileProblem) as error:
            raise self._kept_elsewhere(batch.replies, error) from error

    def _write(self, to: Statements, batch: WriteBatch, rows: Sequence[StoredRow]) -> Granted:
        earlier: dict[bytes, Reply] = {}
        if rows:
            new = self.database.insert(to, rows)
            late = [keyed.key for keyed in batch.replies if keyed.key not in new]
            earlier = self._select(to, late) if late else {}
            answered = [each.lease or each.key for each in batch.replies]
            to.run("DELETE FROM leases WHERE key IN ({keys})", answered)
        for key, status, detail in batch.failed:
            to.run(
                f"INSERT INTO failures VALUES (:key, {self.database.now}, :status, :detail)"
                " ON CONFLICT (key) DO UPDATE"
                " SET at = excluded.at, status = excluded.status, detail = excluded.detail",
                key=key,
                status=status,
                detail=detail,
            )
        granted = self._grant(to, batch.claimed, batch.sought) if batch.claimed else Granted()
        return replace(granted, replies={**earlier, **granted.replies})

    def _grant(self, to: Statements, keys: Keys, sought: Keys) -> Granted:
        owner = self._owner = self.database.registered(to, self._owner)
        replies = self._select(to, [*keys, *sought])
        unanswered = [key for key in dict.fromkeys(keys) if key not in replies]
        holders = holders_of(to, unanswered)
        if not {owner}.issuperset(holders.values()):
            self.database.release_dead(to)
            holders = holders_of(to, unanswered)
        own = {key for key, holder in holders.items() if holder == owner}
        query = "SELECT at, key, status, detail FROM failures WHERE at > 0 AND key IN ({keys})"
        rows = to.run(query, unanswered) if to.run("SELECT 1 FROM failures LIMIT 1") else []
        failed: dict[bytes, Failed] = {
            failure[0]: Failed(*failure)
            for at, *failure in rows
            if failure[0] not in own and (failure[0] in holders or at > self._last_failure)
        }  # what failed for a process that still runs, or since this store was opened
        free = [key for key in unanswered if key not in holders and key not in failed]
        to.run(
            "WITH given (key) AS ({keys}) INSERT INTO leases SELECT key, CAST(:owner AS "
            "bigint) FROM given",
            free,
            owner=owner,
        )
        leased = own.union(free)
        if again := [key for _, key, *_ in rows if key in leased]:
            to.run("UPDATE failures SET at = -at WHERE at > 0 AND key IN ({keys})", again)
        return Granted(replies, failed, frozenset(leased))

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""
        if self._owner is not None:
            self._owner = self.database.transaction(
                lambda to: self.database.registered(to, self._owner)
            )

    def fact(self, name: str) -> str | None:
        """The fact that is stored under a name."""
        rows = self.rows("SELECT value FROM facts WHERE name = :name", name=name)
        return str(rows[0][0]) if rows else None

    def learn(self, name: str, value: str) -> None:
        """Store a fact."""
        self._run(
            "INSERT INTO facts VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = "
            "excluded.value",
            name=name,
            value=value,
        )

    def learn_once(self, name: str, value: str) -> str:
        """Store a fact where there is none of its name; the fact that is stored then."""
        stored = self.fact(name)
        if stored is None:
            self._run(
                "INSERT INTO facts VALUES (:name, :value) ON CONFLICT DO NOTHING",
                name=name,
                value=value,
            )
            stored = self.fact(name) or value
        self._lasting[name] = stored
        return stored

    def record(self, key: bytes) -> Record | None:
        """All that is kept of the reply under a key."""
        rows = self.rows(_RECORD, key=key)
        return Record(*rows[0]) if rows else None

    def failure(self, key: bytes) -> tuple[float, str, str] | None:
        """When and how the last call under a key failed for good."""
        rows = self.rows("SELECT abs(at), status, detail FROM failures WHERE key = :key", key=key)
        return (float(rows[0][0]), str(rows[0][1]), str(rows[0][2])) if rows else None

    def __len__(self) -> int:
        return int(self._value_of("SELECT count(*) FROM replies"))

    def stored_rows(self, keys: Keys) -> list[StoredRow]:
        """The replies under some keys as they are written, for `take_in` of another store."""
        return list(map(StoredRow.of, self.rows(f"{SELECT_WHOLE} WHERE key IN ({{keys}})", keys)))

    def take_in(self, rows: Sequence[StoredRow]) -> int:
        """Write rows of another store as they are; how many were new here."""
        return len(self.database.transaction(lambda to: self.database.insert(to, rows)))

    def take_in_file(self, source: Path) -> int:
        """Copy the replies of a store's file into this one; how many were new here.

        How calls failed that have no reply comes along, and its facts, where there is none of their
        names: without the secret of its marks, replies are not found again. What is not as it was
        written is passed over.
        """
        with opened_alone(source, "ro") as connection:
            copied = self._copy(connection)
            rows = connection.execute("SELECT key, status, detail FROM failures").fetchall()
        answered = self.replies([row[0] for row in rows])
        self.write(WriteBatch(failed=[Failed(*row) for row in rows if row[0] not in answered]))
        return copied

    def _copy(self, source: sqlite3.Connection) -> int:
        for name, value in source.execute("SELECT name, value FROM facts").fetchall():
            self.learn_once(name, value)
        return sum(map(self.take_in, whole_rows(source)))

    def _take_in_saved(self) -> None:
        """Take in the replies that were saved beside the store, and remove what held them.

        What a process still writes to, and what is no store, is left where it is.
        """
        beside = self.database.beside
        named = f"{glob.escape(beside.name)}{_MARK}*-????????" if beside else ""
        for saved in sorted(beside.parent.glob(named)) if beside else ():
            with suppress(LabelerError), opened_alone(saved, "rw") as source:
                source.execute("BEGIN EXCLUSIVE")
                copied = self._copy(source)
                saved.unlink()
                self._waiting.note(f"took in {count_of(copied, 'reply', 'replies')} from {saved}")

    def close(self) -> None:
        """Release the leases and close the store; leases that cannot be end with the process.

        Raises `Lost` where something was done to the store's file since the last batch.
        """
        try:
            if self._lost is None:
                self.database.check()
            if self._lost is None and self._owner is not None:
                self.database.stop_waiting()
                with suppress(LabelerError):
                    self._run("DELETE FROM leases WHERE owner = :owner", owner=self._owner)
                    self._run("DELETE FROM owners WHERE id = :owner", owner=self._owner)
        except Lost as error:
            raise self._kept_elsewhere((), error) from error
        finally:
            self.database.close()
            for line in self._rescue.summary() if self._rescue else ():
                self._waiting.note(line)

    def _kept_elsewhere(self, replies: Sequence[KeyedReply], error: LabelerError) -> LabelerError:
        """Keep replies in a file beside this store; what is wrong, and where they are."""
        if self.database.beside is None:
            return error
        with self._lock:
            if self._rescue is None:
                self._rescue = Rescue(self.database.beside, self._lasting)
            if self._lost is None and self.database.is_lost(error):
                self._lost = error
                if isinstance(error, Lost):
                    self._rescue.copy(self.database.rows_left())
            self._rescue.add(rows_of(replies, redacted=self._redacted))
            return type(error)("; ".join(filter(None, (str(error), str(self._rescue)))))


@contextmanager
def open_store(
    where: StorePlace,
    *,
    redacted: bool = False,
    reading: bool = False,
    waiting: Waiting | None = None,
) -> Iterator[Store]:
    """The store at a place, which is made where there is none.

    `redacted` keeps no request texts, only the hashes under which replies are found; `reading` is
    for who writes nothing, so that a file need not be writable. `waiting` says for how long to wait
    while another program holds it, or it cannot be reached.
    """
    database: SqliteDatabase | PostgresDatabase
    if isinstance(where, Path):
        database = SqliteDatabase(where, waiting, reading=reading)
    else:
        from labeler.store.postgres import PostgresDatabase

        database = PostgresDatabase(where, waiting)
    store = Store(database, redacted=redacted, reading=reading, waiting=waiting)
    try:
        yield store
    finally:
        store.close()


# Saving replies that cannot be kept in their store, until it is opened again.

_MARK = ".rescued-"


class Rescue:
    """A store beside another one, for replies that cannot be kept there.

    It lies in the folder for temporary files where the other one's folder cannot be written to, or
    has no room left. What there is room for in neither is counted. `facts` are kept with the
    replies, which are not found again without them.
    """

    def __init__(self, path: Path, facts: Mapping[str, str]) -> None:
        self._of, self._facts = path, facts
        name = f"{path.name}{_MARK}{os.getpid()}-"
        self._files = [
            # names of their own, so that the second can be moved beside the first
            folder / f"{name}{secrets.token_hex(4)}"
            for folder in (path.parent, Path(tempfile.gettempdir()))
        ]
        self._saved: dict[Path, int] = {}
        self._is_copy_empty = False
        self._unsaved = 0
        self._problem = ""

    def __str__(self) -> str:
        """What becomes of the replies; empty where there was none to save."""
        if self._unsaved:
            return f"replies could not be saved elsewhere: {self._problem}"
        if not self._saved:
            return "it held no reply" if self._is_copy_empty else ""
        advice = "".join(map(self._advice, self._saved)) or ", and taken in by the next run"
        return f"replies are saved in {' and '.join(map(str, self._saved))}{advice}"

    def _advice(self, path: Path) -> str:
        """What to do with a file that the next run would not find."""
        if path.parent == self._of.parent:
            return ""
        return f"; move {path} into {self._of.parent}, and the next run takes them in"

    def summary(self) -> list[str]:
        """How many replies are saved in which file, and how many are lost; a line each."""
        lines = [
            f"{count_of(number, 'reply is', 'replies are')} saved in {path}{self._advice(path)}"
            for path, number in self._saved.items()
        ]
        if self._unsaved:
            lost = count_of(self._unsaved, "reply is lost", "replies are lost")
            lines.append(f"{lost}, for which there was no room ({self._problem})")
        return lines

    def add(self, rows: Sequence[StoredRow]) -> None:
        """Keep replies."""
        self._keep([rows] if rows else [])

    def copy(self, chunks: Iterable[list[StoredRow]]) -> None:
        """Keep all that can be read of a store."""
        rows = [chunk for chunk in chunks if chunk]
        self._is_copy_empty = not rows
        self._keep(rows)

    def _keep(self, chunks: Sequence[Sequence[StoredRow]]) -> None:
        """Write rows in one transaction, in the first file where that can be; else count them."""
        while chunks and self._files:
            path = self._files[0]
            try:
                number = self._write(path, chunks)
            except (OSError, sqlite3.Error, LabelerError) as error:
                self._problem = str(error)
                del self._files[0]
                if path not in self._saved:
                    with suppress(OSError):
                        path.unlink()
            else:
                self._saved[path] = self._saved.get(path, 0) + number
                return
        self._unsaved += sum(map(len, chunks))

    def _write(self, path: Path, chunks: Sequence[Sequence[StoredRow]]) -> int:
        if not path.exists():
            create(path)
        with opened_alone(path, "rw") as to:
            to.execute("PRAGMA journal_mode = DELETE")  # whoever takes it in finds one file
            to.execute("BEGIN IMMEDIATE")
            path.stat()  # another process that has taken it in meanwhile has removed it
            with committed(to):
                to.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", self._facts.items())
                return sum(len(insert_rows(to, rows)) for rows in chunks)


# The secret of a collection, which the marks round its documents are made with.
#
# It is kept in the store, beside the replies: the marks are in what was asked, so a reply is found
# again only with the secret of its store. It is made once, and shown nowhere.

_NAME = "secret of marks"
_BYTES = 32


def kept_secret(store: Store) -> bytes:
    """The store's secret, which is made and stored where there is none."""
    return store.learn_once(_NAME, secrets.token_hex(_BYTES)).encode()


def secret_of(store: Store) -> bytes:
    """The store's secret, for who asks nothing; none where it has none yet."""
    return (store.fact(_NAME) or "").encode()


def share_secret(store: Store, secret: bytes) -> None:
    """Give a store the secret of another, so that replies to the same requests are found in both.

    `BadInput` where it has its own.
    """
    if store.learn_once(_NAME, secret.decode()).encode() != secret:
        raise BadInput("a store has another secret than the collection that its pairs are of")
