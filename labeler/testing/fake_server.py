"""A real HTTP server on loopback that speaks OpenAI's chat completions and embeddings.

It misbehaves on demand.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from labeler.model import Model, Reply, Request

Fault = Literal["", "hang", "drip", "cut", "refuse"]

HANG_SECONDS = 3600.0
DRIP_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send: a status, a body (a JSON object, or bytes as they are) and headers.

    Faults: `hang` never answers, `drip` sends a byte at a time, `cut` closes the connection in the
    middle of the body, `refuse` closes it without a word. `delay` is in seconds.
    """

    body: Mapping[str, Any] | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    fault: Fault = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request that arrived: when, where, its headers (lower case) and its body."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


Answering = Callable[[Call], Answer | str]


def completion(text: str, **changes: Any) -> dict[str, Any]:
    """The body of a chat completion; `changes` may set `finish_reason`, `refusal`, `model`,
    `logprobs` and `usage`.
    """
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": changes.get("refusal")},
        "finish_reason": changes.get("finish_reason", "stop"),
        "logprobs": changes.get("logprobs"),
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": changes.get("model", "fake-2026"),
        "choices": [choice],
        "usage": changes.get("usage", usage),
    }


def embeddings(texts: Sequence[str], dimensions: int = 8, **changes: Any) -> dict[str, Any]:
    """The body of an answer with embeddings; `changes` may set `model` and `usage`.

    The vector of a text counts its words, each in one of so many buckets, so that texts of the
    same words are close.
    """
    count = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": at, "embedding": _counts(text, dimensions)}
            for at, text in enumerate(texts)
        ],
        "model": changes.get("model", "fake-embeddings-2026"),
        "usage": changes.get("usage", {"prompt_tokens": count, "total_tokens": count}),
    }


def _counts(text: str, dimensions: int) -> list[float]:
    counts = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [text]:
        counts[zlib.crc32(word.encode("utf-8", "surrogatepass")) % dimensions] += 1.0
    return counts


class FakeServer:
    """A server in a thread, to be used in a `with` block.

    `answer` is a text, or a function of the `Call` that gives a text or an `Answer`; it may be
    replaced at any time, and so may `listing`, the answer that lists the models, and `encode`, the
    function that answers for embeddings. `calls` holds every chat completion and all embeddings
    that were asked for.

        with FakeServer('{"grade": 2}') as server:
            model = server_model("fake", server.base_url, "any key")
    """

    def __init__(self, answer: Answering | str = '{"grade": 1}', models: tuple[str, ...] = ()):
        self.answer = answer
        names = models or ("fake",)
        listed = [{"id": name, "object": "model"} for name in names]
        self.listing = Answer({"object": "list", "data": listed})
        self.encode: Callable[[Call], Answer] = lambda call: Answer(embeddings(texts_in(call)))
        self.calls: list[Call] = []
        self.under_way = 0
        self.most_under_way = 0
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """The address to ask the server at, for `base_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._server:
            for listener in self._server.sockets:
                self._loop.remove_reader(listener)
            # what was just accepted begins: a task that is cancelled before leaves its socket open
            await asyncio.sleep(0)
            self._server.close()
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while call := await _read_call(reader):
                if not await self._reply(call, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:  # the server ends: nobody reads what is not sent yet
            writer.transport.abort()
        finally:
            writer.close()

    async def _reply(self, call: Call, writer: asyncio.StreamWriter) -> bool:
        """Answer one call; whether the connection stays open."""
        if call.path.endswith("/models"):
            return await _send(self.listing, writer)
        self.calls.append(call)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            answer = self._answer(call)
            await asyncio.sleep(answer.delay)
            return await _send(answer, writer)
        finally:
            self.under_way -= 1

    def _answer(self, call: Call) -> Answer:
        """The answer to a call; where `answer` itself fails, a 400 that says how."""
        try:
            if call.path.endswith("/embeddings"):
                return self.encode(call)
            reply = self.answer if isinstance(self.answer, str) else self.answer(call)
        except Exception as error:
            return Answer(
                {"error": {"message": f"the fake server's answer failed: {error!r}"}}, 400
            )
        return reply if isinstance(reply, Answer) else Answer(completion(reply))


def texts_in(call: Call) -> list[str]:
    """The texts that embeddings are asked of."""
    given = call.body["input"]
    return [given] if isinstance(given, str) else list(given)


async def _read_call(reader: asyncio.StreamReader) -> Call | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Call(time.monotonic(), first.split(" ")[1], headers, json.loads(raw) if raw else {})


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    if answer.fault == "refuse":
        return False
    if answer.fault == "hang":
        await asyncio.sleep(HANG_SECONDS)
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} Answer", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
    if answer.fault == "drip":
        await _drip(body, writer)
    else:
        writer.write(body[: len(body) // 2] if answer.fault == "cut" else body)
    await writer.drain()
    return answer.fault != "cut"


async def _drip(body: bytes, writer: asyncio.StreamWriter) -> None:
    for byte in body:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(DRIP_SECONDS)


# A model for tests, which answers by a function.


def fake_model(answer: Callable[[Request], str | Reply] | str, identity: str = "fake") -> Model:
    """A model that answers with a text, or with what a function of the request gives.

    The function may raise `CallFailed` or any other error of `labeler.errors`.
    """

    async def ask(request: Request) -> Reply:
        reply = answer if isinstance(answer, str) else answer(request)
        return reply if isinstance(reply, Reply) else Reply(reply, model=identity)

    return Model(identity, ask)
