"""Where the replies of a test's collection are kept: in its file, or in a database."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from postgres_server import PostgresServer

from labeler.collection.layout import Collection
from labeler.store import StorePlace
from labeler.store.address import DatabaseAddress

DATABASE = "database"


def either(*, file_is_slow: bool = False, database_is_slow: bool = False) -> pytest.MarkDecorator:
    """Run a test that takes `kept` with a file and with a database; either may be `slow`."""
    marks = {"file": file_is_slow, DATABASE: database_is_slow}
    kinds = [pytest.param(k, marks=[pytest.mark.slow] if slow else []) for k, slow in marks.items()]
    return pytest.mark.parametrize("kept", kinds, indirect=True)


@dataclass
class Kept:
    """A file of the collection, or a new database, and what may happen to it."""

    server: PostgresServer | None = None
    url: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What a command is told."""
        return ("--set", f"store.url={self.url}") if self.url else ()

    def place(self, collection: Collection) -> StorePlace:
        """Where the replies of a collection are."""
        return DatabaseAddress.of(self.url) if self.url else collection.file_of_replies

    def wires(self, collection: Collection) -> list[tuple[str, bytes]]:
        """What was asked and what was answered, of each reply."""
        query = "SELECT request, body FROM {}wires ORDER BY id"
        if self.server:
            rows = self.server.do(query.format("labeler."), database=self.name)
            return [(bytes(request).decode(), bytes(body)) for request, body in rows]
        path = f"file:{collection.file_of_replies}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as connection:
            return connection.execute(query.format("")).fetchall()

    @property
    def name(self) -> str:
        """The name of the database."""
        return self.url.rpartition("/")[2]

    @contextmanager
    def out_of_reach(self, collection: Collection) -> Iterator[None]:
        """Nobody can write to it: another program holds the file, or the server is down."""
        if self.server:
            self.server.stop()
            try:
                yield
            finally:
                self.server.start()
            return
        path = collection.file_of_replies
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    def disown(self, collection: Collection) -> int:
        """Let all leases be those of another machine, for long; how many there are."""
        if self.server:
            moved = "UPDATE labeler.owners SET place = 'elsewhere', until = now() + interval '1 h'"
            self.server.do(moved, database=self.name)
            rows = self.server.do("SELECT count(*) FROM labeler.leases", database=self.name)
            return int(rows[0][0])
        with closing(sqlite3.connect(collection.file_of_replies)) as connection, connection:
            connection.execute("UPDATE owners SET place = 'elsewhere', until_wall = 1e11")
            return int(connection.execute("SELECT count(*) FROM leases").fetchone()[0])


def kept_as(kind: str, server: Callable[[], PostgresServer]) -> Kept:
    """A file, or a new database of a server."""
    if kind != DATABASE:
        return Kept()
    running = server()
    return Kept(running, running.database())


def file_of(place: StorePlace) -> Path:
    """The path of a store that is a file."""
    assert isinstance(place, Path)
    return place
