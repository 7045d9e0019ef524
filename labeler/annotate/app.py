"""The application of one rater's page: its files, and the JSON that it asks for and sends."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from hmac import compare_digest
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from labeler.annotate.session import RatingSession
from labeler.annotate.task import answer_in
from labeler.annotate.written import answers_csv
from labeler.errors import LabelerError, Misuse, NotCurrent

LARGEST_BODY = 1 << 16
BODY_SECONDS = 20.0
_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
OnBug = Callable[[Exception], None]


def static_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by name, with the kind of each: no path of a request is ever opened."""
    return {
        file.name: (file.read_bytes(), _KINDS[kind])
        for file in files("labeler.annotate").joinpath("static").iterdir()
        if (kind := file.name.rpartition(".")[2]) in _KINDS
    }


class RaterPage:
    """The addresses below a rater's token."""

    def __init__(self, session: RatingSession, on_bug: OnBug = lambda _error: None) -> None:
        self._session, self._on_bug = session, on_bug
        self._csrf = secrets.token_urlsafe(32)
        self._files = static_files()

    def application(self) -> Starlette:
        """The application, to be served behind a `PageGuard`."""
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._file),
            Route("/api/session", self._about),
            Route("/api/item", self._item),
            Route("/api/export.csv", self._export),
            Route("/api/answer", self._answer, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
            Route("/api/goto", self._goto, methods=["POST"]),
        ]
        handlers = {HTTPException: _of_http, LabelerError: _of_labeler, Exception: self._of_bug}
        app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]  # starlette's type asks for Exception alone
        app.router.redirect_slashes = False
        return app

    async def _page(self, _request: Request) -> Response:
        return self._static("page.html")

    async def _file(self, request: Request) -> Response:
        return self._static(request.path_params["name"])

    def _static(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404, "no such file")
        content, kind = self._files[name]
        return Response(content, media_type=kind)

    async def _about(self, _request: Request) -> Response:
        task = self._session.task
        own = {"task": task.name, "purpose": task.purpose, "sample": task.sample}
        more = {"reveal": task.reveals_assessor, "csrf": self._csrf}
        about = {**own, "rater": self._session.rater, **more}
        return JSONResponse({**task.session, **about})

    async def _item(self, _request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._session.state))

    async def _export(self, _request: Request) -> Response:
        text = await run_in_threadpool(lambda: answers_csv(self._session))
        name = f"{self._session.rater}-{self._session.task.name}.csv"
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=disposition)

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

    async def _of_bug(self, _request: Request, error: Exception) -> Response:
        self._on_bug(error)
        problem = "this went wrong, and is a bug of labeler; what was answered before is kept"
        return _problem(problem, 500)


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
