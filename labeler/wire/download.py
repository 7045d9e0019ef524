"""Download files: resumable, bounded in size, and kept only with the expected SHA-256."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from labeler import __version__
from labeler.errors import BadInput, Misconfigured, NoAnswer, ProviderError
from labeler.files.paths import file_to_append, is_own_file, new_file
from labeler.files.read import file_problems, sha256_of
from labeler.messages import Advance, quiet
from labeler.wire.addresses import server_address
from labeler.wire.gate import named

if TYPE_CHECKING:
    from labeler.wire.http import StreamedAnswer

CONNECT_SECONDS, QUIET_SECONDS = 10.0, 30.0
REDIRECTS = frozenset([301, 302, 303, 307, 308])
MOST_REDIRECTS = 10

SLACK = 2**20
"""How many bytes more than expected are still taken, so that an error can name both sums."""

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a download that broke off goes on; it gives up after as many with no progress."""


class Remote(NamedTuple):
    """A file somewhere else: its address, its size in bytes and its SHA-256 in hex."""

    url: str
    size: int
    sha256: str


def check_sha256(path: Path, expected: str, origin: str) -> None:
    """Raise `BadInput`, with both sums, unless the file at `path` has the expected SHA-256."""
    actual = sha256_of(path)
    if actual != expected:
        raise BadInput(f"{origin}: wrong SHA-256: expected {expected}, found {actual}; not used")


def download(
    remote: Remote, to: Path, advance: Advance = quiet, pause: Callable[[float], None] = time.sleep
) -> None:
    """Bring a file to `to`, going on where an earlier attempt broke off.

    What has come so far lies in `to` + `.part`. Raises `ProviderError` where the address does not
    answer with the file, and `BadInput` where the file is not the expected one.
    """
    partial = to.with_name(to.name + ".part")
    with file_problems(partial):
        to.parent.mkdir(parents=True, exist_ok=True)
        if not is_own_file(partial) or _size(partial) > remote.size:
            partial.unlink(missing_ok=True)
        if _size(partial) < remote.size:
            _download_with_retries(remote, partial, advance, pause)
        try:
            check_sha256(partial, remote.sha256, remote.url)
        except BadInput:
            partial.unlink()
            raise
        partial.replace(to)


def _download_with_retries(
    remote: Remote, partial: Path, advance: Advance, pause: Callable[[float], None]
) -> None:
    """Download and resume after interruptions; give up at once where no byte ever came."""
    before, failures = _size(partial), 0
    while True:
        start = _size(partial)
        try:
            asyncio.run(_receive(remote, partial, advance))
            return
        except (NoAnswer, Misconfigured) as error:
            now = _size(partial)
            failures = 0 if now > start else failures + 1
            if now <= before or failures >= len(PAUSES):
                raise ProviderError(str(error)) from error
            pause(PAUSES[failures])


async def _receive(remote: Remote, partial: Path, advance: Advance) -> None:
    """Append the missing bytes of the file, or write all of it where the server does not resume."""
    have = _size(partial)
    async with _opened(remote.url, have) as answer:
        if not (have and (answer.status == 416 or _offset_of(answer) not in (None, have))):
            if not 200 <= answer.status < 300:
                raise Misconfigured(f"{remote.url}: HTTP {answer.status}")
            await _write_body(answer, remote, partial, advance)
            return
    partial.unlink()  # what is there cannot be continued from here: from the start, then
    await _receive(remote, partial, advance)


@asynccontextmanager
async def _opened(url: str, have: int) -> AsyncIterator[StreamedAnswer]:
    """The answer to a request for a file from so many bytes on; redirects are followed to it.

    Nothing of the user's is in the request, so that it may go wherever the first place says, but
    never from an encrypted connection to another.
    """
    from yarl import URL

    from labeler.wire.http import Wire

    headers = {"User-Agent": f"labeler/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    address = url
    for _ in range(MOST_REDIRECTS):
        wire = Wire(named(server_address(address)), url, CONNECT_SECONDS)
        try:
            async with wire.stream(headers, QUIET_SECONDS) as answer:
                target = answer.headers.get("Location")
                if answer.status not in REDIRECTS or not target:
                    yield answer
                    return
            following = str(URL(address).join(URL(target)))
        finally:
            await wire.close()
        if address.startswith("https:") and not following.startswith("https:"):
            raise Misconfigured(f"{url}: redirects to a connection that is not encrypted")
        address = following
    raise Misconfigured(f"{url}: redirects more than {MOST_REDIRECTS} times")


async def _write_body(
    answer: StreamedAnswer, remote: Remote, partial: Path, advance: Advance
) -> None:
    resumed = answer.status == 206
    done = _size(partial) if resumed else 0
    with file_to_append(partial) if resumed else new_file(partial) as out:
        async for chunk in answer.parts:
            done += len(chunk)
            if done > remote.size + SLACK:
                raise BadInput(
                    f"{remote.url}: more than the expected {remote.size:,} bytes; not used"
                )
            out.write(chunk)
            advance(min(done, remote.size), remote.size)


def _offset_of(answer: StreamedAnswer) -> int | None:
    """Return the offset at which the part in a 206 response begins; `None` for a whole file."""
    if answer.status != 206:
        return None
    content_range = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    return int(content_range[1]) if content_range else -1


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
