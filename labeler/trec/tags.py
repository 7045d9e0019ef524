"""The tag of a run: what its system calls itself."""

from __future__ import annotations

from pathlib import Path

from labeler.files.read import byte_blocks, numbered_lines

_COLUMNS = 6
_BLOCK = 1 << 22


def read_tag(path: Path) -> str:
    """The last column of a run's first line; empty where there is none."""
    for _, line in numbered_lines(path):
        columns = line.split()
        if len(columns) == _COLUMNS:
            return columns[-1]
        if columns and not columns[0].startswith("#"):
            return ""
    return ""


def last_tag(path: Path) -> str:
    """The last column of a run's last line that is neither blank nor a comment: trec_eval's tag.

    Of a run that was found to have six columns throughout.
    """
    last = b""
    for block in byte_blocks(path, _BLOCK):
        lines = (line.split() for line in reversed(block.split(b"\n")))
        tags = (line[-1] for line in lines if line and not line[0].startswith(b"#"))
        last = next(tags, last)
    return last.decode("utf-8", "replace")
