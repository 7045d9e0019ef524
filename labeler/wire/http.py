"""How bytes reach a server: aiohttp, with bounds on everything.

A call has one deadline for all of it, so that a server which drips cannot hold it; an answer has a
largest size, packed and unpacked, and few large ones are read at once, so that they cannot fill the
memory; a redirect is not followed, so that the key goes nowhere else; a proxy is taken from the
environment, but no credentials are, so that no other key is sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
import zlib
from base64 import b64encode
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp

from labeler.errors import LabelerError, Misconfigured, NoAnswer
from labeler.model import Bound
from labeler.wire.addresses import masked
from labeler.wire.connections import (
    BoundAnswer,
    Connections,
    Keeping,
    is_bound_of,
    most_connections,
)
from labeler.wire.gate import Admitted

if TYPE_CHECKING:
    from yarl import URL

Content = bytes | AsyncIterable[bytes]

LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes, after unpacking; a reply with a grade takes some thousand."""

USUAL_ANSWER = 128 * 1024
LARGE_AT_ONCE = 8
"""Answers of more than the usual size that are read at once; others wait for their turn."""

CHUNK = 64 * 1024
LONGEST_CALL = 1e7
"""Seconds; a clock that counts further is of no use."""


class HttpAnswer(NamedTuple):
    """What came back: the status, the headers, and the whole body, unpacked.

    `is_bound` tells after a while whether the answer was certainly to its request; None where it
    is, as nothing else was ever asked on the connection.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_bound: Bound = None


class StreamedAnswer(NamedTuple):
    """What comes back in parts, each of bounded size; `parts` is to be gone through once."""

    status: int
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]


class Wire:
    """A pool of connections to an address that passed the gate; `where` names it in errors.

    `on_stray` is called once, when the server first sends what nobody asked for.
    """

    def __init__(  # noqa: PLR0913  what bounds a wire is set where it is made
        self,
        to: Admitted,
        where: str,
        seconds: float,
        connect_seconds: float,
        on_stray: Callable[[], None] = lambda: None,
        *,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        from yarl import URL

        self._url = URL(to.address)
        self._where = where
        self._largest = largest
        self._keeping = Keeping(self._url.scheme == "https", on_stray)
        self._connect_seconds = connect_seconds
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        proxy = _proxy(self._url)
        self._own_headers = {} if self._url.scheme == "https" else proxy.headers
        self._session = aiohttp.ClientSession(
            connector=Connections(self._keeping, most_connections(), where),
            timeout=aiohttp.ClientTimeout(
                total=min(seconds, LONGEST_CALL), sock_connect=connect_seconds
            ),
            response_class=BoundAnswer,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._proxy, self._proxy_headers = proxy.url, proxy.headers or None

    async def get(self, headers: Mapping[str, str], url: URL | None = None) -> HttpAnswer:
        """Send a GET request; `NoAnswer` where nothing whole came back in time."""
        return await self.send("GET", headers, url=url)

    async def post(
        self, headers: Mapping[str, str], content: bytes, url: URL | None = None
    ) -> HttpAnswer:
        """Send a POST request; `NoAnswer` where nothing whole came back in time."""
        return await self.send("POST", headers, content, url)

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        content: Content | None = None,
        url: URL | None = None,
    ) -> HttpAnswer:
        """Send a request to the wire's address, or to `url`, another address on the same host."""
        began = time.monotonic()
        try:
            async with self._request(method, headers, content, url) as answer:
                body = await self._bounded_body(answer)
        except _PROBLEMS as error:
            raise self._problem(error) from None
        self._keeping.answered(time.monotonic() - began)
        return HttpAnswer(answer.status, answer.headers, body, is_bound_of(answer))

    @asynccontextmanager
    async def stream(
        self, headers: Mapping[str, str], quiet_seconds: float, url: URL | None = None
    ) -> AsyncIterator[StreamedAnswer]:
        """The answer to a GET request, in parts, for as long as they come and the block runs."""
        timeout = aiohttp.ClientTimeout(sock_connect=self._connect_seconds, sock_read=quiet_seconds)
        try:
            answer = await self._request("GET", headers, None, url, timeout=timeout)
        except _PROBLEMS as error:
            raise self._problem(error) from None
        try:
            yield StreamedAnswer(answer.status, answer.headers, self._stream(answer))
        finally:
            answer.close()

    def _request(
        self,
        method: str,
        headers: Mapping[str, str],
        content: Content | None,
        url: URL | None,
        **more: Any,
    ) -> Any:
        if url is not None and url.origin() != self._url.origin():
            raise Misconfigured(f"{self._where}: {masked(str(url))} is another server's address")
        return self._session.request(
            method,
            url or self._url,
            headers={**headers, **self._own_headers},
            data=content,
            allow_redirects=False,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
            **more,
        )

    async def _stream(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for part in _parts(answer):
                yield part
        except _PROBLEMS as error:
            raise self._problem(error) from None

    def _problem(self, error: BaseException) -> LabelerError:
        """What went wrong on the way to an answer, in one line."""
        match error:
            case aiohttp.InvalidURL():
                return Misconfigured(f"{self._where}: no such address can be asked")
            case aiohttp.ConnectionTimeoutError():
                return NoAnswer(f"{self._where}: no connection in time", was_sent=False)
            case TimeoutError():
                return NoAnswer(f"{self._where}: no answer in time")
            case aiohttp.ClientConnectorError():
                problem = f"{self._where}: no connection ({error.os_error})"
                return NoAnswer(problem, was_sent=False)
            case _:
                reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
                return NoAnswer(f"{self._where}: the answer broke off ({reason})")

    async def _bounded_body(self, answer: aiohttp.ClientResponse) -> bytes:
        is_packed = "content-encoding" in answer.headers
        if not is_packed and (answer.content_length or CHUNK + 1) <= CHUNK:
            return await answer.read()
        if (answer.content_length or 0) > self._largest:
            raise ValueError(_TOO_LARGE.format(self._largest))
        parts: list[bytes] = []
        size, is_large = 0, False
        try:
            async for part in _parts(answer):
                size += len(part)
                if size > self._largest:
                    raise ValueError(_TOO_LARGE.format(self._largest))
                if size > USUAL_ANSWER and not is_large:
                    is_large = await self._large.acquire()
                parts.append(part)
        finally:
            if is_large:
                self._large.release()
        return b"".join(parts)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await asyncio.sleep(0)


_TOO_LARGE = "an answer of more than {:,} bytes"
_PROBLEMS = (aiohttp.ClientError, TimeoutError, OSError, zlib.error, ValueError)


async def _parts(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body of an answer in parts, unpacked."""
    unpack = _unpacker(answer.headers.get("content-encoding", "identity").lower())
    async for packed in answer.content.iter_chunked(CHUNK):
        for part in _unpacked(packed, unpack):
            yield part
    if unpack and not unpack.eof:
        raise ValueError("a packed answer without its end")


def _unpacked(packed: bytes, unpack: zlib._Decompress | None) -> Iterator[bytes]:
    """The parts of a chunk, each of bounded size however small they were packed."""
    if unpack is None:
        yield packed
        return
    while packed and not unpack.eof:
        yield unpack.decompress(packed, CHUNK)
        packed = unpack.unconsumed_tail


def _unpacker(encoding: str) -> zlib._Decompress | None:
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    if encoding != "identity":
        raise ValueError(f"an answer packed as {encoding!r}, which was not asked for")
    return None


class _Proxy(NamedTuple):
    """A proxy, and the header with the credentials that its address held."""

    url: URL | None = None
    headers: Mapping[str, str] = {}


def _proxy(url: URL) -> _Proxy:
    """The environment's proxy for an address; none serves this machine itself.

    Unlike what aiohttp would do, no `.netrc` is read, neither for the proxy nor for the server.
    """
    from yarl import URL

    host = url.host or ""
    address = getproxies().get(url.scheme)
    if not address or is_loopback(host) or proxy_bypass(host):
        return _Proxy()
    try:
        proxy = URL(address)
    except ValueError:
        proxy = URL()
    if not proxy.host or proxy.scheme not in {"http", "https"} or ":" in (proxy.user or ""):
        raise Misconfigured(
            f"{url.scheme}_proxy: {masked(address)}: expected an address as http://127.0.0.1:3128; "
            "other proxies are not supported"
        )
    if proxy.user is None and proxy.password is None:
        return _Proxy(proxy)
    credentials = b64encode(f"{proxy.user or ''}:{proxy.password or ''}".encode()).decode()
    return _Proxy(proxy.with_user(None), {"Proxy-Authorization": f"Basic {credentials}"})


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")
