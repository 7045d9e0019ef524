"""Download files: resumable, bounded in size, and kept only with the expected SHA-256."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from labeler import __version__
from labeler.errors import BadInput, ProviderError
from labeler.files.cache import sha256_of
from labeler.files.read import file_problems
from labeler.files.shared import file_to_append, is_own_file, new_file
from labeler.messages import Advance

if TYPE_CHECKING:
    import httpx2

SLACK = 2**20
"""How many bytes more than expected are still taken, so that an error can name both sums."""

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a download that broke off goes on; it gives up after as many with no progress."""


class Remote(NamedTuple):
    """A file somewhere else: its address, its size in bytes and its SHA-256 in hex."""

    url: str
    size: int
    sha256: str


def quiet(_done: int, _total: int) -> None:
    """Show no progress."""


def check_sha256(path: Path, expected: str, origin: str) -> None:
    """Raise `BadInput`, with both sums, unless the file at `path` has the expected SHA-256."""
    actual = sha256_of(path)
    if actual != expected:
        raise BadInput(f"{origin}: wrong SHA-256: expected {expected}, found {actual}; not used")


def download(
    remote: Remote,
    to: Path,
    advance: Advance = quiet,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Bring a file to `to`, going on where an earlier attempt broke off.

    What has come so far lies in `to` + `.part`. Raises `ProviderError` where the address does not
    answer with the file, and `BadInput` where the file is not the expected one.
    """
    import httpx2

    partial = to.with_name(to.name + ".part")
    with file_problems(partial):
        to.parent.mkdir(parents=True, exist_ok=True)
        if not is_own_file(partial) or _size(partial) > remote.size:
            partial.unlink(missing_ok=True)
        if _size(partial) < remote.size:
            timeout = httpx2.Timeout(30, connect=10)
            headers = {"User-Agent": f"labeler/{__version__}", "Accept-Encoding": "identity"}
            with httpx2.Client(timeout=timeout, headers=headers, follow_redirects=True) as client:
                _download_with_retries(client, remote, partial, advance, pause)
        try:
            check_sha256(partial, remote.sha256, remote.url)
        except BadInput:
            partial.unlink()
            raise
        partial.replace(to)


def _download_with_retries(
    client: httpx2.Client,
    remote: Remote,
    partial: Path,
    advance: Advance,
    pause: Callable[[float], None],
) -> None:
    """Download and resume after interruptions; give up at once where no byte ever came."""
    import httpx2

    before, failures = _size(partial), 0
    while True:
        start = _size(partial)
        try:
            _receive(client, remote, partial, advance)
            return
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            now = _size(partial)
            failures = 0 if now > start else failures + 1
            if now <= before or failures >= len(PAUSES):
                raise ProviderError(f"{remote.url}: {_reason(error)}") from error
            pause(PAUSES[failures])


def _receive(client: httpx2.Client, remote: Remote, partial: Path, advance: Advance) -> None:
    """Append the missing bytes of the file, or write all of it where the server does not resume."""
    have = _size(partial)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", remote.url, headers=headers) as response:
        unfit = response.status_code == 416 or _offset_of(response) not in (None, have)
        if not (have and unfit):
            response.raise_for_status()
            _write_body(response, remote, partial, advance)
            return
    partial.unlink()  # what is there cannot be continued from here: from the start, then
    _receive(client, remote, partial, advance)


def _write_body(response: httpx2.Response, remote: Remote, partial: Path, advance: Advance) -> None:
    resumed = response.status_code == 206
    done = _size(partial) if resumed else 0
    with file_to_append(partial) if resumed else new_file(partial) as out:
        for chunk in response.iter_bytes():
            done += len(chunk)
            if done > remote.size + SLACK:
                problem = f"more than the expected {remote.size:,} bytes; not used"
                raise BadInput(f"{remote.url}: {problem}")
            out.write(chunk)
            advance(min(done, remote.size), remote.size)


def _offset_of(response: httpx2.Response) -> int | None:
    """Return the offset at which the part in a 206 response begins; `None` for a whole file."""
    if response.status_code != 206:
        return None
    content_range = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(content_range[1]) if content_range else -1


def _reason(error: Exception) -> str:
    import httpx2

    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    return str(error) or type(error).__name__


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
