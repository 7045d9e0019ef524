"""Which answer belongs to which request: connections on which nothing comes that nobody asked for.

HTTP/1.1 binds an answer to its request by nothing but its place on a connection. Where a server or
a gateway sends one answer more than it was asked for, each following request on that connection
would get the answer of the one before. So:

- A connection's first answer is bound to its request: nothing else was ever asked on it.
- Where opening another connection costs little beside the call itself, none is used twice.
- Otherwise a connection rests before it is used again, for as long as a call takes, and an answer
  on a connection that was used before counts only after that rest. If what came was a stray answer,
  the right one comes within the rest, and shows it.
- Bytes on a connection that is not waiting for an answer close it. Its last answer, unless it was
  the first, is asked for again, and from then on no connection to that server is used twice.

What remains possible: a gateway that mixes answers up on its own side, or a stray answer whose
right one comes later than a rest (the mean time of a call and four times its deviation), or never.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from labeler.wire.gate import on_the_way

SHORTEST_REST = 0.05
LONGEST_REST = 2.0
"""Seconds; where calls take longer, opening a connection for each costs little beside them."""

SPARE_FILES = 32
"""File descriptors left for all else: the store, logs, whatever a library opens."""

MANY_ANSWERS = 100.0
"""Answers a second, up to which opening a plain connection for each costs little."""


@dataclass(slots=True)
class Keeping:
    """Whether connections to a server are used again, and how long each rests before.

    `on_stray` is called once, when a server first sends what nobody asked for.
    """

    is_encrypted: bool
    on_stray: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    has_strayed: bool = False
    _mean: float = 0.0
    _deviation: float = 0.0
    _answered_at: deque[float] = field(default_factory=lambda: deque(maxlen=32))

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
        if len(self._answered_at) < (self._answered_at.maxlen or 0):
            return 0.0
        return len(self._answered_at) / max(1e-9, self.clock() - self._answered_at[0])


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
        end = self._resting[0][0]
        self._loop.call_at(end + self._keeping.watch / 10, self._end_rests)

    def _end_rests(self) -> None:
        """Give back the connections that have rested, to be used again if they still may be."""
        now = self._loop.time()
        try:
            while self._resting and self._resting[0][0] <= now:
                self._end_rest(*self._resting.popleft()[1:])
        finally:
            if self._resting:
                self._look_at_the_end()

    def _end_rest(self, key: Any, connection: Connection) -> None:
        is_usable = connection.is_connected()
        if _is_open(connection) and not is_usable:  # what waits to be read may be its end
            self._loop.call_later(SHORTEST_REST, self._looked, key, connection)
        else:
            self._give_back(key, connection, is_usable=is_usable)

    def _looked(self, key: Any, connection: Connection) -> None:
        self._give_back(key, connection, is_usable=connection.is_connected())

    def _give_back(self, key: Any, connection: Connection, *, is_usable: bool) -> None:
        is_over = self._keeping.rest is None or not is_usable
        super()._release(key, connection, should_close=is_over)
        connection.settle()


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


def is_bound_of(answer: aiohttp.ClientResponse) -> asyncio.Future[bool] | None:
    """What tells after a while whether an answer is to its request; None where it certainly is."""
    return answer.is_bound if isinstance(answer, BoundAnswer) else None


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
