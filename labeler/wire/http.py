"""How bytes reach a server: aiohttp, with bounds on everything.

A call has one deadline for all of it, so that a server which drips cannot hold it; an answer has a
largest size, packed and unpacked, and few large ones are read at once, so that they cannot fill the
memory; a redirect is not followed, so that the key goes nowhere else; a proxy is taken from the
environment, but no credentials are, so that no other key is sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import select
import time
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from labeler.errors import LabelerError, Misconfigured, NoAnswer
from labeler.messages import Clock
from labeler.model import Bound, Headers
from labeler.wire.addresses import masked
from labeler.wire.gate import Admitted, on_the_way

if TYPE_CHECKING:
    from yarl import URL

# Which answer belongs to which request: connections on which nothing comes that nobody asked for.
#
# HTTP/1.1 binds an answer to its request by nothing but its place on a connection. Where a server
# or a gateway sends one answer more than it was asked for, each following request on that
# connection would get the answer of the one before. So:
#
# - A connection's first answer is bound to its request: nothing else was ever asked on it.
# - Where opening another connection costs little beside the call itself, none is used twice.
# - Otherwise a connection rests before it is used again, for as long as a call takes, and an answer
#   on a connection that was used before counts only after that rest. If what came was a stray
#   answer, the right one comes within the rest, and shows it.
# - Bytes on a connection that is not waiting for an answer close it. Its last answer, unless it was
#   the first, is asked for again, and from then on no connection to that server is used twice.
#
# What remains possible: a gateway that mixes answers up on its own side, or a stray answer whose
# right one comes later than a rest (the mean time of a call and four times its deviation), or
# never.

SHORTEST_REST = 0.05
LONGEST_REST = 2.0
"""Seconds; where calls take longer, opening a connection for each costs little beside them."""

SPARE_FILES = 32
"""File descriptors left for all else: the store, logs, whatever a library opens."""

MANY_ANSWERS = 50.0
"""Answers a second, up to which opening a plain connection for each costs little."""

FEWEST_ANSWERS, RATE_ANSWERS = 32, 256
"""Over how many answers their rate is taken."""


@dataclass(slots=True)
class Keeping:
    """Whether connections to a server are used again, and how long each rests before.

    `on_stray` is called once, when a server first sends what nobody asked for.
    """

    is_encrypted: bool
    on_stray: Callable[[], None] = lambda: None
    clock: Clock = time.monotonic
    has_strayed: bool = False
    _mean: float = 0.0
    _deviation: float = 0.0
    _answered_at: deque[float] = field(default_factory=lambda: deque(maxlen=RATE_ANSWERS))

    @property
    def rest(self) -> float | None:
        """Seconds of rest before a connection is used again; None where it is closed instead."""
        if self.has_strayed or not self._answered_at or self._usual > LONGEST_REST:
            return None
        is_worth_it = self.is_encrypted or self._answers_a_second() > MANY_ANSWERS
        return self.watch if is_worth_it else None

    @property
    def watch(self) -> float:
        """Seconds for which to look, after an answer, whether another comes."""
        return min(LONGEST_REST, max(SHORTEST_REST, self._usual))

    @property
    def _usual(self) -> float:
        return self._mean + 4 * self._deviation

    def answered(self, seconds: float) -> None:
        """Learn from a call how long calls take."""
        self._deviation += (abs(seconds - self._mean) - self._deviation) / 8
        self._mean += (seconds - self._mean) / 8
        if not self._answered_at:
            self._mean, self._deviation = seconds, seconds / 2
        self._answered_at.append(self.clock())

    def stray(self) -> None:
        """Use no connection twice from now on."""
        if not self.has_strayed:
            self.has_strayed = True
            self.on_stray()

    def _answers_a_second(self) -> float:
        """Their rate: the latest one, or over a longer time, in which a pause does not count."""
        answered, now = self._answered_at, self.clock()
        counts = (FEWEST_ANSWERS, len(answered)) if len(answered) >= FEWEST_ANSWERS else ()
        return max((n / max(1e-9, now - answered[-n]) for n in counts), default=0.0)


class Connection(ResponseHandler):
    """One connection, which notices bytes that nobody asked for.

    `requests` counts what was sent over it. `is_bound` is a future, for a request that was not the
    first: once the connection has rested, it holds whether its answer was certainly to it.
    """

    def __init__(self, keeping: Keeping, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.requests = 0
        self.is_bound: asyncio.Future[bool] | None = None
        self._keeping = keeping
        self._answers = 0
        self._has_strayed = False
        self._poll: select.poll | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with what tells whether bytes wait to be read."""
        super().connection_made(transport)
        number = transport.get_extra_info("socket").fileno()
        if number >= 0 and hasattr(select, "poll"):  # Windows has none
            self._poll = select.poll()
            self._poll.register(number, select.POLLIN)

    def set_response_params(self, **parameters: Any) -> None:
        """Begin a request."""
        self.requests += 1
        self._answers = 0
        self.is_bound = self._loop.create_future() if self.requests > 1 else None
        super().set_response_params(**parameters)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take the head of an answer; a second one, unless the first is `100 Continue`, strays."""
        self._answers += data[0].code >= 200
        super().feed_data(data, size)
        if self._answers > 1:
            self._stray()

    def data_received(self, data: bytes) -> None:
        """Take bytes, which stray where no answer is waited for."""
        if data and self._is_idle:  # without data, reading only goes on
            self._stray()
        else:
            super().data_received(data)

    def set_exception(self, exc: BaseException, *causes: BaseException) -> None:
        """End in an error; where the answer is whole already, what is no HTTP came after it."""
        if isinstance(exc, HttpProcessingError) and self._is_idle:
            self._stray()
        super().set_exception(exc, *causes)

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection has ended: nothing more can come on it."""
        super().connection_lost(exc)
        self.settle()

    def is_connected(self) -> bool:
        """Whether the connection can be used: it is open, and nothing waits to be read on it."""
        if not super().is_connected() or self._has_strayed:
            return False
        if not self._is_idle:
            return True
        if self.requests and self._keeping.has_strayed:
            return False
        return not (self._poll and self._poll.poll(0))

    def settle(self) -> None:
        """Let the last answer count, unless something strayed after it."""
        if self.is_bound and not self.is_bound.done():
            self.is_bound.set_result(not self._has_strayed)

    @property
    def _is_idle(self) -> bool:
        """Whether no answer is waited for, nor the rest of one."""
        if self._answers == 0:
            return self.requests == 0
        return self._payload is None or self._payload.is_eof()

    def _stray(self) -> None:
        self._has_strayed = True
        self._keeping.stray()
        self.settle()
        if self.transport is not None:
            self.transport.abort()


