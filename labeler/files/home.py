"""Paths that begin with `~`."""

from __future__ import annotations

from pathlib import Path

from labeler.errors import Misconfigured


def expanded(path: str) -> Path:
    """The path, with the home folder in place of a `~`; `Misconfigured` where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise Misconfigured(f"{path}: no home folder is known for its first part") from error
