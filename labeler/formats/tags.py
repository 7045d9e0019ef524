"""The tag of a run: what its system calls itself."""

from __future__ import annotations

from pathlib import Path

from labeler.files import numbered_lines

_COLUMNS = 6


def read_tag(path: Path) -> str:
    """The last column of a run's first line; empty where there is none."""
    for _, line in numbered_lines(path):
        columns = line.split()
        if len(columns) == _COLUMNS:
            return columns[-1]
        if columns and not columns[0].startswith("#"):
            return ""
    return ""
