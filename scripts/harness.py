"""What simulations and benches share: their options, shares with errors, what a process took."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DL19 = Path("../shared/data/dl19")
LLMJUDGE = Path("../shared/data/llmjudge")


def parser(doc: str | None, **arguments: Any) -> argparse.ArgumentParser:
    """A parser of a script's arguments, each by its name.

    A type is an argument that must be given; a tuple of words is one or more of them, a mapping
    one of its keys. All else is an option's default: `False` of a switch, a list of an option that
    takes several values.
    """
    made = argparse.ArgumentParser(description=(doc or "").strip().partition("\n")[0])
    for name, value in arguments.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, type):
            made.add_argument(name, type=value)
        elif isinstance(value, tuple):
            made.add_argument(name, nargs="+", choices=value)
        elif isinstance(value, Mapping):
            made.add_argument(name, choices=[*value])
        elif value is False:
            made.add_argument(option, action="store_true")
        elif isinstance(value, list):
            made.add_argument(option, type=type(value[0]), nargs="+", default=value)
        else:
            made.add_argument(option, type=type(value), default=value)
    return made


def shown(name: str, share: float, repeats: int) -> str:
    """A share of repeats and its standard error."""
    error = (share * (1 - share) / max(repeats, 1)) ** 0.5
    return f"{name} {share:.3f} ({error:.3f})"


def scores_of(folder: Path, measure: str) -> np.ndarray:
    """The scores of DL 2019's systems, `(systems, queries)`, by people's grades."""
    # here, as peers are measured in processes that import this module
    from labeler.metrics import JudgedPairs, score
    from labeler.trec.files import read_qrels

    pool = JudgedPairs.of(read_qrels(folder / "nist.qrels"))
    runs = sorted((folder / "runs").glob("*.gz"))
    return np.array([score(pool.rank(run)[0], [measure]).values[0] for run in runs])


class Spent(NamedTuple):
    """What a process took, and what it printed; megabytes at its peak."""

    cpu: float
    seconds: float
    megabytes: float
    output: str


def spent(command: Sequence[str | Path], **variables: str) -> Spent:
    """Run a command to its end; where it fails, end with what it said.

    CPU and memory are those of the process and of all that it waited for.
    """
    began = time.monotonic()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, **variables}, **pipes) as process:
        assert process.stdout
        assert process.stderr
        output, said = process.stdout.read().decode(), process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        words = " ".join(map(str, command))
        sys.exit(f"{words}: exit {process.returncode}: {said[-2000:]}")
    cpu = usage.ru_utime + usage.ru_stime
    return Spent(cpu, time.monotonic() - began, usage.ru_maxrss / 1024, output)


@contextmanager
def fast_server(*options: str) -> Iterator[str]:
    """The address of a server that answers at once, in a process of its own."""
    words = [sys.executable, str(Path(__file__).with_name("fast_server.py")), *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as server:
        assert server.stdin
        assert server.stdout
        port = server.stdout.readline().strip()
        assert port, "the server did not start"
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.stdin.close()


def machine() -> str:
    """How many cores there are, and how busy they were before a bench began."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
