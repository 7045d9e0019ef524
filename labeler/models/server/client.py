"""Any server of models, as a model: one that speaks chat completions or another wire format.

One call is one HTTP request: who wants retries, limits or a memory wraps the model in a policy.
Our own connections send the requests, because building the request and response objects of OpenAI's
client takes longer than all else that a call needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labeler import __version__
from labeler.errors import LabelerError, Misconfigured, NoAnswer, Retryable
from labeler.model import Bound, Model, Reply, Request, whole
from labeler.models.server.answers import read_answer, read_models
from labeler.models.server.dialects import WireFormat, wire_format
from labeler.models.server.first_answer import FirstAnswer, FirstWait
from labeler.models.server.refusals import read_refusal
from labeler.models.server.request_ids import RequestIds
from labeler.models.settings import AssessorSettings
from labeler.wire import addresses
from labeler.wire.addresses import masked, server_address
from labeler.wire.gate import NO_KEY, USUAL, Admitted, admit, named
from labeler.wire.masking import hidden, without_key
from labeler.wire.places import Place

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

ReadAnswer = Callable[[bytes, str, Mapping[str, str], Bound], Reply]
"""What makes a reply of an answer's body, the server's name, the headers, and when it is bound."""

OF_OPENAI: Mapping[str, str] = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
}
"""Headers that name an account at OpenAI, and go to OpenAI alone, with their variables."""

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


def server_model(  # noqa: PLR0913  all that is said of a server, in one call
    name: str,
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    identity: str | None = None,
    seconds: float = CALL_SECONDS,
    settings: AssessorSettings | None = None,
) -> Model:
    """The model `name` of a server; `seconds` bounds a whole call.

    Address and key default to `OPENAI_BASE_URL` and `OPENAI_API_KEY`. `identity` replaces the
    server's address and the model's name as what replies are remembered under. `settings` may say
    in which wire format it is asked, and with which headers; else the address does.
    """
    server = place_of(base_url, api_key)
    form = wire_format(server.address, settings)
    return Connected(form, server, Calls(seconds)).model(name, identity)


def called_model(
    name: str, server: Admitted, calls: Calls, settings: AssessorSettings | None = None
) -> Model:
    """The model `name` of a server that was admitted, called as `calls` says."""
    settings = settings or AssessorSettings()
    form = wire_format(server.address, settings)
    form.body(name, Request((), settings.parameters))  # which refuses what cannot be said
    return Connected(form, server, calls).model(name)


def place_of(base_url: str | None, api_key: str | None) -> Admitted:
    """A server that the caller names, with the key given, else with the one that goes there."""
    return named(server_address(base_url), api_key) if api_key else admit(base_url)


async def served_models(base_url: str | None = None, api_key: str | None = None) -> list[str]:
    """The names of the models that a server says it has, sorted."""
    return await models_of(place_of(base_url, api_key))


async def models_of(server: Admitted) -> list[str]:
    """The names of the models that an admitted server says it has, sorted."""
    connection = Connected(wire_format(server.address), server, Calls(CONNECT_SECONDS))
    try:
        return await connection.models()
    finally:
        await connection.close()


async def answers(base_url: str) -> bool:
    """Whether a server at this address answers at all, within a second."""
    from labeler.wire.http import Wire

    try:
        address = server_address(f"{base_url}/models")
    except Misconfigured:
        return False
    wire = Wire(named(address), address, 1.0, 1.0)
    try:
        return (await wire.get({})).status == 200
    except NoAnswer:
        return False
    finally:
        await wire.close()


def request_body(name: str, request: Request) -> dict[str, Any]:
    """What is sent to OpenAI's chat completions, as in its batches."""
    return wire_format(addresses.OPENAI).body(name, request)


def is_openai(address: str) -> bool:
    """Whether an address is OpenAI's own."""
    return Place.of(address).variables == (USUAL,)


class Connected:
    """Connections that are opened when first used, and again after they were closed.

    `form` says where and how it is asked; an answer may have `largest` bytes, where that is not 0,
    which is as many as a completion may.
    """

    def __init__(
        self,
        form: WireFormat,
        server: Admitted,
        calls: Calls,
        largest: int = 0,
    ) -> None:
        self._form, self._largest = form, largest
        self._server = replace(server, address=form.address)
        self._where = masked(form.address)
        self._calls = calls
        self._ids = RequestIds()
        self._first = FirstAnswer(self._where, calls.waiting, calls.seconds, self._is_there)
        self._key = server.key
        self._wire: Wire | None = None
        self._headers: dict[str, str] = {}

    def model(self, name: str, identity: str | None = None) -> Model:
        """A model of the server, remembered under `identity`, else its address and name."""

        async def ask(request: Request) -> Reply:
            return await self.ask(self._form.body(name, request))

        where = addresses.identity(self._form.address)
        model_id = identity or f"{where} {name}{self._form.identity}"
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
            self._wire = self._wire_to(self._form.words["path"])
        return self._wire

    def _wire_to(self, what: str, seconds: float | None = None) -> Wire:
        from labeler.wire.http import LARGEST_ANSWER, Wire

        return Wire(
            self._server.below(what),
            self._where,
            self._calls.seconds if seconds is None else seconds,
            CONNECT_SECONDS,
            lambda: self._calls.waiting.note(f"{self._where}: {STRAYED}"),
            largest=self._largest or LARGEST_ANSWER,
        )

    def _client_headers(self) -> dict[str, str]:
        """The headers of each request."""
        account = OF_OPENAI if is_openai(self._server.address) else {}
        named_in_environment = {header: os.environ.get(name) for header, name in account.items()}
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"labeler/{__version__}",
            "Accept-Encoding": "gzip",
            **{header: value for header, value in named_in_environment.items() if value},
            **self._form.headers(self._key or NO_KEY),
        }

    async def models(self) -> list[str]:
        """The models that the server lists."""
        wire = self._wire_to(self._form.words["models"])
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
        wire = self._wire_to(
            self._form.words["models"], min(CONNECT_SECONDS, self._calls.seconds, most)
        )
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