class Connections(aiohttp.TCPConnector):
    """A pool in which connections rest before they are used again.

    Rests that end soon after one another end together, so that one timer serves them all. `to` is
    where they go, having passed the gate.
    """

    def __init__(self, keeping: Keeping, most: int, to: str) -> None:
        super().__init__(limit=most)
        self._keeping, self._to = keeping, to
        self._resting: deque[tuple[float, Any, Connection]] = deque()
        self._factory = partial(Connection, keeping, self._loop)  # type: ignore[assignment]  # the only hook for a protocol

    async def _create_connection(self, *request: Any) -> ResponseHandler:
        with on_the_way(self._to):
            return await super()._create_connection(*request)

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        """Take a connection back: to rest, or to be closed."""
        if not isinstance(protocol, Connection) or not _is_open(protocol):
            should_close = True
        elif protocol.requests == 1:  # nothing to look out for
            should_close |= self._keeping.rest is None or protocol.should_close
        if isinstance(protocol, Connection) and not should_close:
            self._resting.append((self._loop.time() + self._keeping.watch, key, protocol))
            if len(self._resting) == 1:
                self._look_at_the_end()
        else:
            super()._release(key, protocol, should_close=True)

    def _look_at_the_end(self) -> None:
        """Look at the connections once the one that rests for longest has rested, and a bit."""
        by = self._resting[0][0] + self._keeping.watch / 10
        self._loop.call_at(by, self._end_rests, by)

    def _end_rests(self, by: float) -> None:
        """Give back the connections that have rested by then, to be used again if they may be.

        What came until then was taken in before, as the loop reads before its timers run. That says
        nothing of what came later, where the loop was held up.
        """
        is_kept = self._keeping.rest is not None
        try:
            while self._resting and self._resting[0][0] <= by:
                _, key, connection = self._resting.popleft()
                is_usable = is_kept and not self._keeping.has_strayed and _is_open(connection)
                super()._release(key, connection, should_close=not is_usable)
                connection.settle()
        finally:
            if self._resting:
                self._look_at_the_end()


def _is_open(protocol: ResponseHandler) -> bool:
    """Whether a connection is open, whatever may have come on it."""
    return ResponseHandler.is_connected(protocol)


class BoundAnswer(aiohttp.ClientResponse):
    """An answer that knows whether it is to its request, or when it will."""

    is_bound: asyncio.Future[bool] | None = None

    def start(
        self, connection: aiohttp.connector.Connection
    ) -> Coroutine[Any, Any, aiohttp.ClientResponse]:
        """Read the head."""
        if isinstance(connection.protocol, Connection):
            self.is_bound = connection.protocol.is_bound
        return super().start(connection)


