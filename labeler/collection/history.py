"""`history/N/`: a collection as it was before its corpus was changed, itself a collection."""

from __future__ import annotations

import shutil
from pathlib import Path

from labeler.collection.layout import FOLDERS, Collection, check_locked
from labeler.files.read import file_problems

FOLDER = "history"
_KEPT = (
    *("corpus.jsonl", "queries.jsonl", "unanswerable.jsonl", "rejected.jsonl", "pool.jsonl"),
    *("dropped.jsonl", "card.json", "README.md"),
)
_KEPT_FOLDERS = frozenset(FOLDERS) - {"batches", "indexes", "vectors"}


def states(collection: Collection) -> list[Path]:
    """The earlier states, the oldest first."""
    folder = collection.folder / FOLDER
    if not folder.is_dir():
        return []
    return sorted((p for p in folder.iterdir() if p.name.isdecimal()), key=lambda p: int(p.name))


def keep_state(collection: Collection) -> Path:
    """Copy the files of a collection, but for the store, as its next state; its folder.

    The collection must be locked. The copy is whole or not there.
    """
    check_locked(collection.folder)
    earlier = states(collection)
    number = int(earlier[-1].name) + 1 if earlier else 1
    target = collection.folder / FOLDER / str(number)
    partial = target.with_name(f".{number}.partial")
    with file_problems(target):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name in _KEPT:
            if (collection.folder / name).is_file():
                shutil.copy2(collection.folder / name, partial / name)
        for name in sorted(_KEPT_FOLDERS):
            if (collection.folder / name).is_dir():
                ignore = shutil.ignore_patterns(".*")
                shutil.copytree(collection.folder / name, partial / name, ignore=ignore)
        partial.rename(target)
    return target
