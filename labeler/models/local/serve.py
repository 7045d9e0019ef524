"""The embedded LLM: a GGUF file behind llama.cpp's own server on a loopback port.

There is no second implementation: the server is started for the command that needs it, spoken to
like any other, and ends with that command.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from labeler.errors import Misconfigured
from labeler.messages import missing_extra
from labeler.models.local import llama_child
from labeler.models.local.child import start

CONTEXT = 4096
"""Tokens that a request and its reply may have together."""

LOCAL_EXTRA = missing_extra("local", "the embedded model needs")


def can_serve() -> bool:
    """Whether the optional package is there."""
    return find_spec("xllamacpp") is not None


def engine_id() -> str:
    """The engine's name and version, for identities in the store."""
    from importlib.metadata import version

    return f"xllamacpp-{version('xllamacpp')}" if can_serve() else "no engine"


class Served(NamedTuple):
    """Where the server listens (ending in `/v1`), and the key that it wants; made for this run."""

    base_url: str
    api_key: str


@contextmanager
def serving(path: Path) -> Iterator[Served]:
    """Serve the GGUF file at `path` as long as the block runs.

    One process on all cores: two with half of the cores each slow each other down. Raises
    `Misconfigured` where the engine is missing or cannot load the file.
    """
    if not can_serve():
        raise Misconfigured(LOCAL_EXTRA)
    key = secrets.token_urlsafe()
    size = map(str, (os.cpu_count() or 1, 1, CONTEXT))
    command = [sys.executable, llama_child.__file__, os.path.abspath(path), *size]
    child = start(command, {}, stdin=subprocess.PIPE, outlives_ctrl_c=True)
    try:
        yield Served(f"{_address(child, path, key)}/v1", key)
    finally:
        _end(child)


def _address(child: subprocess.Popen[str], path: Path, key: str) -> str:
    """Tell the child its key, and read where it listens."""
    with suppress(OSError):  # a child that is gone says no address either
        if child.stdin:
            child.stdin.write(f"{key}\n")
            child.stdin.flush()
    line = child.stdout.readline() if child.stdout else ""
    if line.startswith("http"):
        return line.strip()
    if line:
        raise Misconfigured(f"llama.cpp cannot be loaded: {line.strip()}")
    raise Misconfigured(f"{path}: llama.cpp could not load it; is it a whole GGUF file?")


def _end(child: subprocess.Popen[str]) -> None:
    try:
        child.communicate(timeout=5)  # which closes its stdin
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
