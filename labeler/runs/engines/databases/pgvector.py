"""PostgreSQL with pgvector as a place of vectors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.errors import BadInput, CallFailed, Misconfigured, Misuse, Retryable, StatementFailed
from labeler.messages import missing_extra
from labeler.runs.engines.answers import Hit
from labeler.runs.engines.databases.address import PgvectorAddress
from labeler.runs.engines.databases.base import SearchSettings, StoredVectors
from labeler.runs.engines.databases.pgvector_sql import (
    COLUMN_OF,
    INDEXES_OF,
    VectorColumn,
    named,
    search_settings,
)
from labeler.runs.retrying import retrying
from labeler.store.base import Waiting
from labeler.store.postgres.connection import DatabaseConnection

if TYPE_CHECKING:
    from pg8000.native import Connection

_NO_TIME = "57014"
"""The code of a statement that took longer than it was allowed to."""

_NO_SUCH_SETTING = ("22023", "42704", "25001")
"""Codes of a setting that there is none of, or that cannot have that value, or not now."""

_AT_ONCE = Waiting(seconds=-1.0)
Result = TypeVar("Result")


class Pgvector:
    """A table of vectors; connections are made as they are needed, and used again."""

    def __init__(self, address: PgvectorAddress, seconds: float, tries: int) -> None:
        self.address, self.where = address, str(address)
        self._seconds, self._tries = seconds, tries
        self._idle: list[DatabaseConnection] = []
        self._every: list[DatabaseConnection] = []
        self._column: VectorColumn | None = None
        self._table = named(address.table)

    async def contents(self) -> StoredVectors | None:
        """What is there; None where there is no table of that name."""
        column = await self._look()
        if column is None:
            return None
        return StoredVectors(column.dimensions, await self.count(), column.shown_index)

    async def _look(self) -> VectorColumn | None:
        """The column of vectors; None without its table, `BadInput` where there is no such column.

        What was found is remembered.
        """

        def look(connection: Connection) -> VectorColumn | None:
            ((table,),) = connection.run("SELECT to_regclass(:t)::oid", t=self._table) or [[None]]
            if table is None:
                return None
            names = {"t": table, "c": self.address.column}
            rows = connection.run(COLUMN_OF, **names) or []
            return VectorColumn.of(rows, connection.run(INDEXES_OF, **names) or [], self.where)

        self._column = await self._do(look)
        return self._column

    async def count(self) -> int:
        """How many rows are there."""
        sentence = f"SELECT count(*) FROM {self._table}"
        rows = await self._do(lambda connection: connection.run(sentence))
        return int(rows[0][0]) if rows else 0

    async def search(
        self, vector: Sequence[float], depth: int, settings: SearchSettings
    ) -> list[Hit]:
        """The documents of the rows nearest to a vector, best first."""
        column = self._column or await self._look()
        if column is None:
            raise BadInput(f"{self.where}: no such table", parameter="vectors")
        if column.dimensions and len(vector) != column.dimensions:
            problem = f"its vectors have {column.dimensions:,} numbers, the query's {len(vector):,}"
            raise BadInput(f"{self.where}: {problem}; name its encoder", parameter="encoder")
        sentence = column.search(self._table, self.address.column, settings)
        local = search_settings(settings, depth, column)
        local["statement_timeout"] = f"{max(1, int(self._seconds * 1000))}"
        setting = ", ".join(f"set_config(:n{i}, :v{i}, true)" for i in range(len(local)))
        names = {f"n{i}": name for i, name in enumerate(local)}
        values = {f"v{i}": value for i, value in enumerate(local.values())}
        asked = {"vector": json.dumps([*vector]), "depth": depth}

        def search(connection: Connection) -> Any:
            connection.run("SET TRANSACTION READ ONLY")
            connection.run(f"SELECT {setting}", **names, **values)
            return connection.run(sentence, **asked)

        with _as_search_problems(settings, self._seconds):
            rows = await self._do(search, tries=1)
        return [Hit(str(row[0]), score) for row in rows or [] if (score := row[1]) == score]

    async def _do(self, work: Callable[[Connection], Result], tries: int | None = None) -> Result:
        """Do work in a transaction, in another thread, and again where it may then come about."""

        def once(connection: DatabaseConnection) -> Result:
            try:
                return connection.transaction(work, lock=False)
            finally:
                self._idle.append(connection)

        async def attempt() -> Result:
            connection = self._idle.pop() if self._idle else self._new()  # not in the threads
            try:
                return await asyncio.to_thread(once, connection)
            except StatementFailed as error:
                if error.may_pass:
                    raise Retryable(str(error)) from None
                raise
            except Misconfigured as error:
                error.parameter = "vectors"
                raise

        return await retrying(tries or self._tries)(attempt)

    def _new(self) -> DatabaseConnection:
        connection = DatabaseConnection(self.address.database, _AT_ONCE)
        self._every.append(connection)
        return connection

    def close(self) -> None:
        """End all connections."""
        for connection in self._every:
            connection.close()


@contextmanager
def _as_search_problems(settings: SearchSettings, seconds: float) -> Iterator[None]:
    """What went wrong with a search, as what it means for the query or for all of them."""
    try:
        yield
    except StatementFailed as error:
        if error.code == _NO_TIME:
            raise Retryable(f"{error} (after {seconds:g} s)") from None
        if error.code in _NO_SUCH_SETTING and settings.more:
            raise Misuse(str(error), parameter="search") from None
        if error.code.startswith("42") and settings.filter:
            raise Misuse(str(error), parameter="filter") from None
        if error.code.startswith(("22", "42")):
            raise BadInput(str(error), parameter="vectors") from None
        raise CallFailed(str(error)) from None


@asynccontextmanager
async def opened_pgvector(
    address: PgvectorAddress, seconds: float, tries: int
) -> AsyncIterator[Pgvector]:
    """A table of vectors, as long as the block runs."""
    if find_spec("pg8000") is None:
        raise Misconfigured(missing_extra("postgres", "vectors in PostgreSQL need"))
    database = Pgvector(address, seconds, tries)
    try:
        yield database
    finally:
        await asyncio.to_thread(database.close)
