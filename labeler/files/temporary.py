"""Temporary files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_file() -> Iterator[Path]:
    """Give a path for a file, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="labeler-") as folder:
        yield Path(folder) / "scratch"
