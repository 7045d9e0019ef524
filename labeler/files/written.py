"""What was written to paths that a user named, kept as hashes, so that no other file is replaced.

One small file a path, in the user's folder for state, holds the SHA-256 of what was written there
last and before that. It is renewed before the output is renamed to its path: after a kill at any
moment, what stands at the path is among the two.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from labeler.files.cache import sha256_of

KEPT_SECONDS = 2 * 365 * 86400.0
"""Records of paths to which nothing was written for so long are removed."""

_HASHES = 2


@dataclass(frozen=True, slots=True)
class _Named:
    """The path that a user named, without links, and whether anything there may be replaced."""

    path: str
    force: bool


_NAMED: ContextVar[_Named | None] = ContextVar("named", default=None)


@contextmanager
def recording(path: Path, *, force: bool = False) -> Iterator[None]:
    """Keep a record of what the block writes to a path."""
    token = _NAMED.set(_Named(os.path.realpath(path), force))
    try:
        yield
    finally:
        _NAMED.reset(token)


def is_forced(target: Path) -> bool:
    """Whether a file may be replaced even where it is read-only."""
    named = _NAMED.get()
    return named is not None and named.force and named.path == str(target)


def about_to_replace(target: Path, content: Path) -> None:
    """Record that `content` will be renamed to `target`, where the user named that path.

    Where no record can be kept, there is none, and what stands there will not be replaced again
    unless that is forced.
    """
    named = _NAMED.get()
    if named is not None and named.path == str(target):
        with suppress(OSError):
            _renew(target, sha256_of(content))


def is_as_written(path: Path) -> bool:
    """Whether a file holds what was written to its path before, under that path's record."""
    with suppress(OSError):
        hashes = _hashes(_record_of(Path(os.path.realpath(path))))
        return bool(hashes) and sha256_of(path) in hashes
    return False


def _renew(target: Path, sha256: str) -> None:
    record = _record_of(target)
    hashes = list(dict.fromkeys((sha256, *_hashes(record))))[:_HASHES]
    if not record.exists():
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_old(record.parent)
    beside = record.with_name(f"{record.name}.{os.getpid()}")
    beside.write_text("".join(f"{line}\n" for line in hashes), encoding="ascii")
    beside.replace(record)


def _hashes(record: Path) -> list[str]:
    try:
        return record.read_text(encoding="ascii").split()
    except (FileNotFoundError, UnicodeDecodeError):
        return []


def _record_of(target: Path) -> Path:
    """The record of a path, in one of 256 folders; its name does not tell the path."""
    name = hashlib.sha256(os.fsencode(target)).hexdigest()
    return state_folder() / "outputs" / name[:2] / name[2:34]


def state_folder() -> Path:
    """The user's folder for state; `OSError` where there is none."""
    from platformdirs import user_state_path

    folder = user_state_path("labeler", appauthor=False)
    if not folder.is_absolute():  # without a home, "~" would be a folder of the current one
        raise FileNotFoundError(f"{folder}: no home")
    return folder


def _remove_old(folder: Path) -> None:
    oldest = time.time() - KEPT_SECONDS
    for record in folder.iterdir():
        with suppress(OSError):
            if record.stat().st_mtime < oldest:
                record.unlink()
