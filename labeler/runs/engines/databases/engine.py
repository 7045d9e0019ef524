"""A database of vectors as a search system, which is asked with the vectors of queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from labeler.runs.engines.answers import Hit, Search
from labeler.runs.engines.databases.address import QdrantAddress, VectorAddress
from labeler.runs.engines.databases.base import SearchSettings
from labeler.runs.engines.databases.opening import opened_vectors
from labeler.runs.engines.databases.qdrant import check_qdrant_search
from labeler.runs.engines.templates import QueryEncoder, check_encoder


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
