"""Connections that are opened and say nothing are closed, so that they do not pile up."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def impatient_protocol(seconds: float) -> type[asyncio.Protocol]:
    """The server's protocol, which closes a connection without a whole request after so long.

    A request behind one that was answered has up to twice as long.
    """

    class Impatient(H11Protocol):
        """HTTP/1.1 whose every request must arrive in time."""

        _last_cycle: Any = None

        def connection_made(self, transport: Any) -> None:
            """Begin to wait for the first request."""
            super().connection_made(transport)
            self.loop.call_later(seconds, self._close_unused)

        def _close_unused(self) -> None:
            """Close the connection where nothing was asked since the last look, and look again."""
            if self.transport.is_closing():
                return
            is_idle = self.cycle is None or self.cycle.response_complete
            if is_idle and self.cycle is self._last_cycle:
                self.transport.close()
                return
            self._last_cycle = self.cycle
            self.loop.call_later(seconds, self._close_unused)

    return Impatient
