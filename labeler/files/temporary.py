"""Files that are gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_file() -> Iterator[Path]:
    """A path for a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="labeler-") as folder:
        yield Path(folder) / "scratch"
