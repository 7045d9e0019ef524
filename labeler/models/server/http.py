"""How bytes reach a server: aiohttp, with bounds on everything.

A call has one deadline for all of it, so that a server which drips cannot hold it; an answer has a
largest size, packed and unpacked, so that none can fill the memory; a redirect is not followed, so
that the key goes nowhere else.
"""

from __future__ import annotations

import asyncio
import ipaddress
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import aiohttp

from labeler.errors import NoAnswer

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes, after unpacking."""

CHUNK = 256 * 1024
SPARE_FILES = 32
"""File descriptors left for all else: the store, logs, whatever a library opens."""


class HttpAnswer(NamedTuple):
    """What came back: the status, the headers, and the whole body, unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """A pool of connections; `where` names the server in errors."""

    def __init__(self, url: str, where: str, seconds: float, connect_seconds: float) -> None:
        from yarl import URL

        self._url = URL(url)
        self._where = where
        is_local = is_loopback(self._url.host or "")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=most_connections()),
            timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=connect_seconds),
            trust_env=not is_local,  # no proxy serves this machine itself
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def get(self, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a GET request; `NoAnswer` where nothing whole came back in time."""
        return await self._send("GET", headers)

    async def post(self, headers: Mapping[str, str], content: bytes) -> HttpAnswer:
        """Send a POST request; `NoAnswer` where nothing whole came back in time."""
        return await self._send("POST", headers, content)

    async def _send(
        self, method: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> HttpAnswer:
        try:
            async with self._session.request(
                method, self._url, headers=headers, data=content, allow_redirects=False
            ) as answer:
                return HttpAnswer(answer.status, answer.headers, await _bounded_body(answer))
        except aiohttp.ConnectionTimeoutError:
            raise NoAnswer(f"{self._where}: no connection in time", was_sent=False) from None
        except TimeoutError:
            raise NoAnswer(f"{self._where}: no answer in time") from None
        except aiohttp.ClientConnectorError as error:
            problem = f"{self._where}: no connection ({error.os_error})"
            raise NoAnswer(problem, was_sent=False) from None
        except (aiohttp.ClientError, OSError, zlib.error, ValueError) as error:
            reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
            raise NoAnswer(f"{self._where}: the answer broke off ({reason})") from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await asyncio.sleep(0)


async def _bounded_body(answer: aiohttp.ClientResponse) -> bytes:
    encoding = answer.headers.get("content-encoding")
    if encoding is None and (answer.content_length or CHUNK + 1) <= CHUNK:
        return await answer.read()
    unpack = _unpacker((encoding or "identity").lower())
    parts: list[bytes] = []
    size = 0
    async for packed in answer.content.iter_chunked(CHUNK):
        part = unpack.decompress(packed, LARGEST_ANSWER + 1 - size) if unpack else packed
        size += len(part)
        if size > LARGEST_ANSWER:
            raise ValueError(f"an answer of more than {LARGEST_ANSWER:,} bytes")
        parts.append(part)
    if unpack and not unpack.eof:
        raise ValueError("a packed answer without its end")
    return b"".join(parts)


def _unpacker(encoding: str) -> zlib._Decompress | None:
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    if encoding != "identity":
        raise ValueError(f"an answer packed as {encoding!r}, which was not asked for")
    return None


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def most_connections(most: int = 1024) -> int:
    """How many connections may be open, by the limit on open files; `most` without one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return most
    return max(4, min(most, allowed - SPARE_FILES))
