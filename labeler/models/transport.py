"""How bytes reach a server: aiohttp below the client's own HTTP layer, with bounds on everything.

A call has one deadline for all of it, so that a server which drips cannot hold it; an answer has a
largest size, packed and unpacked, so that none can fill the memory; a redirect is not followed, so
that the key goes nowhere else.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
import zlib
from contextlib import suppress

import aiohttp
import httpx2

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes, after unpacking."""

CHUNK = 256 * 1024
SPARE_FILES = 32
"""File descriptors left for all else: the store, logs, whatever a library opens."""


class Transport(httpx2.AsyncBaseTransport):
    """Sends each request with a deadline for the whole of it."""

    def __init__(self, seconds: float, connect_seconds: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=connect_seconds)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the answer comes back whole, unpacked and bounded."""
        session = self._session(is_loopback(request.url.host))
        try:
            async with session.request(
                request.method,
                str(request.url),
                headers=request.headers,
                data=request.content or None,
                allow_redirects=False,
            ) as answer:
                body = await _bounded_body(answer)
                headers = [
                    (name, value)
                    for name, value in answer.raw_headers
                    if name.lower() not in _NOT_PASSED_ON
                ]
                return httpx2.Response(
                    answer.status, headers=headers, content=body, request=request
                )
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no answer in time") from error
        except aiohttp.ClientConnectorError as error:
            raise httpx2.ConnectError(str(error.os_error) or "no connection") from error
        except (aiohttp.ClientError, OSError, zlib.error, ValueError) as error:
            raise httpx2.ReadError(f"{type(error).__name__}: {error}") from error

    def _session(self, is_local: bool) -> aiohttp.ClientSession:
        """The session for addresses on this machine, which no proxy serves, or for all others."""
        if is_local not in self._sessions:
            self._sessions[is_local] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=most_connections()),
                timeout=self._timeout,
                trust_env=not is_local,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent",),
            )
        return self._sessions[is_local]

    async def aclose(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        await asyncio.sleep(0)


_NOT_PASSED_ON = {b"content-encoding", b"content-length", b"transfer-encoding"}


async def _bounded_body(answer: aiohttp.ClientResponse) -> bytes:
    encoding = answer.headers.get("content-encoding", "identity").lower()
    unpack = _unpacker(encoding)
    parts: list[bytes] = []
    size = 0
    async for packed in answer.content.iter_chunked(CHUNK):
        part = unpack.decompress(packed, LARGEST_ANSWER + 1 - size) if unpack else packed
        size += len(part)
        if size > LARGEST_ANSWER:
            raise ValueError(f"an answer of more than {LARGEST_ANSWER:,} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


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


def most_connections(wanted: int = 1024) -> int:
    """How many connections may be open, by the limit on open files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return wanted
    return max(4, min(wanted, allowed - SPARE_FILES))
