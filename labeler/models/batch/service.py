"""A server's files and batches: few calls, of which each is large."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import uniform
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from labeler.errors import LabelerError, Misconfigured, NoAnswer, NotFound, ProviderError
from labeler.files.read import file_problems
from labeler.model import whole
from labeler.models.batch.answers import ENDPOINT
from labeler.models.server.answers import SHOWN, refusal_in, retry_after
from labeler.models.server.client import CALL_SECONDS, client_headers, in_json, wire_format
from labeler.models.settings import AssessorSettings
from labeler.wire.addresses import masked
from labeler.wire.gate import Admitted
from labeler.wire.masking import hidden

if TYPE_CHECKING:
    from labeler.wire.http import HttpAnswer, Wire

WINDOW: Final = "24h"
TOKEN = "labeler"
"""The field of a batch's metadata that says which of ours it is."""

TRIES = 4
MOST_ANSWERED = 20_000_000_000
"""The most bytes that any file of answers may have: 50,000 of 400 kB."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class BatchState(NamedTuple):
    """What the server says of a batch.

    `status` is its word: `validating`, `in_progress`, `finalizing`, `cancelling`, or one in which
    it has ended. `completed` and `failed` count requests. `answers` and `errors` are the files of
    what was answered and of what failed, empty where there are none.
    """

    id: str
    status: str
    total: int = 0
    completed: int = 0
    failed: int = 0
    answers: str = ""
    errors: str = ""
    problem: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ENDED


class BatchService:
    """The files and batches of one server; `where` is its address, fit to be shown.

    What got no answer, or one that may pass, is asked for `tries` times more.
    """

    def __init__(self, wire: Wire, server: Admitted, tries: int) -> None:
        self._wire, self.server, self._tries = wire, server, tries
        self.where = masked(server.address)
        form = wire_format(server.address, AssessorSettings(api="chat"))
        self._headers = client_headers(form, server)

    async def upload(self, path: Path, token: str) -> str:
        """Send a file of requests; its id at the server, where `token` is part of its name."""

        async def send() -> HttpAnswer:
            with path.open("rb") as file:
                form = file_form(file, _file_name(token), purpose="batch")
                return await self._wire.send("POST", headers, form, self._url("files"))

        from labeler.wire.http import file_form

        headers = {n: value for n, value in self._headers.items() if n != "Content-Type"}
        with self._reading("files"):
            return whole((await self._again("files", send))["id"])

    async def uploaded(self, token: str) -> str:
        """The id of the file that was sent with a token; empty where there is none."""
        with self._reading("files"):
            async for file in self._listed("files", purpose="batch", limit="1000"):
                if file["filename"] == _file_name(token):
                    return whole(file["id"])
        return ""

    async def remove_file(self, file_id: str) -> None:
        """Remove a file from the server; none is missed that is not there."""
        with suppress(NotFound), self._reading("files"):
            await self._ask("DELETE", f"files/{quote(file_id, safe='')}")

    async def begin(self, file_id: str, token: str) -> BatchState | LabelerError:
        """Have a file of requests answered, or why the server will not; `token` finds it again.

        It is asked for once: what was not heard of may have begun all the same.
        """
        asked = {
            "input_file_id": file_id,
            "endpoint": ENDPOINT,
            "completion_window": WINDOW,
            "metadata": {TOKEN: token},
        }
        answer = await self._wire.send("POST", self._headers, in_json(asked), self._url("batches"))
        if 200 <= answer.status < 300:
            with self._reading("batches"):
                return _state(json.loads(answer.body))
        refusal = self._refused(answer.status, "batches", answer.body)
        if answer.status >= 500 or answer.status == 408:
            raise refusal
        return refusal

    async def state(self, batch_id: str) -> BatchState:
        """How far a batch has come."""
        with self._reading("batches"):
            return _state(await self._ask("GET", f"batches/{quote(batch_id, safe='')}"))

    async def with_token(self, token: str) -> BatchState | None:
        """The batch begun with a token, whose id was not heard; None where there is none."""
        with self._reading("batches"):
            async for batch in self._listed("batches", limit="100"):
                if (batch["metadata"] or {}).get(TOKEN) == token:
                    return _state(batch)
        return None

    async def cancel(self, batch_id: str) -> BatchState:
        """End a batch; what it has answered stays."""
        with self._reading("batches"):
            return _state(await self._ask("POST", f"batches/{quote(batch_id, safe='')}/cancel"))

    async def download(self, file_id: str, path: Path, most: int = MOST_ANSWERED) -> None:
        """Write a file of answers to a path, a part at a time; no more than `most` bytes of it."""
        for _ in range(TRIES - 1):
            with suppress(NoAnswer):
                return await self._copy(file_id, path, most)
        return await self._copy(file_id, path, most)

    async def _copy(self, file_id: str, path: Path, most: int) -> None:
        url, size = self._url(f"files/{quote(file_id, safe='')}/content"), 0
        async with self._wire.stream(self._headers, CALL_SECONDS, url) as answer:
            if answer.status != 200:
                raise self._refused(answer.status, "files")
            with file_problems(path), path.open("wb") as out:
                async for part in answer.parts:
                    size += len(part)
                    if size > most:
                        problem = f"file {file_id} holds more than {most:,} bytes of answers"
                        raise ProviderError(self._line(problem))
                    out.write(part)

    async def _listed(self, what: str, **query: str) -> AsyncIterator[Any]:
        """All of a list, which comes a page at a time."""
        while True:
            page = await self._ask("GET", what, **query)
            for row in page["data"]:
                yield row
            if not (page.get("has_more") and page["data"]):
                return
            query["after"] = page["data"][-1]["id"]

    async def _ask(self, method: str, path: str, **query: str) -> Any:
        send = partial(self._wire.send, method, self._headers, None, self._url(path, **query))
        return await self._again(path.partition("/")[0], send)

    async def _again(self, what: str, send: Callable[[], Awaitable[HttpAnswer]]) -> Any:
        """What the server says, asked again where it may pass; None where it says nothing."""
        for tried in count():
            pause, is_last = uniform(0.0, min(8.0, 0.5 * 2**tried)), tried == self._tries
            try:
                answer = await send()
            except NoAnswer:
                if is_last:
                    raise
            else:
                if is_last or not (answer.status in {408, 409, 429} or answer.status >= 500):
                    break
                pause += retry_after(answer.headers) or 0.0
            await asyncio.sleep(pause)
        if not 200 <= answer.status < 300:
            raise self._refused(answer.status, what, answer.body)
        return json.loads(answer.body or b"null")

    def _url(self, path: str, **query: str) -> Any:
        from yarl import URL

        return URL(self.server.below(path).address, encoded=True).update_query(query)

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn what a reader meets in an answer of another shape into one line."""
        try:
            yield
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            problem = f"expected what a server says of its {what}, found something else"
            raise ProviderError(self._line(problem)) from None

    def _refused(self, code: int, what: str, body: bytes = b"") -> LabelerError:
        words = refusal_in(body).message
        message = f" ({words})" if words else ""
        if 300 <= code < 400:
            problem = f"{code}: redirects are not followed; give the last address"
            return Misconfigured(self._line(problem), parameter="base_url")
        if code in {404, 405, 501}:
            problem = f"{code}: no such batch or file, or the server has no {what} at all"
            return NotFound(self._line(f"{problem}{message}"), parameter="batch")
        if code in {401, 402, 403}:
            return Misconfigured(self._line(f"{code}: the server refused access{message}"))
        return ProviderError(self._line(f"{code}{message}"))

    def _line(self, problem: str) -> str:
        shown = " ".join(hidden(problem, self.server.key).split())
        return f"{self.where}: {whole(shown)[:SHOWN]}"


@asynccontextmanager
async def batch_service(server: Admitted, tries: int = TRIES) -> AsyncIterator[BatchService]:
    """The files and batches of a server; what may pass is asked for `tries` times more."""
    from labeler.wire.http import Wire

    wire = Wire(server, masked(server.address), CALL_SECONDS)
    try:
        yield BatchService(wire, server, tries)
    finally:
        await wire.close()


def _file_name(token: str) -> str:
    return f"{TOKEN}-{token}.jsonl"


def _state(batch: Any) -> BatchState:
    """The state in an answer; `TypeError` and the like of one that says something else."""
    counts = batch.get("request_counts") or {}
    total, completed, failed = (counts.get(name) or 0 for name in ("total", "completed", "failed"))
    if not all(type(number) is int and number >= 0 for number in (total, completed, failed)):
        raise TypeError("a batch counts its requests")
    files = (batch.get(name) or "" for name in ("output_file_id", "error_file_id"))
    errors = (batch.get("errors") or {}).get("data") or []
    problem = "; ".join(filter(None, (error.get("message") for error in errors[:3])))
    status, *words = map(whole, (batch["status"], *files, problem[:SHOWN]))
    return BatchState(whole(batch["id"]), status, total, completed, failed, *words)
