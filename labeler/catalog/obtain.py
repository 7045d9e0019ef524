"""Obtain an upstream file with its SHA-256: from a mirror, the cache or the network."""

from __future__ import annotations

import os
from pathlib import Path

from labeler.catalog.recipes import UpstreamFile
from labeler.errors import FileProblem, ProviderError
from labeler.files.cache import cache_folder, exclusive
from labeler.files.home import expanded
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.wire.download import Remote, check_sha256, download, quiet


def obtain(source: UpstreamFile, advance: Advance = quiet) -> Path:
    """The path of a file with the source's SHA-256.

    `LABELER_MIRROR` names a folder that holds the same files as `OWNER/REPO/COMMIT/PATH`; no other
    place is then tried. What is downloaded stays in the cache folder under its hash.
    Raises `BadInput`, with both sums, where the file is another one.
    """
    mirror = os.environ.get("LABELER_MIRROR")
    if mirror:
        return _from_mirror(expanded(mirror), source)
    name = Path(source.path).name
    path = cache_folder() / "downloads" / source.sha256 / name
    with file_problems(path), exclusive(path):
        if path.is_file():
            check_sha256(path, source.sha256, str(path))
            return path
        try:
            download(Remote(source.url, source.size, source.sha256), path, advance)
        except ProviderError as error:
            hint = f"LABELER_MIRROR may name a folder that holds it as {source.pinned_path}"
            raise ProviderError(f"{error}; {hint}") from error
    return path


def _from_mirror(mirror: Path, source: UpstreamFile) -> Path:
    path = mirror / source.pinned_path
    if not path.is_file():
        raise FileProblem(
            f"{path}: not in the mirror; put {source.url} there, or unset LABELER_MIRROR to "
            "download it"
        )
    with file_problems(path):
        check_sha256(path, source.sha256, str(path))
    return path
