"""Where downloads are kept, how a file's hash is taken, and how it is remembered."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder for this package: `LABELER_CACHE`, else what the platform says."""
    named = os.environ.get("LABELER_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "labeler" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "labeler"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if Path(xdg).is_absolute() else Path.home() / ".cache") / "labeler"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_verified(path: Path, sha256: str) -> bool:
    """Whether `path` is a file with this SHA-256.

    Hashing half a gigabyte takes a second, so a stamp beside the file remembers the size and the
    time of change for which it was done.
    """
    if not path.is_file():
        return False
    stamp = path.with_name(path.name + ".verified")
    status = path.stat()
    line = f"{sha256} {status.st_size} {status.st_mtime_ns}\n"
    with suppress(OSError, UnicodeDecodeError):
        if stamp.read_text(encoding="ascii") == line:
            return True
    if sha256_of(path) != sha256:
        return False
    with suppress(OSError):  # a folder that cannot be written to only costs the hashing
        stamp.write_text(line, encoding="ascii")
    return True
