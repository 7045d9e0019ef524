"""What stands before the page: whom it is served to, and what a browser may do with it.

The address holds a token that nobody can guess. A page of another site could still let a rater's
browser send requests, under a name that leads to this machine (DNS rebinding) or across sites: so
`Host` must be an address of this machine and `Origin`, where a browser sends it, the same.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse, RedirectResponse

from labeler.annotate.hosts import is_address, is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")


class PageGuard:
    """An application for each token, behind checks of where a request comes from.

    `bound` is the host that the server listens at.
    """

    def __init__(self, by_token: Mapping[str, Application], bound: str = "127.0.0.1") -> None:
        self._by_token = {token.encode(): app for token, app in by_token.items()}
        self._is_open = not is_loopback(bound)
        name = socket.gethostname().lower()
        self._names = {bound.lower(), name, f"{name}.local"} if self._is_open else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with the headers that every answer has."""
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        path = scope["path"].split("/", 2)
        app = self._of_token(path[1] if len(path) > 1 else "")
        host = headers.get("host", "")
        answer: Application
        if not self._is_own(host):
            problem = f"this is not the address of the page: {host[:80]!r}"
            answer = JSONResponse({"error": problem}, 421)
        elif not _is_same_origin(scope["method"], headers, host):
            answer = JSONResponse({"error": "this came from a page of another address"}, 403)
        elif app is None:
            problem = "no such page; open the address that the command printed"
            answer = JSONResponse({"error": problem}, 404)
        elif len(path) < 3:
            answer = RedirectResponse(f"{path[1]}/", 307)
        else:
            scope = {**scope, "path": f"/{path[2]}", "raw_path": None, "root_path": ""}
            answer = app
        await answer(scope, receive, _with_headers(send))

    def _of_token(self, token: str) -> Application | None:
        """The application of a token, compared with each in the same time whatever it is."""
        own, app = token.encode("utf-8", "surrogatepass"), None
        for known_token, its_app in self._by_token.items():
            app = its_app if compare_digest(known_token, own) else app
        return app

    def _is_own(self, host: str) -> bool:
        """Whether the header names this machine: what cannot be a foreign name that leads here.

        On loopback it must say so. Elsewhere it may be any address in digits, which no foreign
        name can be, or this machine's name. Any port will do, as it is another behind a tunnel.
        """
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        return (
            name == "localhost"
            or is_loopback(name)
            or (self._is_open and (name in self._names or is_address(name)))
        )


def _headers(scope: Scope) -> dict[str, str]:
    """The request's headers; of one that stands there twice, both, which no check takes."""
    headers: dict[str, str] = {}
    for raw_name, raw in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _is_same_origin(method: str, headers: Mapping[str, str], host: str) -> bool:
    """Whether a request comes from the page itself, or from a person's click on its address.

    What changes something must say that it comes from the page, as every browser does.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if method in ("GET", "HEAD"):
        return origin is None or _is_of(origin, host)
    if origin is None or origin == "null":
        return site == "same-origin"
    return _is_of(origin, host) and site in (None, "same-origin")


def _is_of(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # as of a bracket that is left open
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *own]}
        await send(message)

    return sending
