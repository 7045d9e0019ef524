"""What the rest of the package needs of a database of vectors, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from labeler.errors import Misconfigured, Misuse
from labeler.runs.engines.answers import Hit
from labeler.store.postgres.address import DatabaseAddress, is_database


class StoredVectors(NamedTuple):
    """What a database says it holds.

    `how_searched` says in a few words by which index, as far as it is known.
    """

    dimensions: int
    rows: int
    how_searched: str = ""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How nearest vectors are looked for.

    `exact` looks at all of them. `filter` is Qdrant's JSON, or a condition of SQL. `more` are
    `NAME=VALUE`, parameters of the search: `hnsw_ef=256`, or `hnsw.ef_search=400`. `id` is where a
    hit has its id: a path in Qdrant's answer, or a column; empty, it is `payload.id`, or `id`.
    """

    exact: bool = False
    filter: str = ""
    more: tuple[str, ...] = ()
    id: str = ""

    def as_json(self) -> Mapping[str, Any]:
        """All of it by name."""
        return asdict(self)


class VectorDatabase(Protocol):
    """An open place of vectors; every failure of its is one of this package's errors."""

    async def contents(self) -> StoredVectors | None:
        """What is there; None where there is nothing of that name."""

    async def search(
        self, vector: Sequence[float], depth: int, settings: SearchSettings
    ) -> list[Hit]:
        """The documents of the vectors nearest to one, best first."""


# Addresses of vectors in a database, without keys and passwords: those come from the environment.
#
# qdrant://HOST[:6333]/COLLECTION[?vector=NAME]      over HTTP; qdrant+https:// is encrypted
# postgresql://USER@HOST/DATABASE?table=TABLE[&column=COLUMN]

QDRANT_SCHEMES = {"qdrant": "http", "qdrant+https": "https"}
QDRANT_PORT = 6333
EXAMPLES = "qdrant://127.0.0.1:6333/COLLECTION or postgresql://USER@HOST/DATABASE?table=TABLE"
COLUMN = "embedding"
_TABLE_SETTINGS = ("table", "column")


@dataclass(frozen=True, slots=True)
class QdrantAddress:
    """A collection of Qdrant's: `origin` as `http://127.0.0.1:6333`, perhaps with a path before.

    `vector` is the name of its vectors, where they have one.
    """

    origin: str
    collection: str
    vector: str = ""

    def __str__(self) -> str:
        scheme, _, rest = self.origin.partition("://")
        name = "qdrant" if scheme == "http" else f"qdrant+{scheme}"
        more = f"?{urlencode({'vector': self.vector})}" if self.vector else ""
        return f"{name}://{rest}/{quote(self.collection, safe='')}{more}"


@dataclass(frozen=True, slots=True)
class PgvectorAddress:
    """A table of PostgreSQL's, perhaps with its schema before a dot, and its column of vectors."""

    database: DatabaseAddress
    table: str
    column: str = COLUMN

    def __str__(self) -> str:
        more = {"table": self.table}
        if self.column != COLUMN:
            more["column"] = self.column
        database = str(self.database)
        return f"{database}{'&' if '?' in database else '?'}{urlencode(more)}"


VectorAddress = QdrantAddress | PgvectorAddress


def vector_address(text: str) -> VectorAddress:
    """Read an address; `Misuse` where it is none, `Misconfigured` where it holds a password.

    What is no address is not shown, as a password may stand anywhere in it.
    """
    if is_database(text):
        return _pgvector(text)
    scheme = text.partition("://")[0]
    try:
        parts = urlsplit(text)
        port = parts.port or QDRANT_PORT
    except ValueError:
        raise _no_address() from None
    if scheme not in QDRANT_SCHEMES or not parts.hostname or not text.isprintable():
        raise _no_address()
    if parts.username or parts.password:
        problem = "the address holds a user or a key; give the key in QDRANT_API_KEY instead"
        raise Misconfigured(problem, parameter="vectors")
    before, _, collection = parts.path.strip("/").rpartition("/")
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    if strange := sorted(settings.keys() - {"vector"}):
        problem = f"an address of Qdrant's may set vector, not {strange[0]!r}"
        raise Misuse(problem, parameter="vectors")
    if not collection or parts.fragment:
        raise _no_address()
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{QDRANT_SCHEMES[scheme]}://{host}:{port}" + (f"/{before}" if before else "")
    return QdrantAddress(origin, unquote(collection), settings.get("vector", ""))


def _pgvector(text: str) -> PgvectorAddress:
    try:
        parts = urlsplit(text)
    except ValueError:
        raise _no_address() from None
    if parts.password:
        problem = "the address holds a password; give it in PGPASSWORD instead"
        raise Misconfigured(problem, parameter="vectors")
    settings = parse_qsl(parts.query, keep_blank_values=True)
    table, column = (dict(settings).get(name, "") for name in _TABLE_SETTINGS)
    others = urlencode([pair for pair in settings if pair[0] not in _TABLE_SETTINGS], safe="/")
    if not table:
        problem = "name the table of the vectors at the end of the address, as ?table=vectors"
        raise Misuse(problem, parameter="vectors")
    if "\0" in table + column:
        raise _no_address()
    try:
        database = DatabaseAddress.of(parts._replace(query=others).geturl())
    except Misconfigured as error:
        more = "?table=TABLE" if str(error).endswith("/database") else ""
        raise Misconfigured(f"{error}{more}", parameter="vectors") from None
    return PgvectorAddress(database, table, column or COLUMN)


def _no_address() -> Misuse:
    return Misuse(f"no address of vectors; expected {EXAMPLES}", parameter="vectors")
