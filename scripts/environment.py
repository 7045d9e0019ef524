"""What the scripts `demo`, `test`, `lowest` and `lock` share: a virtual environment of their own.

Runs on any Python 3.11 or later with nothing installed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "scripts" / "locks"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The Pythons that the locks are for; their lines carry a marker where these differ."""
MACHINES = (
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("darwin", "arm64"),  # on Intel some of the packages have no wheels any more
    ("win32", "AMD64"),
)
"""What they run on: `sys.platform` and `platform.machine()`."""
PARALLEL = ["-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
"""What has pytest run the tests in several processes."""


def environment(name: str, wanted: list[str], locks: Sequence[str] = ()) -> Path:
    """The Python of `.venv/NAME`, in which pip has installed `wanted`; made when it is missing.

    `wanted` are arguments of `pip install`. `locks` are the files of `scripts/locks/` that name all
    of it: where they are for this Python, they are installed, and the checkout beside them. A stamp
    remembers what all these and `pyproject.toml` were, so that the second run installs nothing.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs an older Python should be told
        sys.exit(f"labeler needs Python 3.11 or later; this is {sys.version.split()[0]}")
    folder = ROOT / ".venv" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    files = [] if why_unlocked() else [LOCKS / lock for lock in locks]
    read = [path.read_text(encoding="utf-8") for path in (ROOT / "pyproject.toml", *files)]
    text = "\0".join([sys.version, *wanted, *read])
    stamp, digest = folder / "installed", hashlib.sha256(text.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return python
    print(f"== making a virtual environment in {folder.relative_to(ROOT)} (once)", flush=True)
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    print("== installing what it needs from the package index; about a minute", flush=True)
    started = time.monotonic()
    # compiling all that is installed takes longer than installing it; what runs is compiled then
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if files:
        _install([*pip, "--no-compile", "--require-hashes", *(f"-r{path}" for path in files)])
        # what builds it is in the locks, too
        run([*pip, "--no-compile", "--no-deps", "--no-build-isolation", "--editable", "."])
    else:
        if locks:
            print(f"== the newest version of each package, as {why_unlocked()}", flush=True)
        _install([*pip, "pip>=25.1"])  # knows groups
        run([*pip, "--no-compile", *wanted])
    stamp.write_text(digest, encoding="utf-8")
    print(f"== installed in {time.monotonic() - started:.0f} s", flush=True)
    return python


def why_unlocked(
    version: tuple[int, ...] = sys.version_info[:2],
    system: str = sys.platform,
    machine: str = platform.machine(),
    variables: Mapping[str, str] = os.environ,
) -> str:
    """Why the locks are left out; nothing where they are for this Python on this machine."""
    if variables.get("LOCKS") == "no":
        return "LOCKS=no says"
    python = ".".join(map(str, version))
    if python in PYTHONS and (system, machine) in MACHINES:
        return ""
    return f"scripts/locks/ has none for Python {python} on {system} ({machine})"


def _install(command: list[str]) -> None:
    """Run the first command that asks the package index for something."""
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit("could not install from the package index; is it reachable?")


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
