"""Temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_file() -> Iterator[Path]:
    """Give a path for a file, which is gone at the end, on Linux however the process ends.

    There the file has no name in any folder: the path leads to it through the open descriptor.
    """
    if os.path.isdir("/proc/self/fd"):
        with tempfile.TemporaryFile(prefix="labeler-") as file:
            yield Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix="labeler-") as folder:
        yield Path(folder) / "scratch"


def for_other_processes(path: Path) -> Path:
    """The path by which another process of the same user opens a scratch file of this one."""
    own = "/proc/self/"
    text = os.fspath(path)
    return Path(f"/proc/{os.getpid()}/{text[len(own) :]}") if text.startswith(own) else path
