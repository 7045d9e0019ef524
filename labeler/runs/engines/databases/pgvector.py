"""PostgreSQL with pgvector as a place of vectors."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.errors import BadInput, CallFailed, Misconfigured, Misuse, Retryable, StatementFailed
from labeler.messages import missing_extra
from labeler.runs.engines.answers import Hit
from labeler.runs.engines.databases.address import PgvectorAddress
from labeler.runs.engines.databases.base import (
    Entry,
    SearchSettings,
    StoredVectors,
    VectorSettings,
    check_can_be_filled,
)
from labeler.runs.engines.databases.pgvector_sql import (
    COLUMN_OF,
    COLUMNS_TO_FILL,
    INDEXES_OF,
    VectorColumn,
    array_of,
    copied_rows,
    literal,
    named,
    quoted,
    search_settings,
    table_made,
)
from labeler.runs.retrying import retrying
from labeler.store.base import Waiting
from labeler.store.postgres.connection import DatabaseConnection, allow_long_answers
from labeler.store.vectors import Vectors

if TYPE_CHECKING:
    from pg8000.native import Connection

IDS_OF_A_PAGE = 20_000
_NO_TIME = "57014"
"""The code of a statement that took longer than it was allowed to."""

_NO_SUCH_SETTING = ("22023", "42704", "25001")
"""Codes of a setting that there is none of, or that cannot have that value, or not now."""

_NOT_INSTALLED = ("58P01", "0A000", "42704")
"""Codes of an extension whose files are not there, and of a type that is not known."""

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
        settings = VectorSettings.of_text(column.comment, self.where)
        return StoredVectors(column.dimensions, await self.count(), settings, column.shown_index)

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

    async def make(self, settings: VectorSettings) -> None:
        """Make the table, or take one that is there and empty."""

        def make(connection: Connection) -> None:
            connection.run("CREATE EXTENSION IF NOT EXISTS vector")
            for statement in table_made(self.address, settings.dimensions):
                connection.run(statement)

        contents = await self.contents()
        if contents is not None:
            check_can_be_filled(contents, settings, self.where)
            await self._check_columns()
        else:
            try:
                await self._do(make)
            except StatementFailed as error:
                hint = "; pgvector has to be installed on the server"
                is_absent = error.code in _NOT_INSTALLED
                problem = f"{error}{hint if is_absent else ''}"
                raise Misconfigured(problem, parameter="vectors") from None
        await self.describe(settings)

    async def _check_columns(self) -> None:
        """Refuse a table of others that has other columns, or a comment, which would be lost."""
        column = self._column
        rows = await self._do(lambda connection: connection.run(COLUMNS_TO_FILL, t=self._table))
        problem = ""
        if len(rows or []) < 2:
            problem = "the table has no columns id (text) and hash (bytea)"
        elif column and column.comment and not column.is_ours:
            problem = "the table has a comment of others"
        if problem:
            how = "name a table that is not there, and it is made"
            raise Misuse(f"{self.where}: {problem}; {how}", parameter="vectors")

    async def describe(self, settings: VectorSettings) -> None:
        """Keep the settings as the comment on the table."""
        sentence = f"COMMENT ON TABLE {self._table} IS {literal(settings.as_text())}"
        await self._do(lambda connection: connection.run(sentence))
        await self._look()

    async def hashes(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The hashes of the texts of those of some documents that are there."""
        sentence = f"SELECT id, hash FROM {self._table} WHERE id = ANY(CAST(:ids AS text[]))"
        rows = await self._do(lambda connection: connection.run(sentence, ids=array_of(ids)))
        return {doc_id: bytes(text_hash) for doc_id, text_hash in rows or []}

    async def put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        """Keep vectors; they are committed when this returns."""
        column = self._column or await self._look()
        half = column is not None and column.type == "halfvec"
        content = copied_rows(entries, vectors, is_half=half)
        ids = [entry.id for entry in entries]
        names = ("id", "hash", self.address.column)
        into = f"{self._table} ({', '.join(map(quoted, names))})"

        def put(connection: Connection) -> None:
            connection.run(f"LOCK TABLE {self._table} IN SHARE ROW EXCLUSIVE MODE")
            self._remove(connection, ids)
            stream = io.BytesIO(content)
            connection.run(f"COPY {into} FROM STDIN WITH (FORMAT BINARY)", stream=stream)

        await self._do(put)

    async def count(self) -> int:
        """How many rows are there."""
        sentence = f"SELECT count(*) FROM {self._table}"
        rows = await self._do(lambda connection: connection.run(sentence))
        return int(rows[0][0]) if rows else 0

    async def ids(self) -> AsyncIterator[Sequence[str]]:
        """The ids of all documents, some at a time."""
        sentence = f"SELECT id FROM {self._table} WHERE id > :last ORDER BY id LIMIT :n"
        last = ""
        while True:
            rows = await self._do(partial(_page, sentence, last))
            if not rows:
                return
            yield [row[0] for row in rows]
            last = rows[-1][0]

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove the rows of documents."""
        await self._do(lambda connection: self._remove(connection, ids))

    def _remove(self, connection: Connection, ids: Sequence[str]) -> None:
        sentence = f"DELETE FROM {self._table} WHERE id = ANY(CAST(:ids AS text[]))"
        connection.run(sentence, ids=array_of(ids))

    async def build_index(self) -> None:
        """Build an HNSW index over the vectors, where there is none; it takes as long as it takes.

        How much memory and how many processes it has is for the server's settings to say.
        """
        column = self._column or await self._look()
        if column is None or column.indexes:
            return
        sentence = column.index_made(self._table, self.address.column)

        def build(connection: Connection) -> None:
            allow_long_answers(connection, None)
            try:
                connection.run(sentence)
            finally:
                allow_long_answers(connection)

        await self._do(build)
        await self._look()

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


def _page(sentence: str, last: str, connection: Connection) -> Any:
    return connection.run(sentence, last=last, n=IDS_OF_A_PAGE)


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
