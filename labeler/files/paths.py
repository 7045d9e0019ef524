"""Paths as they are in truth: without links, whatever the links lead to; and whether they exist."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from labeler.errors import FileProblem

NOT_THERE = "no such file or folder"
_LISTED = 5000
"""So many names of a folder are compared with one that does not exist."""


def true_path(path: Path) -> Path:
    """The absolute path without links; one in a loop of links stays as it is.

    `Path.resolve` raises `RuntimeError` of a loop, up to Python 3.12.
    """
    return Path(os.path.realpath(path))


def check_existing(paths: Iterable[Path]) -> None:
    """`FileProblem` names the first path that does not exist, and one beside it with a like name.

    `-`, which is standard input, exists.
    """
    for path in paths:
        if str(path) != "-" and not os.path.exists(path):
            raise FileProblem(f"{path}: {NOT_THERE}{did_you_mean(path)}")


def worded(error: OSError, path: Path) -> str:
    """What the system said of a file, which is `path` where it named none."""
    name = error.filename or path
    if isinstance(error, FileNotFoundError) and isinstance(name, str | os.PathLike):
        return f"{name}: {NOT_THERE}{did_you_mean(Path(name))}"
    return f"{name}: {error.strerror or error}"


def did_you_mean(path: Path) -> str:
    """What follows the name of a path that does not exist: one beside it with a like name."""
    if not path.parent.is_dir() or not os.access(path.parent, os.R_OK):
        return ""
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in islice(entries, _LISTED)]
    return "".join(
        f"; did you mean '{path.parent / n}'?" for n in get_close_matches(path.name, names, 1)
    )
