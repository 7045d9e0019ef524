"""What the scripts `demo`, `test` and `lowest` share: a virtual environment of their own.

Runs on any Python 3.11 or later with nothing installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARALLEL = ["-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
"""What has pytest run the tests in several processes."""


def environment(name: str, wanted: list[str]) -> Path:
    """The Python of `.venv/NAME`, in which pip has installed `wanted`; made when it is missing.

    `wanted` are arguments of `pip install`. A stamp remembers what they and `pyproject.toml` were,
    so that the second run installs nothing.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs an older Python should be told
        sys.exit(f"labeler needs Python 3.11 or later; this is {sys.version.split()[0]}")
    folder = ROOT / ".venv" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    text = "\0".join([sys.version, *wanted, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    stamp, digest = folder / "installed", hashlib.sha256(text.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return python
    print(f"== making a virtual environment in {folder.relative_to(ROOT)} (once)", flush=True)
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    print("== installing what it needs from the package index; about a minute", flush=True)
    started = time.monotonic()
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "install", "--quiet", "pip>=25.1"], cwd=ROOT, check=False).returncode:
        sys.exit("could not install from the package index; is it reachable?")
    # compiling all that is installed takes longer than installing it; what runs is compiled then
    run([*pip, "install", "--quiet", "--no-compile", *wanted])
    stamp.write_text(digest, encoding="utf-8")
    print(f"== installed in {time.monotonic() - started:.0f} s", flush=True)
    return python


def run_tests(python: str, arguments: list[str]) -> None:
    """Run pytest with the arguments, once the package and what it needs are compiled.

    Hundreds of processes are started, some of which may not write what they compile, or half of it.
    """
    run([python, "-m", "compileall", "-q", "-f", "labeler"])
    installed = str(next(Path(python).parent.parent.rglob("site-packages")))
    # some packages ship templates that are no Python, which only fail to compile
    command = [python, "-m", "compileall", "-qq", "-j", "0", "-x", r"[/\\]tests?[/\\]", installed]
    subprocess.run(command, cwd=ROOT, check=False)
    print("== tests", flush=True)
    run([python, "-m", "pytest", *arguments])


def run(command: list[str]) -> None:
    """Run a command in the checkout; where it fails, end with its exit code."""
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)
