"""Looking after a store, whatever keeps it: check, count, forget, and give room back."""

from __future__ import annotations

from labeler.store.base import ModelCount, Verified
from labeler.store.postgres import maintain as in_database
from labeler.store.postgres.store import PostgresStore
from labeler.store.sqlite import maintain as in_file
from labeler.store.sqlite.store import SqliteStore

KeptStore = SqliteStore | PostgresStore


def verify(store: KeptStore) -> Verified:
    """Check every reply against its checksum, and a file's structure."""
    return in_file.verify(store) if isinstance(store, SqliteStore) else in_database.verify(store)


def statistics(store: KeptStore) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    if isinstance(store, SqliteStore):
        return in_file.statistics(store)
    return in_database.statistics(store)


def size_of(store: KeptStore) -> int:
    """How many bytes a store takes."""
    if isinstance(store, SqliteStore):
        return store.path.stat().st_size
    return in_database.size_of(store)


def prune(store: KeptStore, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many."""
    if isinstance(store, SqliteStore):
        return in_file.prune(store, model, before)
    return in_database.prune(store, model, before)


def collect_garbage(store: KeptStore) -> tuple[int, int]:
    """Give unused room back to the disk; the store's bytes before and after."""
    if isinstance(store, SqliteStore):
        return in_file.collect_garbage(store)
    return in_database.collect_garbage(store)
