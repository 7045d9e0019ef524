"""What the rest of the package needs of a database of vectors, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from labeler.runs.engines.answers import Hit


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
