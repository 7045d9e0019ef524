"""The one place that starts a process: this Python, away from the current folder and its code.

The current folder may be a clone of somebody's documents. Neither Python, nor the loader of shared
libraries may find anything there, and no child needs a key of ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

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
    ]
)
"""Variables that name a folder; a relative one would mean another folder in a child."""

SEARCHED = frozenset(
    ["PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"]
)
"""Lists of folders; an entry that is empty or relative would be the current folder's."""


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
        stdout=subprocess.PIPE,
        cwd=sys.prefix,
        stdin=stdin,
        stderr=stderr,
        start_new_session=outlives_ctrl_c,
        text=True,
        errors="replace",
    )


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a child gets of an environment: nothing that is secret or leads into a folder by chance.

    `PYTHONSAFEPATH` and its like on Windows are for what a child starts in its turn.
    """
    names = {name: name.upper() for name in environment}
    passed_on = {name: environment[name] for name, upper in names.items() if upper in AS_IS}
    for name, upper in names.items():
        if upper in FOLDERS and os.path.isabs(environment[name]):
            passed_on[name] = environment[name]
        elif upper in SEARCHED and (folders := _absolute(environment[name])):
            passed_on[name] = folders
    return {**passed_on, "PYTHONSAFEPATH": "1", "NoDefaultCurrentDirectoryInExePath": "1"}


def _absolute(folders: str) -> str:
    return os.pathsep.join(filter(os.path.isabs, folders.split(os.pathsep)))
