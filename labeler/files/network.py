"""Whether a file lies on a network file system, where locks do not work across hosts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from labeler.files.paths import true_path

_KINDS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs"}


def network_file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of network file system that `path` lies on, None where it is none or unknown."""
    with suppress(OSError, UnicodeDecodeError):
        deepest, deepest_kind = -1, None
        for line in mounts.read_text(encoding="utf-8").splitlines():
            _, point, kind, *_ = line.split(" ")
            below = true_path(path).is_relative_to(point.replace("\\040", " "))
            if below and len(point) > deepest:
                deepest, deepest_kind = len(point), kind
        return deepest_kind if deepest_kind in _KINDS else None
    return None
