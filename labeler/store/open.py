"""Open a store, wherever it is: a file, or a database that several machines share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labeler.store.base import Store, Waiting
from labeler.store.postgres.address import DatabaseAddress
from labeler.store.sqlite.store import open_store as open_file

StorePlace = Path | DatabaseAddress
"""Where a store is."""


@contextmanager
def open_store(
    where: StorePlace,
    *,
    redacted: bool = False,
    reading: bool = False,
    waiting: Waiting | None = None,
) -> Iterator[Store]:
    """The store at a place, which is made where there is none.

    `redacted` keeps no request texts, only the hashes under which replies are found; `reading` is
    for who writes nothing, so that a file need not be writable. `waiting` says for how long to wait
    while another program holds it, or it cannot be reached.
    """
    if isinstance(where, Path):
        with open_file(where, redacted=redacted, reading=reading, waiting=waiting) as store:
            yield store
        return
    from labeler.store.postgres.store import PostgresStore, send_unsent

    shared = PostgresStore(where, redacted, waiting=waiting)
    try:
        if not reading:
            send_unsent(shared, waiting or Waiting())
        yield shared
    finally:
        shared.close()


def copy_store(source: Path, target: Store) -> int:
    """Copy the replies of a store's file into an open store; how many were new there.

    Its facts come along, where the other has none of their names.
    """
    from labeler.store.sqlite.store import SqliteStore
    from labeler.store.sqlite.store import copy_file as copy_to_file

    if isinstance(target, SqliteStore):
        return copy_to_file(source, target)
    from labeler.store.postgres.store import PostgresStore, copy_file

    assert isinstance(target, PostgresStore), "a store is a file or a database"
    return copy_file(source, target)
