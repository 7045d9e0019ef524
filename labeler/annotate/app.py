"""The application of one rater's page: its files, and the JSON that it asks for and sends."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labeler.annotate.session import RatingSession, answer_in
from labeler.errors import LabelerError, Misuse, NotCurrent
from labeler.messages import quiet
from labeler.wire.addresses import is_address, is_loopback

# What stands before the page: whom it is served to, and what a browser may do with it.
#
# The address holds a token that nobody can guess. A page of another site could still let a rater's
# browser send requests, under a name that leads to this machine (DNS rebinding) or across sites: so
# `Host` must be an address of this machine and `Origin`, where a browser sends it, the same.

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

    def __init__(self, by_token: Mapping[str, ASGIApp], bound: str = "127.0.0.1") -> None:
        self._by_token = {token.encode(): app for token, app in by_token.items()}
        self._is_open = not is_loopback(bound)
        name = socket.gethostname().lower()
        self._names = {bound.lower(), name, f"{name}.local"} if self._is_open else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with the headers that every answer has."""
        if scope["type"] != "http":
            return
        sent = Headers(scope=scope)  # of one that stands there twice both, which no check takes
        headers = {name: ", ".join(sent.getlist(name)) for name in sent}
        path = scope["path"].split("/", 2)
        app = self._of_token(path[1] if len(path) > 1 else "")
        host = headers.get("host", "")
        answer: ASGIApp
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

    def _of_token(self, token: str) -> ASGIApp | None:
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
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


LARGEST_BODY = 1 << 16
BODY_SECONDS = 20.0
_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
OnBug = Callable[[Exception], None]


class RaterPage:
    """The addresses below a rater's token."""

    def __init__(self, session: RatingSession, on_bug: OnBug = quiet) -> None:
        self._session, self._on_bug = session, on_bug
        self._csrf = secrets.token_urlsafe(32)
        # by name, with the kind of each: no path of a request is ever opened
        self._files = {
            file.name: (file.read_bytes(), _KINDS[kind])
            for file in files("labeler.annotate").joinpath("static").iterdir()
            if (kind := file.name.rpartition(".")[2]) in _KINDS
        }

    def application(self) -> Starlette:
        """The application, to be served behind a `PageGuard`."""
        routes = [
            Route("/", self._static),
            Route("/static/{name}", self._static),
            Route("/api/session", self._about),
            Route("/api/item", self._item),
            Route("/api/answer", self._answer, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
            Route("/api/goto", self._goto, methods=["POST"]),
        ]
        return _application(routes, self._on_bug)

    async def _static(self, request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in self._files:
            raise HTTPException(404, "no such file")
        content, kind = self._files[name]
        return Response(content, media_type=kind)

    async def _about(self, _request: Request) -> Response:
        task, rater = self._session.task, self._session.rater
        about = {"purpose": task.purpose, "sample": task.sample, "rater": rater}
        return JSONResponse({**task.session, **about, "csrf": self._csrf})

    async def _item(self, _request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._session.state))

    async def _answer(self, request: Request) -> Response:
        answer = answer_in(await self._body(request))
        return JSONResponse(await run_in_threadpool(self._session.answer, answer))

    async def _undo(self, request: Request) -> Response:
        await self._body(request)
        return JSONResponse(await run_in_threadpool(self._session.undo))

    async def _goto(self, request: Request) -> Response:
        body = await self._body(request)
        item = body.get("item") if isinstance(body, dict) else ""
        return JSONResponse(await run_in_threadpool(self._session.goto, item))

    async def _body(self, request: Request) -> Any:
        """The JSON of a request that the page itself sent."""
        if not compare_digest(request.headers.get("x-csrf", "").encode(), self._csrf.encode()):
            raise HTTPException(403, "the page is from an earlier start; load it again")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise HTTPException(415, "expected JSON")
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _bounded(request)
        except TimeoutError as error:
            raise HTTPException(408, "the request took too long to arrive") from error
        except ClientDisconnect as error:
            raise HTTPException(400, "the request did not arrive") from error
        try:
            return json.loads(body or b"{}")
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, "not JSON") from error


def live_page(html: Callable[[Sequence[str]], str], policy: str, on_bug: OnBug) -> Starlette:
    """The application of a page that is made anew at each look."""

    async def made(request: Request) -> Response:
        page = await run_in_threadpool(html, request.query_params.getlist("system"))
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    return _application([Route("/", made)], on_bug)


def _application(routes: Sequence[Route], on_bug: OnBug) -> Starlette:
    async def of_bug(_request: Request, error: Exception) -> Response:
        on_bug(error)
        return _problem("this went wrong, and is a bug of labeler; what was kept before stays", 500)

    handlers = {HTTPException: _of_http, LabelerError: _of_labeler, Exception: of_bug}
    app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]  # starlette's type asks for Exception alone
    app.router.redirect_slashes = False
    return app


async def _bounded(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, f"more than {LARGEST_BODY:,} bytes at once")
    return body


def _problem(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": text}, status, headers=headers)


async def _of_http(_request: Request, error: HTTPException) -> Response:
    return _problem(str(error.detail), error.status_code, error.headers)


async def _of_labeler(_request: Request, error: LabelerError) -> Response:
    status = 409 if isinstance(error, NotCurrent) else 400 if isinstance(error, Misuse) else 500
    return _problem(str(error), status)