MOST_CONNECTIONS = 1024


def most_connections() -> int:
    """How many connections may be open: by the limit on open files, where there is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(4, min(MOST_CONNECTIONS, allowed - SPARE_FILES))


Content = bytes | AsyncIterable[bytes]

LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes, after unpacking; a reply with a grade takes some thousand."""

USUAL_ANSWER = 128 * 1024
LARGE_AT_ONCE = 8
"""Answers of more than the usual size that are read at once; others wait for their turn."""

CHUNK = 64 * 1024
CONNECT_SECONDS = 10.0
LONGEST_CALL = 1e7
"""Seconds; a clock that counts further is of no use."""


class HttpAnswer(NamedTuple):
    """What came back: the status, the headers, and the whole body, unpacked.

    `is_bound` tells after a while whether the answer was certainly to its request; None where it
    is, as nothing else was ever asked on the connection.
    """

    status: int
    headers: Headers
    body: bytes
    is_bound: Bound = None


class StreamedAnswer(NamedTuple):
    """What comes back in parts, each of bounded size; `parts` is to be gone through once."""

    status: int
    headers: Headers
    parts: AsyncIterator[bytes]


class Wire:
    """A pool of connections to an address that passed the gate; `where` names it in errors.

    `on_stray` is called once, when the server first sends what nobody asked for.
    """

    def __init__(
        self,
        to: Admitted,
        where: str,
        seconds: float,
        on_stray: Callable[[], None] = lambda: None,
        *,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        from yarl import URL

        self._url = URL(to.address)
        self._where = where
        self._largest = largest
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._proxy = _proxy(self._url)
        is_encrypted = self._url.scheme == "https"
        self._keeping = Keeping(is_encrypted, on_stray)
        self._own_headers = {} if is_encrypted else self._proxy.get("proxy_headers", {})
        self._session = aiohttp.ClientSession(
            connector=Connections(self._keeping, most_connections(), where),
            timeout=aiohttp.ClientTimeout(
                total=min(seconds, LONGEST_CALL), sock_connect=CONNECT_SECONDS
            ),
            response_class=BoundAnswer,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def send(
        self, method: str, headers: Headers, content: Content | None = None, url: URL | None = None
    ) -> HttpAnswer:
        """Send a request to the wire's address, or to `url`, another address on the same host;
        `NoAnswer` where nothing whole came back in time.
        """
        began = time.monotonic()
        try:
            async with self._request(method, headers, content, url) as answer:
                body = await self._bounded_body(answer)
        except _PROBLEMS as error:
            raise self._problem(error) from None
        self._keeping.answered(time.monotonic() - began)
        return HttpAnswer(answer.status, answer.headers, body, answer.is_bound)

    @asynccontextmanager
    async def stream(
        self, headers: Headers, quiet_seconds: float, url: URL | None = None
    ) -> AsyncIterator[StreamedAnswer]:
        """The answer to a GET request, in parts, for as long as they come and the block runs."""
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=quiet_seconds)
        try:
            answer = await self._request("GET", headers, None, url, timeout=timeout)
        except _PROBLEMS as error:
            raise self._problem(error) from None
        try:
            yield StreamedAnswer(answer.status, answer.headers, self._stream(answer))
        finally:
            answer.close()

    def _request(
        self, method: str, headers: Headers, content: Content | None, url: URL | None, **more: Any
    ) -> Any:
        if url is not None and url.origin() != self._url.origin():
            raise Misconfigured(f"{self._where}: {masked(str(url))} is another server's address")
        return self._session.request(
            method,
            url or self._url,
            headers={**headers, **self._own_headers},
            data=content,
            allow_redirects=False,
            **self._proxy,
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
                return NoAnswer(f"{self._where}: no connection ({error.os_error})", was_sent=False)
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


def _proxy(url: URL) -> dict[str, Any]:
    """The environment's proxy for an address; none serves this machine itself.

    It is given as aiohttp takes it, with a header of the credentials that its address held.

    Unlike what aiohttp would do, no `.netrc` is read, neither for the proxy nor for the server.
    """
    from yarl import URL

    host = url.host or ""
    address = getproxies().get(url.scheme)
    if not address or is_loopback(host) or proxy_bypass(host):
        return {}
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
        return {"proxy": proxy}
    credentials = b64encode(f"{proxy.user or ''}:{proxy.password or ''}".encode()).decode()
    headers = {"Proxy-Authorization": f"Basic {credentials}"}
    return {"proxy": proxy.with_user(None), "proxy_headers": headers}


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")
