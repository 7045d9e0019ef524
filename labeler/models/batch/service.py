"""A server's files and batches, through OpenAI's own client: few calls, of which each is large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import tenacity

from labeler.errors import LabelerError, Misconfigured, NoAnswer, NotFound, ProviderError
from labeler.files.read import file_problems
from labeler.model import Headers, whole
from labeler.models.batch.answers import ENDPOINT
from labeler.models.server.answers import SHOWN, refusal_in
from labeler.models.server.client import CALL_SECONDS, client_headers, wire_format
from labeler.models.settings import AssessorSettings
from labeler.wire.addresses import masked
from labeler.wire.gate import NO_KEY, Admitted
from labeler.wire.masking import hidden

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from labeler.wire.http import Wire

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
    """The files and batches of one server; `where` is its address, fit to be shown."""

    def __init__(self, client: AsyncOpenAI, wire: Wire, server: Admitted, headers: Headers) -> None:
        self._client, self._wire, self.server, self._headers = client, wire, server, headers
        self.where = masked(server.address)

    async def upload(self, path: Path, token: str) -> str:
        """Send a file of requests; its id at the server, where `token` is part of its name."""
        with self._problems("files"), path.open("rb") as content:
            file = (_file_name(token), content)
            return whole((await self._client.files.create(file=file, purpose="batch")).id)

    async def uploaded(self, token: str) -> str:
        """The id of the file that was sent with a token; empty where there is none."""
        with self._problems("files"):
            async for file in self._client.files.list(purpose="batch", limit=1000):
                if file.filename == _file_name(token):
                    return whole(file.id)
        return ""

    async def remove_file(self, file_id: str) -> None:
        """Remove a file from the server; none is missed that is not there."""
        with suppress(NotFound), self._problems("files"):
            await self._client.files.delete(file_id)

    async def begin(self, file_id: str, token: str) -> BatchState | LabelerError:
        """Have a file of requests answered, or why the server will not; `token` finds it again.

        It is asked for once: what was not heard of may have begun all the same.
        """
        import openai

        with self._problems("batches"):
            try:
                batch = await self._client.with_options(max_retries=0).batches.create(
                    input_file_id=file_id,
                    endpoint=ENDPOINT,
                    completion_window=WINDOW,
                    metadata={TOKEN: token},
                )
            except openai.APIStatusError as error:
                if error.status_code >= 500 or error.status_code == 408:
                    raise
                return self._refused(error.status_code, "batches", error.response.content)
            return _state(batch)

    async def state(self, batch_id: str) -> BatchState:
        """How far a batch has come."""
        with self._problems("batches"):
            return _state(await self._client.batches.retrieve(batch_id))

    async def with_token(self, token: str) -> BatchState | None:
        """The batch begun with a token, whose id was not heard; None where there is none."""
        with self._problems("batches"):
            async for batch in self._client.batches.list(limit=100):
                if (batch.metadata or {}).get(TOKEN) == token:
                    return _state(batch)
        return None

    async def cancel(self, batch_id: str) -> BatchState:
        """End a batch; what it has answered stays."""
        with self._problems("batches"):
            return _state(await self._client.batches.cancel(batch_id))

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(NoAnswer),
        stop=tenacity.stop_after_attempt(TRIES),
        reraise=True,
    )
    async def download(self, file_id: str, path: Path, most: int = MOST_ANSWERED) -> None:
        """Write a file of answers to a path, a part at a time; no more than `most` bytes of it."""
        from yarl import URL

        address = self.server.below(f"files/{quote(file_id, safe='')}/content").address
        url, size = URL(address, encoded=True), 0
        async with self._wire.stream(self._headers, CALL_SECONDS, url) as answer:
            if answer.status != 200:
                raise self._refused(answer.status, "files")
            with file_problems(path), path.open("wb") as out:
                async for part in answer.parts:
                    size += len(part)
                    if size > most:
                        raise ProviderError(
                            self._line(f"file {file_id} holds more than {most:,} bytes of answers")
                        )
                    out.write(part)

    @contextmanager
    def _problems(self, what: str) -> Iterator[None]:
        """Turn the client's errors into one line each, without the key.

        The client checks nothing of an answer, so that one of another shape ends in whatever its
        reader meets.
        """
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refused(error.status_code, what, error.response.content) from None
        except openai.OpenAIError as error:
            if isinstance(error.__cause__, LabelerError):
                raise error.__cause__ from None
            raise ProviderError(self._line(f"{type(error).__name__}: {error}")) from None
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            raise ProviderError(
                self._line(f"expected what a server says of its {what}, found something else")
            ) from None

    def _refused(self, code: int, what: str, body: bytes = b"") -> LabelerError:
        words = refusal_in(body).message
        message = f" ({words})" if words else ""
        if 300 <= code < 400:
            return Misconfigured(
                self._line(f"{code}: redirects are not followed; give the last address"),
                parameter="base_url",
            )
        if code in {404, 405, 501}:
            return NotFound(
                self._line(
                    f"{code}: no such batch or file, or the server has no {what} at all{message}"
                ),
                parameter="batch",
            )
        if code in {401, 402, 403}:
            return Misconfigured(self._line(f"{code}: the server refused access{message}"))
        return ProviderError(self._line(f"{code}{message}"))

    def _line(self, problem: str) -> str:
        shown = " ".join(hidden(problem, self.server.key).split())
        return f"{self.where}: {whole(shown)[:SHOWN]}"


@asynccontextmanager
async def batch_service(server: Admitted, tries: int = TRIES) -> AsyncIterator[BatchService]:
    """The files and batches of a server; what may pass is asked for `tries` times more."""
    import openai

    from labeler.wire.http import Wire
    from labeler.wire.openai_transport import client_over

    wire = Wire(server, masked(server.address), CALL_SECONDS)
    headers = client_headers(wire_format(server.address, AssessorSettings(api="chat")), server)
    client = openai.AsyncOpenAI(
        base_url=server.address,
        api_key=server.key or NO_KEY,
        timeout=CALL_SECONDS,
        max_retries=tries,
        http_client=client_over(wire, headers),
    )
    try:
        yield BatchService(client, wire, server, headers)
    finally:
        await client.close()


def _file_name(token: str) -> str:
    return f"{TOKEN}-{token}.jsonl"


def _state(batch: Any) -> BatchState:
    """The state in an answer; `TypeError` and the like of one that says something else."""
    counts = batch.request_counts
    numbers = (counts.completed, counts.failed) if counts else (0, 0)
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("a batch counts its requests")
    files = batch.output_file_id or "", batch.error_file_id or ""
    errors = getattr(batch.errors, "data", None) or []
    problem = "; ".join(filter(None, (error.message for error in errors[:3])))
    status, *words = map(whole, (batch.status, *files, problem[:SHOWN]))
    return BatchState(whole(batch.id), status, *numbers, *words)
