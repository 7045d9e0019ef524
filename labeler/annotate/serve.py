"""Serving pages: a socket that is bound, a server on a thread of its own, and its clean end."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from labeler.annotate.session import RatingSession
from labeler.errors import Misuse
from labeler.files.boundary import needing
from labeler.messages import missing_extra, quiet
from labeler.options import PORT, option

BACKLOG = 256


SERVER = "Server"


@dataclass(frozen=True)
class ServeOptions:
    """Where pages are served: a `port` of 0 is any that is free.

    A browser is opened where a person sits at a terminal, unless `no_browser` is set.
    """

    host: str = option("127.0.0.1", "The address to listen at.", panel=SERVER, rare=True)
    port: int = option(0, "The port; 0 is any that is free.", PORT, panel=SERVER)
    no_browser: bool = option(False, "Open no browser.", panel=SERVER, rare=True)


@dataclass(frozen=True)
class LivePage:
    """A page that is made anew at each look, and what a browser may do with it.

    It is made of the names of systems that its reader asks for; of none at first.
    """

    html: Callable[[Sequence[str]], str]
    policy: str


@dataclass(frozen=True)
class PageServer:
    """A server that runs: the address of each session's page, in their order."""

    addresses: Sequence[str]
    _ended: threading.Event

    def wait(self) -> None:
        """Wait until the server ends, which a signal to this process interrupts."""
        while not self._ended.wait(0.5):
            pass


def check_installed() -> None:
    """Raise `Misconfigured` where the extra that serves pages is missing."""
    with needing(missing_extra("annotate", "serving pages needs")):
        import starlette
        import uvicorn
    del starlette, uvicorn


@contextmanager
def served(
    sessions: Sequence[RatingSession | LivePage],
    options: ServeOptions,
    on_bug: Any = quiet,
) -> Iterator[PageServer]:
    """Serve a page for each session while the block runs, each under an address of its own.

    `on_bug` is given exceptions that nobody expected. Raises `Misconfigured` where the extra is
    missing, `Misuse` where the port is in use.
    """
    check_installed()
    import uvicorn

    from labeler.annotate.app import PageGuard, RaterPage, live_page

    tokens = [secrets.token_urlsafe(24) for _ in sessions]
    pages = (
        live_page(session.html, session.policy, on_bug)
        if isinstance(session, LivePage)
        else RaterPage(session, on_bug).application()
        for session in sessions
    )
    guard = PageGuard(dict(zip(tokens, pages, strict=True)), options.host)
    listening = _listening(options.host, options.port)
    config = uvicorn.Config(
        guard,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # what clients send wrong is no news for the terminal
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    server, ended = uvicorn.Server(config), threading.Event()

    def serve() -> None:
        try:
            asyncio.run(server.serve([listening]))
        finally:
            ended.set()

    # Not a join: a signal that interrupts one lets Python 3.11 take the thread for ended.
    threading.Thread(target=serve, name="annotate", daemon=True).start()
    try:
        while not server.started and not ended.wait(0.005):
            pass
        yield PageServer(tuple(_address(listening, options.host, token) for token in tokens), ended)
    finally:
        server.should_exit = True
        ended.wait()
        listening.close()


def _address(listening: socket.socket, host: str, token: str) -> str:
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{listening.getsockname()[1]}/{token}/"


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise Misuse(f"{host!r} is no address of this machine", parameter="host") from error
    try:
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in _NOT_OURS:
            raise Misuse(f"{host!r} is no address of this machine", parameter="host") from error
        raise Misuse(
            f"cannot listen on port {port} of {host} ({reason.lower()}); 0 takes any that is free",
            parameter="port",
        ) from error


_NOT_OURS = (99, 49, 10049)
"""EADDRNOTAVAIL on Linux, macOS and Windows."""
