"""The one place that starts a process: this Python, away from the current folder and its code.

The current folder may be a clone of somebody's documents. Neither Python, nor the loader of shared
libraries, nor a search for a program may find anything there, and no child needs a key of ours.
A program that a user names is found as the user means it, and is given no key of ours either.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from labeler.errors import Misconfigured

AS_IS = frozenset(
    [
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "PYTHONUTF8",
        "PYTHONNOUSERSITE",
        "PYTHONDONTWRITEBYTECODE",
        "SYSTEMROOT",
        "SYSTEMDRIVE",
        "WINDIR",
        "COMSPEC",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "NUMBER_OF_PROCESSORS",
        "CUDA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "GGML_VK_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
    ]
)
"""Variables that every child gets as they are: the language, the platform's own, the devices."""

FOLDERS = frozenset(
    [
        "HOME",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMDATA",
        "XDG_CONFIG_HOME",
        "PYTHONHOME",
        "PYTHONUSERBASE",
        "TMPDIR",
        "TEMP",
        "TMP",
        "PATH",
        "PYTHONPATH",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "DYLD_FALLBACK_LIBRARY_PATH",
    ]
)
"""Variables that name folders; one that is empty or relative would be another in a child."""


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    outlives_ctrl_c: bool = False,
) -> subprocess.Popen[str]:
    """Start a Python, named by its absolute path, with arguments, and a pipe from its stdout.

    It runs in the folder of this Python's installation, with what `child_environment` leaves and
    with `environment`. Relative paths among the arguments would be looked for there. A child that
    outlives Ctrl-C is ended by the parent alone.
    """
    python, *arguments = command
    if not os.path.isabs(python):
        raise Misconfigured(f"this Python does not say where it lies ({python!r})")
    return subprocess.Popen(
        [python, "-P", *arguments],
        env={**child_environment(os.environ), **environment},
        cwd=sys.prefix,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=outlives_ctrl_c,
        text=True,
        errors="replace",
    )


async def start_program(
    command: Sequence[str], environment: Mapping[str, str], stderr: Any, most: int
) -> asyncio.subprocess.Process:
    """Start a program that the user named, in the current folder, with pipes to and from it.

    No shell reads the arguments. A name without a slash is looked for in the absolute folders of
    PATH alone. It gets what `child_environment` leaves, and `environment`; it leads a group of
    processes, which `end_program` ends. `most` bounds the bytes of a line.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        env={**child_environment(os.environ), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        limit=most,
    )


def find_program(name: str) -> str:
    """The absolute path of a program that the user named; `Misconfigured` where there is none."""
    if os.path.dirname(name):
        path = os.path.abspath(name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        raise Misconfigured(f"{name}: no program that can be run; give an interpreter before it")
    path_of_it = shutil.which(name, path=child_environment(os.environ).get("PATH", ""))
    if path_of_it is None:
        here = f"; to run the one in this folder: ./{name}" if Path(name).is_file() else ""
        raise Misconfigured(f"no program {name!r} in the folders of PATH{here}")
    return path_of_it


async def end_program(child: asyncio.subprocess.Process) -> None:
    """Kill a program, and what it started that has not left its group; wait for its end.

    Once it has been waited for, its number may be another process's.
    """
    if child.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
    await child.wait()


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a child gets of an environment: nothing that is secret or leads into a folder by chance.

    `PYTHONSAFEPATH` and its like on Windows are for what a child starts in its turn.
    """
    passed_on = {name: value for name, value in environment.items() if name.upper() in AS_IS}
    for name, value in environment.items():
        if name.upper() in FOLDERS:
            folders = os.pathsep.join(filter(os.path.isabs, value.split(os.pathsep)))
            passed_on |= {name: folders} if folders else {}
    return {**passed_on, "PYTHONSAFEPATH": "1", "NoDefaultCurrentDirectoryInExePath": "1"}
