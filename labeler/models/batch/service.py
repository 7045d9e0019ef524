"""A server's files and batches, through OpenAI's own client: few calls, of which each is large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from labeler.errors import LabelerError, Misconfigured, NoAnswer, NotFound, ProviderError
from labeler.files.read import file_problems
from labeler.model import whole
from labeler.models.batch.answers import ENDPOINT
from labeler.models.server.client import CONNECT_SECONDS, OF_OPENAI, is_openai
from labeler.wire.addresses import masked
from labeler.wire.gate import NO_KEY, Admitted
from labeler.wire.masking import hidden

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from labeler.wire.http import Wire

WINDOW: Final = "24h"
TOKEN = "labeler"
"""The field of a batch's metadata that says which of ours it is."""

CALL_SECONDS = 600.0
TRIES = 4
SHOWN = 300
MOST_ANSWERED = 20_000_000_000
"""The most bytes that any file of answers may have: 50,000 of 400 kB."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class BatchState:
    """What the server says of a batch.

    `status` is its word: `validating`, `in_progress`, `finalizing`, `cancelling`, or one in which
    it has ended. `completed` and `failed` count requests. `answers` and `errors` are the files of
    what was answered and of what failed, as far as there are any.
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
    def files(self) -> tuple[str, ...]:
        """The files of answers and of errors that there are."""
        return tuple(filter(None, (self.answers, self.errors)))

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ENDED


class BatchService:
    """The files and batches of one server; `where` is its address, fit to be shown."""

    def __init__(self, client: AsyncOpenAI, wire: Wire, server: Admitted) -> None:
        self._client, self._wire, self.server = client, wire, server
        self.where = masked(server.address)

    async def upload(self, path: Path, token: str) -> str:
        """Send a file of requests; its id at the server, where `token` is part of its name."""
        with self._problems("files"), path.open("rb") as content:
            named = (_file_name(token), content)
            sent = await self._client.files.create(file=named, purpose="batch")
        return str(sent.id)

    async def uploaded(self, token: str) -> str:
        """The id of the file that was sent with a token; empty where there is none."""
        with self._problems("files"):
            async for file in self._client.files.list(purpose="batch", limit=1000):
                if file.filename == _file_name(token):
                    return str(file.id)
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

        try:
            return await self._begin(file_id, token)
        except openai.APIStatusError as error:
            refusal = self._refusal(error, "batches")
            if error.status_code >= 500 or error.status_code == 408:
                raise refusal from None
            return refusal

    async def _begin(self, file_id: str, token: str) -> BatchState:
        with self._problems("batches", refusals=False):
            batch = await self._client.with_options(max_retries=0).batches.create(
                input_file_id=file_id,
                endpoint=ENDPOINT,
                completion_window=WINDOW,
                metadata={TOKEN: token},
            )
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

    async def download(self, file_id: str, path: Path, most: int = MOST_ANSWERED) -> None:
        """Write a file of answers to a path, a part at a time; no more than `most` bytes of it."""
        for _ in range(TRIES - 1):
            with suppress(NoAnswer):
                return await self._copy(file_id, path, most)
        return await self._copy(file_id, path, most)

    async def _copy(self, file_id: str, path: Path, most: int) -> None:
        from yarl import URL

        address = self.server.below(f"files/{quote(file_id, safe='')}/content").address
        headers = {
            "Authorization": f"Bearer {self.server.key or NO_KEY}",
            "Accept-Encoding": "gzip",
        }
        url, size = URL(address, encoded=True), 0
        async with self._wire.stream(headers, CALL_SECONDS, url) as answer:
            if answer.status != 200:
                raise self._refused(answer.status, "", "files")
            with file_problems(path), path.open("wb") as out:
                async for part in answer.parts:
                    size += len(part)
                    if size > most:
                        problem = f"file {file_id} holds more than {most:,} bytes of answers"
                        raise ProviderError(self._line(problem))
                    out.write(part)

    @contextmanager
    def _problems(self, what: str, *, refusals: bool = True) -> Iterator[None]:
        """Turn the client's errors into one line each, without the key.

        The client checks nothing of an answer, so that one of another shape ends in whatever its
        reader meets.
        """
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if not refusals:
                raise
            raise self._refusal(error, what) from None
        except openai.OpenAIError as error:
            reason = error.__cause__ if isinstance(error.__cause__, LabelerError) else error
            raise ProviderError(self._line(f"{type(reason).__name__}: {reason}")) from None
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            problem = f"expected what a server says of its {what}, found something else"
            raise ProviderError(self._line(problem)) from None

    def _refusal(self, error: Any, what: str) -> LabelerError:
        return self._refused(error.status_code, f" ({error.message})", what)

    def _refused(self, code: int, message: str, what: str) -> LabelerError:
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
    """The files and batches of a server; what got no answer is asked for `tries` times more."""
    import openai

    from labeler.wire.http import Wire
    from labeler.wire.openai_transport import client_over

    shown = masked(server.address)
    wire = Wire(server, shown, CALL_SECONDS, CONNECT_SECONDS)
    left_out = () if is_openai(server.address) else tuple(OF_OPENAI)
    client = openai.AsyncOpenAI(
        base_url=server.address,
        api_key=server.key or NO_KEY,
        timeout=CALL_SECONDS,
        max_retries=tries,
        http_client=client_over(wire, left_out),
    )
    try:
        yield BatchService(client, wire, server)
    finally:
        await client.close()


def _file_name(token: str) -> str:
    return f"{TOKEN}-{token}.jsonl"


def _state(batch: Any) -> BatchState:
    """The state in an answer; `TypeError` of one that says something else."""
    counts = batch.request_counts
    numbers = (counts.total, counts.completed, counts.failed) if counts else (0, 0, 0)
    files = batch.output_file_id or "", batch.error_file_id or ""
    errors = getattr(batch.errors, "data", None) or []
    problem = "; ".join(filter(None, (str(error.message or "") for error in errors[:3])))
    words = tuple(map(whole, (batch.id, batch.status, *files, problem[:SHOWN])))
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("a batch counts its requests")
    total, completed, failed = numbers
    return BatchState(words[0], words[1], total, completed, failed, *words[2:])
