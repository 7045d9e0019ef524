"""Paths as they are in truth: without links, whatever the links lead to; and whether they exist."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO

from labeler.errors import FileProblem, Misconfigured

NOT_THERE = "no such file or folder"
_LISTED = 5000
"""So many names of a folder are compared with one that does not exist."""


Paths = str | Path | Iterable[str | Path]
"""What a function of the library takes where it reads one file or several."""


def several(paths: Paths) -> list[str | Path]:
    """The paths; of a single one, that alone."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def true_path(path: Path) -> Path:
    """The absolute path without links; one in a loop of links stays as it is.

    `Path.resolve` raises `RuntimeError` of a loop, up to Python 3.12.
    """
    return Path(os.path.realpath(path))


def names_of(paths: Paths) -> list[str]:
    """Each path as a text."""
    return list(map(str, several(paths)))


def named_file(path: Path) -> tuple[str, Path]:
    """A name and the file of `NAME=FILE`; of another path no name.

    >>> named_file(Path("old=prod/results.trec"))
    ('old', PosixPath('prod/results.trec'))
    """
    name, equals, file = str(path).partition("=")
    is_named = equals and name and file and "/" not in name and not os.path.lexists(path)
    return (name, Path(file)) if is_named else ("", path)


def check_existing(paths: Iterable[Path]) -> None:
    """`FileProblem` names the first path that does not exist, and one beside it with a like name.

    `-`, which is standard input, exists.
    """
    for path in (named_file(path)[1] for path in paths):
        if str(path) != "-" and not os.path.exists(path):
            raise FileProblem(f"{path}: {NOT_THERE}{did_you_mean(path)}")


def shipped(folder: str) -> Path:
    """A folder of ours that holds no code: inside an installed package, else of the checkout."""
    package = Path(__file__).parent.parent
    inside = package / folder
    return inside if inside.is_dir() else package.parent / folder


def worded(error: OSError, path: Path) -> str:
    """What the system said of a file, which is `path` where it named none."""
    name = error.filename or path
    if isinstance(error, FileNotFoundError) and isinstance(name, str | os.PathLike):
        return f"{name}: {NOT_THERE}{did_you_mean(Path(name))}"
    return f"{name}: {error.strerror or error}"


def did_you_mean(path: Path) -> str:
    """What follows the name of a path that does not exist: one beside it with a like name.

    A name with a slash, of which nothing exists, may be one of a data set.
    """
    if not path.parent.exists() and not path.is_absolute() and not path.suffix:
        return f"; if it is a public data set: labeler fetch {path}"
    if not path.parent.is_dir() or not os.access(path.parent, os.R_OK):
        return ""
    from difflib import get_close_matches  # few paths are wrong

    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in islice(entries, _LISTED)]
    close = get_close_matches(path.name, names, 1)
    return f"; did you mean '{path.parent / close[0]}'?" if close else ""


# Paths that begin with `~`.


def expanded(path: str) -> Path:
    """The path, with the home folder in place of a `~`; `Misconfigured` where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise Misconfigured(f"{path}: no home folder is known for its first part") from error


# Whether a file lies on a network file system, where locks do not work across hosts.

_KINDS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs"}


def network_file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of network file system that `path` lies on, None where it is none or unknown."""
    with suppress(OSError, UnicodeDecodeError):
        deepest = -1
        deepest_kind = None
        for line in mounts.read_text(encoding="utf-8").splitlines():
            _, point, kind, *_ = line.split(" ")
            if true_path(path).is_relative_to(point.replace("\\040", " ")) and len(point) > deepest:
                deepest = len(point)
                deepest_kind = kind
        return deepest_kind if deepest_kind in _KINDS else None
    return None


# Folders that others may write to, as a cache of several users: what lies there proves nothing.
#
# A file there may be a link that somebody planted, or may be exchanged at any moment. So a file is
# made under a name that is free, and never through a link; and no note of ours is believed there.

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Neither through a link, nor waiting for the other end of a named pipe."""


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone.

    `FileProblem` where a link of another user stands in its place.
    """
    for path in (*reversed(folder.parents), folder):
        path.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_symlink() or not hasattr(os, "geteuid"):
        return
    if folder.lstat().st_uid not in {os.geteuid(), 0}:  # neither this one's, nor the system's own
        raise FileProblem(f"{folder}: a link that another user made; remove it")


def is_own_file(path: Path) -> bool:
    """Whether there is a plain file of this user's, which no other name leads to."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return is_plain and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def new_file(path: Path) -> IO[bytes]:
    """An empty file at `path`, in place of whatever stood there, to be written."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666), "wb")


def file_to_append(path: Path) -> IO[bytes]:
    """The file at `path`, to be added to; a new one where it is a link, or not this user's own."""
    if not is_own_file(path):
        return new_file(path)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | _NO_LINK), "ab")


def cache_folder() -> Path:
    """Return the user's cache folder for this package: `LABELER_CACHE`, else the platform's."""
    own = os.environ.get("LABELER_CACHE")
    if own:
        return expanded(own)
    from platformdirs import user_cache_path

    folder = user_cache_path("labeler", appauthor=False)
    # a variable that names a relative one counts for nothing, as platformdirs knows from 4.12 on
    return folder if folder.is_absolute() else expanded("~/.cache/labeler")
