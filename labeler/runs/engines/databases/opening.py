"""A database of vectors, opened by its address, whichever it is."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from labeler.runs.engines.databases.address import QdrantAddress, VectorAddress
from labeler.runs.engines.databases.base import VectorDatabase
from labeler.runs.engines.databases.pgvector import opened_pgvector
from labeler.runs.engines.databases.qdrant import opened_qdrant

SECONDS = 60.0
TRIES = 5


def opened_vectors(
    address: VectorAddress, seconds: float = SECONDS, tries: int = TRIES
) -> AbstractAsyncContextManager[VectorDatabase]:
    """The place of an address, as long as a block runs."""
    if isinstance(address, QdrantAddress):
        return opened_qdrant(address, seconds, tries)
    return opened_pgvector(address, seconds, tries)
