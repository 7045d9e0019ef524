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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp

from labeler.errors import Misconfigured, NoAnswer
from labeler.model import Bound
from labeler.wire.addresses import masked
from labeler.wire.connections import BoundAnswer, Connections, Keeping, is_bound_of

if TYPE_CHECKING:
    from yarl import URL

LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes, after unpacking; a reply with a grade takes some thousand."""

USUAL_ANSWER = 128 * 1024
LARGE_AT_ONCE = 8
"""Answers of more than the usual size that are read at once; others wait for their turn."""

CHUNK = 64 * 1024
LONGEST_CALL = 1e7
"""Seconds; a clock that counts further is of no use."""

SPARE_FILES = 32
"""File descriptors left for all else: the store, logs, whatever a library opens."""


class HttpAnswer(NamedTuple):
    """What came back: the status, the headers, and the whole body, unpacked.

    `is_bound` tells after a while whether the answer was certainly to its request; None where it
    is, as nothing else was ever asked on the connection.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_bound: Bound = None


class Wire:
    """A pool of connections; `where` names the server in errors.

    `on_stray` is called once, when the server first sends what nobody asked for.
    """

    def __init__(  # noqa: PLR0913  what bounds a wire is set where it is made
        self,
        url: str,
        where: str,
        seconds: float,
        connect_seconds: float,
        on_stray: Callable[[], None] = lambda: None,
        *,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        from yarl import URL

        self._url = URL(url)
        self._where = where
        self._largest = largest
        self._keeping = Keeping(self._url.scheme == "https", on_stray)
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        proxy = _proxy(self._url)
        self._own_headers = {} if self._url.scheme == "https" else proxy.headers
        self._session = aiohttp.ClientSession(
            connector=Connections(self._keeping, most_connections()),
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
        content: bytes | None = None,
        url: URL | None = None,
    ) -> HttpAnswer:
        """Send a request to the wire's address, or to `url`, another address on the same host."""
        began = time.monotonic()
        try:
            async with self._session.request(
                method,
                url or self._url,
                headers={**headers, **self._own_headers},
                data=content,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
            ) as answer:
                body = await self._bounded_body(answer)
        except aiohttp.InvalidURL:
            raise Misconfigured(f"{self._where}: no such address can be asked") from None
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
        self._keeping.answered(time.monotonic() - began)
        return HttpAnswer(answer.status, answer.headers, body, is_bound_of(answer))

    async def _bounded_body(self, answer: aiohttp.ClientResponse) -> bytes:
        encoding = answer.headers.get("content-encoding")
        if encoding is None and (answer.content_length or CHUNK + 1) <= CHUNK:
            return await answer.read()
        if (answer.content_length or 0) > self._largest:
            raise ValueError(_TOO_LARGE.format(self._largest))
        unpack = _unpacker((encoding or "identity").lower())
        parts: list[bytes] = []
        size, is_large = 0, False
        try:
            async for packed in answer.content.iter_chunked(CHUNK):
                for part in _unpacked(packed, unpack):
                    size += len(part)
                    if size > self._largest:
                        raise ValueError(_TOO_LARGE.format(self._largest))
                    if size > USUAL_ANSWER and not is_large:
                        is_large = await self._large.acquire()
                    parts.append(part)
        finally:
            if is_large:
                self._large.release()
        if unpack and not unpack.eof:
            raise ValueError("a packed answer without its end")
        return b"".join(parts)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await asyncio.sleep(0)


_TOO_LARGE = "an answer of more than {:,} bytes"


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
