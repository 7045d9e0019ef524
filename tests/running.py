"""`labeler judge` as a process of its own, against a server of the test's."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from labeler.testing import FakeServer


def environment(**more: str) -> dict[str, str]:
    """This process' environment without what would choose another model, and with a key."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "LABELER_"))}
    return {**clean, "OPENAI_API_KEY": "sk-canary-7d1f0a", **more}


def judge_command(folder: Path, server: FakeServer, *more: str) -> list[str]:
    where = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
    return [sys.executable, "-m", "labeler", "judge", str(folder), *where, *more]


def start(folder: Path, server: FakeServer, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        judge_command(folder, server, *more),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], seconds: float = 60) -> tuple[int, str]:
    """The exit code and stderr of a process that should end by itself."""
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        raise AssertionError(f"did not end within {seconds} s; said: {said}") from None
    return process.returncode, said


def with_little_room(words: Sequence[str], largest: int, **more: str) -> tuple[int, str]:
    """The exit code and stderr of a command that can write no file of more bytes than `largest`.

    Nor does Python keep what it compiles: it would keep half of it, for every process to come.
    """
    limited = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest}));"
        "sys.argv = ['labeler', *sys.argv[1:]]; runpy.run_module('labeler', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", limited, *words],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr
