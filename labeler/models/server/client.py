"""Any server that speaks OpenAI's chat completions, as a model.

One call is one HTTP request: who wants retries, limits or a memory wraps the model in a policy.
OpenAI's own client knows the headers; our own connections send the requests, because building the
client's request and response objects takes longer than all else that a call needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labeler.errors import LabelerError, Misconfigured, NoAnswer, Retryable
from labeler.model import Bound, Model, Reply, Request, whole
from labeler.models.server.answers import read_answer, read_models
from labeler.models.server.first_answer import FirstAnswer, FirstWait
from labeler.models.server.refusals import read_refusal
from labeler.models.server.request_ids import RequestIds
from labeler.wire import addresses
from labeler.wire.addresses import masked, server_address
from labeler.wire.masking import hidden, without_key

if TYPE_CHECKING:
    from labeler.wire.http import HttpAnswer, Wire

CALL_SECONDS = 600.0
CONNECT_SECONDS = 10.0
MUTE_SECONDS = 60.0
"""How long a server may answer nothing at all, at the start."""

STRAY = "an answer came that nobody asked for, so that this one is asked for again"
STRAYED = (
    "the server sent an answer that nobody asked for; from now on each request goes over a "
    "connection of its own"
)
NO_KEY = "none"
"""What is sent where there is no key; servers on one's own machine ask for none."""

CHAT = "chat/completions"

ReadAnswer = Callable[[bytes, str, Mapping[str, str], Bound], Reply]
"""What makes a reply of an answer's body, the server's name, the headers, and when it is bound."""

_JSON = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Calls:
    """How a server is called: `seconds` bounds a whole call, `waiting` is for the first answer."""

    seconds: float = CALL_SECONDS
    waiting: FirstWait = field(default_factory=FirstWait)

    @classmethod
    def watched(cls, seconds: float, note: Callable[[str], None]) -> Calls:
        """Calls that a person waits for, who is told of what takes long."""
        return cls(seconds, FirstWait(note, mute=MUTE_SECONDS))


def server_model(
    name: str,
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    identity: str | None = None,
    seconds: float = CALL_SECONDS,
) -> Model:
    """The model `name` of a server; `seconds` bounds a whole call.

    Address and key default to `OPENAI_BASE_URL` and `OPENAI_API_KEY`. `identity` replaces the
    server's address and the model's name as what replies are remembered under.
    """
    connection = Connected(server_address(base_url), api_key, Calls(seconds))
    return connection.model(name, identity)


def called_model(name: str, base_url: str | None, calls: Calls) -> Model:
    """The model `name` of a server, with the key of `OPENAI_API_KEY`, called as `calls` says."""
    return Connected(server_address(base_url), None, calls).model(name)


async def served_models(base_url: str | None = None, api_key: str | None = None) -> list[str]:
    """The names of the models that a server says it has, sorted."""
    connection = Connected(server_address(base_url), api_key, Calls(CONNECT_SECONDS))
    try:
        return await connection.models()
    finally:
        await connection.close()


async def answers(base_url: str) -> bool:
    """Whether a server at this address answers at all, within a second."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=1.0, trust_env=False) as client:
            response = await client.get(f"{base_url}/models")
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False
    return response.status_code == 200


def request_body(name: str, request: Request) -> dict[str, Any]:
    """What is sent: the model, the messages, the parameters as they are, and the schema."""
    body: dict[str, Any] = {
        "model": name,
        "messages": [{"role": role, "content": content} for role, content in request.messages],
        **request.parameters,
    }
    if request.schema is not None:
        schema = {"name": "reply", "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _checked(key: str) -> str:
    """A key as it can be sent, without the line break that ends the file it came from."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        problem = "the API key holds a character that no header can (a line break, or not ASCII)"
        raise Misconfigured(f"{problem}; see OPENAI_API_KEY")
    return "" if key == NO_KEY else key


