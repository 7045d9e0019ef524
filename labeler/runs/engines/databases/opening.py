"""A database of vectors, opened by its address, whichever it is."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

from labeler.runs.engines.databases.address import QdrantAddress, VectorAddress
from labeler.runs.engines.databases.base import VectorDatabase
from labeler.runs.engines.databases.pgvector import opened_pgvector
from labeler.runs.engines.databases.qdrant import KEY, opened_qdrant

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
