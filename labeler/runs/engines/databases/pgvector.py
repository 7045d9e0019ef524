"""PostgreSQL with pgvector as a place of vectors."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.errors import BadInput, CallFailed, Misconfigured, Misuse, Retryable, StatementFailed
from labeler.messages import missing_extra
from labeler.runs.engines.answers import Hit, retrying
from labeler.runs.engines.databases.base import PgvectorAddress, SearchSettings, StoredVectors
from labeler.store.base import Waiting
from labeler.store.postgres.connection import DatabaseConnection

if TYPE_CHECKING:
    from pg8000.native import Connection

# The SQL by which pgvector is asked: what a column is, and how it is searched.

ID = "id"
TYPES = ("vector", "halfvec")
MOST_EF = 1000
LEAST_EF = 100
ITERATIVE = (0, 8)
"""The version from which on a scan goes on until it has rows enough."""

_OPERATORS = {"cosine": "<=>", "ip": "<#>", "l2": "<->", "l1": "<+>"}
_SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)*", re.IGNORECASE)

COLUMN_OF = """
SELECT t.typname, n.nspname, a.atttypmod, e.extversion
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_extension e ON e.extname = 'vector'
WHERE a.attrelid = CAST(:t AS oid) AND a.attname = :c AND a.attnum > 0 AND NOT a.attisdropped
"""
INDEXES_OF = """
SELECT am.amname, o.opcname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
    JOIN pg_opclass o ON o.oid = i.indclass[0]
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = CAST(:t AS oid) AND a.attname = :c AND i.indisvalid
"""


@dataclass(frozen=True, slots=True)
class VectorColumn:
    """A column of vectors: its type and where that is defined, the dimensions (0: any), the version
    of pgvector, and its indexes, each the method and the class of operators.
    """

    type: str
    schema: str
    dimensions: int
    version: str
    indexes: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, rows: Sequence[Any], indexes: Sequence[Any], where: str) -> VectorColumn:
        """What the database says of a column; `BadInput` where it is none of vectors."""
        if not rows:
            problem = "the table has no such column; name it as &column=NAME"
            raise BadInput(f"{where}: {problem}", parameter="vectors")
        kind, schema, modifier, version = rows[0]
        if kind not in TYPES:
            problem = f"expected a column of vectors, found {kind}; name it as &column=NAME"
            raise BadInput(f"{where}: {problem}", parameter="vectors")
        of_vectors = tuple((method, ops) for method, ops in indexes if _distance_of(ops))
        return cls(kind, schema, max(0, modifier), version or "", of_vectors)

    @property
    def distance(self) -> str:
        """By which distance it is searched: its index's, else the cosine's.

        With any other, PostgreSQL would not use the index, and look at every row.
        """
        return _distance_of(self.indexes[0][1]) if self.indexes else "cosine"

    @property
    def shown_index(self) -> str:
        """How it is searched, in a few words."""
        kinds = ", ".join(f"{method} ({ops})" for method, ops in self.indexes)
        return f"indexes: {kinds}" if kinds else "no index, so that every row is looked at"

    def search(self, table: str, column: str, settings: SearchSettings) -> str:
        """The statement that finds the nearest rows, by `:vector` and `:depth`."""
        schema, distance = quoted(self.schema), self.distance
        operator = f"OPERATOR({schema}.{_OPERATORS[distance]})"
        away = f"{quoted(column)} {operator} CAST(:vector AS {schema}.{quoted(self.type)})"
        score = f"1 - ({away})" if distance == "cosine" else f"-({away})"
        condition = f"WHERE ({settings.filter}\n)" if settings.filter else ""
        return (
            f"SELECT {quoted(settings.id or ID)}::text, CAST({score} AS double precision)"
            f" FROM {table} {condition} ORDER BY {away} LIMIT :depth"
        )

    @property
    def goes_on(self) -> bool:
        """Whether a scan can go on until it has rows enough."""
        numbers = tuple(int(part) for part in self.version.split(".")[:2] if part.isdecimal())
        return numbers >= ITERATIVE


def _distance_of(operators: str) -> str:
    name = re.fullmatch(r"(?:vector|halfvec)_(cosine|ip|l2|l1)_ops", operators)
    return name[1] if name else ""


def search_settings(settings: SearchSettings, depth: int, column: VectorColumn) -> dict[str, str]:
    """What is set for one search; without it, HNSW would give 40 rows however many are asked for.

    Indexes are left alone where the search is to be exact.
    """
    local: dict[str, str] = {}
    if any(method == "hnsw" for method, _ in column.indexes):
        local["hnsw.ef_search"] = str(min(MOST_EF, max(LEAST_EF, 2 * depth)))
        if column.goes_on:
            local["hnsw.iterative_scan"] = "strict_order"
    for text in settings.more:
        name, equals, value = text.partition("=")
        if not equals or not _SETTING.fullmatch(name):
            problem = "expected NAME=VALUE, as hnsw.ef_search=400 or ivfflat.probes=20"
            raise Misuse(f"{text!r:.60}: {problem}", parameter="search")
        local[name.lower()] = value
    if settings.exact:
        local["enable_indexscan"] = "off"
    return local


def named(table: str) -> str:
    """A table's name as SQL has it, its schema before the first dot."""
    return ".".join(quoted(part) for part in table.split(".", 1))


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


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
