"""A database of vectors as a search system, which is asked with the vectors of queries."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from labeler.runs.engines.answers import Hit, Search
from labeler.runs.engines.databases.base import (
    QdrantAddress,
    SearchSettings,
    VectorAddress,
    VectorDatabase,
)
from labeler.runs.engines.databases.pgvector import opened_pgvector
from labeler.runs.engines.databases.qdrant import KEY, check_qdrant_search, opened_qdrant
from labeler.runs.engines.templates import QueryEncoder, check_encoder

# A database of vectors, opened by its address, whichever it is.

SECONDS = 60.0
TRIES = 5


def opened_vectors(
    address: VectorAddress, seconds: float = SECONDS, tries: int = TRIES
) -> AbstractAsyncContextManager[VectorDatabase]:
    """The place of an address, as long as a block runs."""
    if isinstance(address, QdrantAddress):
        return opened_qdrant(address, seconds, tries)
    return opened_pgvector(address, seconds, tries)


def warning_of(address: VectorAddress) -> str:
    """What a person should know before a key goes over a network as it is; empty without need."""
    from labeler.wire.http import is_loopback

    if not isinstance(address, QdrantAddress) or not os.environ.get(KEY):
        return ""
    parts = urlsplit(address.origin)
    if parts.scheme == "https" or is_loopback(parts.hostname or ""):
        return ""
    return f"{address}: {KEY} goes over the network unencrypted; qdrant+https:// encrypts"


@dataclass(frozen=True, slots=True)
class VectorEngine:
    """Vectors at an address, searched as the settings say; `encoder` makes those of queries."""

    address: VectorAddress
    settings: SearchSettings = field(default_factory=SearchSettings)
    encoder: QueryEncoder | None = field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """What the database is called."""
        return "qdrant" if isinstance(self.address, QdrantAddress) else "pgvector"

    def check(self) -> None:
        """Raise `Misuse` where it cannot be asked like this."""
        check_encoder(self.encoder, needed=True)
        if self.kind == "qdrant":
            check_qdrant_search(self.settings)

    def tag(self) -> str:
        """The database and the encoder."""
        encoder = self.encoder.tag if self.encoder else ""
        return "-".join(filter(None, (self.kind, encoder, "exact" * self.settings.exact)))

    def shown(self) -> str:
        """The address, which holds no secret."""
        return str(self.address)

    def identity(self) -> str:
        """A hash of all that an answer depends on but the query and the depth."""
        encoder = self.encoder.id if self.encoder else ""
        parts = [str(self.address), self.settings.as_json(), encoder]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def exactly(self) -> VectorEngine:
        """The same, which looks at every vector."""
        return replace(self, settings=replace(self.settings, exact=True))

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator[Search]:
        """A function that asks the database, as long as the block runs."""
        self.check()
        encoder, settings = self.encoder, self.settings
        async with opened_vectors(self.address, seconds, tries=1) as database:

            async def search(query: str, depth: int) -> list[Hit]:
                vector = encoder.encode(query) if encoder else ()
                if not any(vector):  # no vector is nearer to it than any other
                    return []
                return await database.search(vector, depth, settings)

            yield search
