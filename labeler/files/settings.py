"""`labeler.toml`: what a project's commands have in common, in the folder where they are started.

The file may come with somebody's documents: it names no key, and nothing in it is run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from labeler.errors import Misconfigured
from labeler.files.read import file_problems

NAME = "labeler.toml"
LARGEST = 64 * 1024

ASSESSORS = "assessor"
"""The table of the assessors that the file declares, each by its name."""


def read_toml(path: Path) -> dict[str, Any]:
    """What a file of settings holds, of bounded size; `Misconfigured` where it is no TOML."""
    with file_problems(path), path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Misconfigured(f"{path}: larger than settings are ({LARGEST:,} bytes)")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Misconfigured(f"{path}: not TOML: {error or 'nested too deep'}") from error
