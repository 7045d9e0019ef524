"""What the rest of the package needs of a database of vectors, whichever it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from labeler.errors import BadInput, Misuse
from labeler.runs.engines.answers import Hit
from labeler.store.vectors import MOST_DIMENSIONS, Vectors

FORMAT = "labeler vectors 1"
OWNER = "labeler"
"""The name under which a database keeps what this package says of its vectors."""


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """How the vectors in a database were made, as it is kept beside them.

    `encoder` names all that a vector depends on but the text, and `tag` is the encoder's short
    name. All vectors have the length 1. `source` names what was uploaded, so that nothing else is
    taken for an older state of it. `corpus` is the hash of the corpus whose documents are all
    there, and empty while they are not.
    """

    encoder: str
    tag: str
    dimensions: int
    source: str
    corpus: str = ""

    def as_text(self) -> str:
        """One line of JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    @classmethod
    def of_text(cls, text: object, where: str) -> VectorSettings | None:
        """Read the line; None where it says nothing of this package, `BadInput` where it is off."""
        try:
            values = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, dict) or not str(values.get("format")).startswith("labeler"):
            return None
        names = ("encoder", "tag", "source", "corpus")
        size = values.get("dimensions")
        is_whole = all(isinstance(values.get(name), str) for name in names)
        if not is_whole or type(size) is not int or not 0 < size <= MOST_DIMENSIONS:
            raise BadInput(f"{where}: what labeler keeps of its vectors is damaged; index it anew")
        if values["format"] != FORMAT:
            problem = f"written as {values['format']!r:.40}, by another version of labeler"
            raise BadInput(f"{where}: {problem}")
        return cls(values["encoder"], values["tag"], size, values["source"], values["corpus"])


class StoredVectors(NamedTuple):
    """What a database says it holds; `settings` is None of vectors that others made.

    `how_searched` says in a few words by which index, as far as it is known.
    """

    dimensions: int
    rows: int
    settings: VectorSettings | None = None
    how_searched: str = ""


def check_can_be_filled(contents: StoredVectors, settings: VectorSettings, where: str) -> None:
    """Refuse an empty place that is made for other vectors, or that another upload has begun."""
    problem = ""
    if contents.dimensions not in (0, settings.dimensions):
        sizes = f"{contents.dimensions:,} numbers, the encoder's {settings.dimensions:,}"
        problem = f"vectors there have {sizes}"
    elif contents.settings is not None and contents.settings.source != settings.source:
        problem = "the vectors of another collection are on their way there"
    if problem:
        raise Misuse(f"{where}: {problem}; name another place", parameter="vectors")


class Entry(NamedTuple):
    """A document of which the database keeps a vector: its id, and the hash of its text."""

    id: str
    text_hash: bytes

    @property
    def point(self) -> str:
        """The document's own UUID."""
        return point_of(self.id)


def point_of(doc_id: str) -> str:
    """The UUID under which a database keeps a document that may have any text for its id."""
    return str(UUID(bytes=digest_of(doc_id)))


def digest_of(doc_id: str) -> bytes:
    """The 16 bytes that stand for a document's id."""
    encoded = doc_id.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(encoded, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How nearest vectors are looked for.

    `exact` looks at all of them. `filter` is Qdrant's JSON, or a condition of SQL. `more` are
    `NAME=VALUE`, parameters of the search: `hnsw_ef=256`, or `hnsw.ef_search=400`. `id` is where a
    hit has its id: a path in Qdrant's answer, or a column; empty, it is where this package puts it.
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

    async def make(self, settings: VectorSettings) -> None:
        """Make the place, or take one that is there and empty."""

    async def describe(self, settings: VectorSettings) -> None:
        """Keep these settings in place of those that are there."""

    async def hashes(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The hashes of the texts of those of some documents that are there."""

    async def put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        """Keep vectors, a row each, in place of those of the same documents.

        They are kept for good when this returns.
        """

    async def count(self) -> int:
        """How many documents are there."""

    def ids(self) -> AsyncIterator[Sequence[str]]:
        """The ids of all documents, some at a time."""

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove the vectors of documents."""

    async def search(
        self, vector: Sequence[float], depth: int, settings: SearchSettings
    ) -> list[Hit]:
        """The documents of the vectors nearest to one, best first."""