class Connected:
    """Connections that are opened when first used, and again after they were closed.

    `path` is what is asked below the address; an answer may have `largest` bytes, where
    that is not 0, which is as many as a chat completion may.
    """

    def __init__(
        self,
        address: str,
        api_key: str | None,
        calls: Calls,
        path: str = CHAT,
        largest: int = 0,
    ) -> None:
        self._path, self._largest = path, largest
        self._address = address
        self._where = masked(address)
        self._calls = calls
        self._ids = RequestIds()
        self._first = FirstAnswer(self._where, calls.waiting, calls.seconds, self._is_there)
        self._key = _checked(api_key or os.environ.get("OPENAI_API_KEY") or "")
        self._wire: Wire | None = None
        self._headers: dict[str, str] = {}

    def model(self, name: str, identity: str | None = None) -> Model:
        """A model of the server, remembered under `identity`, else its address and name."""

        async def ask(request: Request) -> Reply:
            return await self.ask(request_body(name, request))

        model_id = identity or f"{addresses.identity(self._address)} {name}"
        return Model(model_id, ask, close=self.close, is_server=True)

    async def ask(self, body: dict[str, Any], read: ReadAnswer = read_answer) -> Reply:
        """Send one request; neither the reply, which `read` makes of the answer, nor an error holds
        the key, even where the server's words did.
        """
        content = _JSON.encode(body).encode("utf-8", "surrogatepass")
        sent = self._ids.next()
        wire = self._open()
        try:
            headers = {**self._headers, "X-Request-Id": sent}
            answer = await self._first.within(wire.post(headers, content))
            return await self._read(answer, sent, read)
        except LabelerError as problem:
            raise self._without_key(problem) from problem.__cause__

    async def _read(self, answer: HttpAnswer, sent: str, read: ReadAnswer) -> Reply:
        """What an answer means, if it is this request's."""
        received = without_key(answer.body, self._key)
        try:
            if answer.status == 200:
                reply = read(received, self._where, answer.headers, answer.is_bound)
            else:
                reply = read_refusal(answer.status, received, self._where, answer.headers)
        except LabelerError as problem:
            is_final = not isinstance(problem, Retryable)
            if is_final and answer.is_bound is not None and not await answer.is_bound:
                raise NoAnswer(f"{self._where}: {STRAY}") from None
            raise
        self._ids.check_echo(sent, answer.headers, reply.completion_id)
        if answer.status == 200:
            self._ids.check_repeated(reply.completion_id, is_bound=answer.is_bound is None)
        is_complete = reply.is_bound is answer.is_bound  # which nearly all are: a copy takes long
        return reply if is_complete else replace(reply, is_bound=answer.is_bound)

    def _without_key(self, problem: LabelerError) -> LabelerError:
        problem.args = tuple(whole(hidden(str(part), self._key)) for part in problem.args)
        return problem

    def _open(self) -> Wire:
        if self._wire is None:
            self._headers = self._client_headers()
            self._wire = self._wire_to(self._path)
        return self._wire

    def _wire_to(self, what: str, seconds: float | None = None) -> Wire:
        from labeler.wire.http import LARGEST_ANSWER, Wire

        url = self._address.partition("?")
        path = f"{url[0].rstrip('/')}/{what}{url[1]}{url[2]}"
        return Wire(
            path,
            self._where,
            self._calls.seconds if seconds is None else seconds,
            CONNECT_SECONDS,
            lambda: self._calls.waiting.note(f"{self._where}: {STRAYED}"),
            largest=self._largest or LARGEST_ANSWER,
        )

    def _client_headers(self) -> dict[str, str]:
        """The headers of OpenAI's client, which knows what its environment variables ask for."""
        import openai

        # For headers alone: it sends nothing. Of two packages for HTTP it is of the client's own.
        sends_nothing = openai.DefaultAsyncHttpxClient(trust_env=False, verify=False)
        client = openai.AsyncOpenAI(
            base_url=addresses.OPENAI, api_key=self._key or NO_KEY, http_client=sends_nothing
        )
        headers: dict[str, object] = {**client.default_headers, **client.auth_headers}
        return {
            name: value
            for name, value in headers.items()
            if isinstance(value, str) and not name.lower().startswith("x-stainless")
        } | {"Accept-Encoding": "gzip"}  # what is unset is no text but a mark of the client's own

    async def models(self) -> list[str]:
        """The models that the server lists."""
        wire = self._wire_to("models")
        try:
            answer = await wire.get(self._client_headers())
        finally:
            await wire.close()
        received = without_key(answer.body, self._key)
        try:
            if answer.status == 200:
                return read_models(received, self._where)
            read_refusal(answer.status, received, self._where, answer.headers)
        except LabelerError as problem:
            raise self._without_key(problem) from problem.__cause__
        return []

    async def _is_there(self) -> bool:
        """Whether the server answers, with whatever, when it is asked for its models."""
        most = self._calls.waiting.mute or CONNECT_SECONDS
        wire = self._wire_to("models", min(CONNECT_SECONDS, self._calls.seconds, most))
        try:
            await wire.get(self._headers)
        except NoAnswer:
            return False
        finally:
            await wire.close()
        return True

    async def close(self) -> None:
        """Close the connections; the next call opens others."""
        self._first.end()
        if self._wire is not None:
            wire, self._wire = self._wire, None
            await wire.close()
