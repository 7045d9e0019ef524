"""Paths as they are in truth: without links, whatever the links lead to."""

from __future__ import annotations

import os
from pathlib import Path


def true_path(path: Path) -> Path:
    """The absolute path without links; one in a loop of links stays as it is.

    `Path.resolve` raises `RuntimeError` of a loop, up to Python 3.12.
    """
    return Path(os.path.realpath(path))
