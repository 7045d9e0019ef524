"""The SQL by which pgvector is asked: what a column is, and how it is searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labeler.errors import BadInput, Misuse
from labeler.runs.engines.databases.base import SearchSettings

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
