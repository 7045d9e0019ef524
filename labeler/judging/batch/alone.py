"""One process at a time works on the batches of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labeler.collection.batches import batches_folder, sweep
from labeler.collection.layout import Collection
from labeler.collection.lock import is_acquired, lock_file
from labeler.errors import Locked
from labeler.files.read import file_problems


@contextmanager
def alone(collection: Collection) -> Iterator[None]:
    """Work on the batches while no other process does; `Locked` where one does.

    So no request is handed over twice, and no batch that is just begun is taken for one of which
    nobody heard. What killed processes have left is removed.
    """
    folder = batches_folder(collection)
    with file_problems(folder):
        folder.mkdir(exist_ok=True)
    lock = lock_file(folder / ".lock")
    if not is_acquired(lock):
        raise Locked(f"{folder}: another process is at work on the batches of this collection")
    try:
        sweep(collection)
        yield
    finally:
        lock.release()
