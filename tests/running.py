"""`labeler judge` as a process of its own, against a server of the test's."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from forked import Forked

from labeler.testing import FakeServer


def environment(**more: str) -> dict[str, str]:
    """This process' environment without what would choose another model, and with a key."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "LABELER_"))}
    clean["LABELER_ENCODER"] = os.environ["LABELER_ENCODER"]
    return {**clean, "OPENAI_API_KEY": "sk-canary-7d1f0a", **more}


def judge_words(folder: Path, server: FakeServer, *more: str) -> list[str]:
    where = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
    return ["judge", str(folder), *where, *more]


def start(folder: Path, server: FakeServer, *more: str) -> Forked:
    return Forked(judge_words(folder, server, *more), environment())


def finish(process: Forked | subprocess.Popen[str], seconds: float = 60) -> tuple[int, str]:
    """The exit code and stderr of a process that should end by itself."""
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        raise AssertionError(f"did not end within {seconds} s; said: {said}") from None
    return process.wait(), said


def with_little_room(words: Sequence[str], largest: int, **more: str) -> tuple[int, str]:
    """The exit code and stderr of a command that can write no file of more bytes than `largest`."""
    return finish(Forked(words, environment(**more), largest=largest))
