"""Connections that are opened and say nothing are closed, so that they do not pile up."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def impatient_protocol(seconds: float) -> type[asyncio.Protocol]:
    """The server's protocol, which closes a connection without a whole request after so long."""

    class Impatient(H11Protocol):
        """HTTP/1.1 whose first request must arrive in time."""

        def connection_made(self, transport: Any) -> None:
            """Begin to wait for the first request."""
            super().connection_made(transport)
            self.loop.call_later(seconds, self._close_unused)

        def _close_unused(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Impatient
