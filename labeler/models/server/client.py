"""Any server of models, as a model: one that speaks chat completions or another wire format.

One call is one HTTP request: who wants retries, limits or a memory wraps the model in a policy.
Our own connections send the requests, because building the request and response objects of OpenAI's
client takes longer than all else that a call needs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import tomllib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic_core import to_json

from labeler import __version__
from labeler.errors import LabelerError, Misconfigured, NoAnswer, Retryable
from labeler.messages import Note
from labeler.model import Bound, Headers, JsonObject, Model, OncePerPart, Reply, Request, whole
from labeler.models.cost import sizes_of
from labeler.models.server.answers import read_models, read_reply
from labeler.models.settings import AssessorSettings
from labeler.wire import addresses
from labeler.wire.addresses import Place, masked, server_address
from labeler.wire.gate import NO_KEY, USUAL, Admitted, admit, named
from labeler.wire.masking import hidden, without_key

if TYPE_CHECKING:
    from labeler.wire.http import HttpAnswer, Wire

# What is sent to a server, in its own words: where to, with which headers, and the body.
#
# The words stand in `servers.toml`. A request's parameters have the names of chat completions, and
# `reasoning_effort`, `thinking` and `body`, which is merged into what is sent as it is.

_WAYS = ("reasoning_effort", "on", "off", "budget")
_LEAST_CONTEXT, _USUAL_REPLY = 8192, 1024
"""Tokens that Ollama is told to make room for."""


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How a server is asked: `words` say what is sent for what is declared, below `address`."""

    api: str
    server: str
    address: str
    words: JsonObject
    more_headers: Headers = field(default_factory=dict, repr=False)
    context: int | None = None
    shared: OncePerPart[dict[str, Any]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared", OncePerPart(self.of_all))

    @property
    def identity(self) -> str:
        """What answers depend on beside the address, the model and the request; often nothing."""
        context = self.context if "context" in self.words else None
        if self.api == "chat" and not self.more_headers:
            return ""
        text = json.dumps([sorted(self.more_headers.items()), context])
        return f" {self.api}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and those that were declared."""
        return {**_filled(self.words["headers"], key), **self.more_headers}

    def body(self, name: str, request: Request) -> dict[str, Any]:
        """What is sent for a request to the model `name`."""
        shared = self.shared.of(request.parameters, request.schema)
        return merged(self._of_one(name, request), shared)

    def _of_one(self, name: str, request: Request) -> dict[str, Any]:
        """What is sent for a request alone."""
        turns = [{"role": role, "content": content} for role, content in request.messages]
        declared = dict[str, Any]()
        if "system" in self.words:
            declared["system"] = "\n\n".join(t["content"] for t in turns if t["role"] == "system")
            turns = [turn for turn in turns if turn["role"] != "system"]
        if "context" in self.words:
            likely = sizes_of(request).about
            room = likely.times(1.5).inside + (likely.outside or _USUAL_REPLY)
            declared["context"] = self.context or max(_LEAST_CONTEXT, 1 << room.bit_length())
        body = {"model": name, **_filled(self.words["turns"], turns)}
        for what, value in declared.items():
            body = merged(body, self._sent_for(what, value))
        return body

    def of_all(self, asked_with: JsonObject, schema: JsonObject | None) -> dict[str, Any]:
        """What is sent for parameters and a schema."""
        parameters = dict(asked_with)
        more, thinking = parameters.pop("body", {}), parameters.pop("thinking", None)
        budget = thinking if type(thinking) is int else 0
        way = "budget" if budget else "on" if thinking else "off"
        declared = parameters if thinking is None else {way: thinking, **parameters}
        if schema is not None:
            declared["schema"] = dict(schema)
        body = dict[str, Any]()
        for what, value in declared.items():
            if what in self.words or what in _WAYS:
                body = merged(body, self._sent_for(what, value))
            elif self.api == "chat":
                body[what] = value
        if budget >= body.get("max_tokens", budget + 1):  # which has to be more than the thoughts
            body["max_tokens"] += budget
        return merged(body, more)

    def _sent_for(self, what: str, value: object) -> dict[str, Any]:
        """What is sent for something that is declared; nothing for an empty text."""
        if what not in self.words:
            ways = ", ".join(way for way in _WAYS if way in self.words) or "nothing"
            raise Misconfigured(
                f"{self.server}: thoughts are not set by {what} in {self.api}, but by: {ways}; "
                "or give its own words in body",
                parameter="thinking",
            )
        return {} if value == "" else _filled(self.words[what], value)


def wire_format(address: str, settings: AssessorSettings | None = None) -> WireFormat:
    """How the server at an address is asked: as declared, else as its address says."""
    settings = settings or AssessorSettings()
    base, mark, query = address.partition("?")
    host = urlsplit(base).netloc.lower()
    server = next(s for s in _tables()["server"] if host.endswith(tuple(s["hosts"])))
    is_compatible = server["name"] == "Ollama" and base.endswith("/v1")
    api = settings.api or ("chat" if is_compatible else server.get("api", "chat"))
    words = _tables()["api"][api]
    words = {**words, **{n: server[n] for n in server if api == "chat" or n == "headers"}}
    address = base.rstrip("/").removesuffix(words.get("ending", "?")) + mark + query
    return WireFormat(api, server["name"], address, words, settings.headers, settings.context)


@cache
def _tables() -> dict[str, Any]:
    """What is known of wire formats and of servers."""
    return tomllib.loads(Path(__file__).with_name("servers.toml").read_text(encoding="utf-8"))


def _filled(template: Any, value: Any) -> Any:
    """A template with the value in its place."""
    if isinstance(template, dict):
        return {name: _filled(part, value) for name, part in template.items()}
    if isinstance(template, list):
        return [_filled(part, value) for part in template]
    if isinstance(template, str) and isinstance(value, str):
        return template.replace("$", value)
    return value if template == "$" else template


def merged(body: JsonObject, more: JsonObject) -> dict[str, Any]:
    """A body with more in it; where both have an object under a name, these become one."""
    both = {n for n, value in more.items() if isinstance(value, dict) and n in body}
    return {**body, **more, **{n: merged(body[n], more[n]) for n in both}}


# Whether a server that has answered nothing yet is slow or mute.
#
# A server that loads its model for minutes still answers other requests meanwhile; one that takes
# connections and answers nothing at all will not answer the call either. So a first call that stays
# without an answer is followed by a question that costs nothing: which models there are.

T = TypeVar("T")

IsThere = Callable[[], Awaitable[bool]]
"""Whether a server answers another request, with whatever."""


CALL_SECONDS = 600.0
CONNECT_SECONDS = 10.0
MUTE_SECONDS = 60.0
"""How long a server may answer nothing at all, at the start."""


class Calls(NamedTuple):
    """How a server is called: `seconds` bounds a whole call.

    `note` is told after `quiet` seconds without any first answer; after `mute` the wait ends, where
    nothing else is answered either. With None it goes on without a look.
    """

    seconds: float = CALL_SECONDS
    note: Note = lambda _message: None
    quiet: float = 10.0
    mute: float | None = None


class FirstAnswer:
    """The wait for a server's first answer."""

    def __init__(self, where: str, calls: Calls, is_there: IsThere) -> None:
        self._where, self._calls, self._is_there = where, calls, is_there
        self._came = calls.mute is None
        self._look: asyncio.Task[bool] | None = None

    def within(self, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """What a call gives; `NoAnswer` once the server is known to be mute."""
        return call if self._came else self._watched(call)

    async def _watched(self, call: Coroutine[Any, Any, T]) -> T:
        if self._look is None:
            self._look = asyncio.create_task(self._looked())
        look, task = self._look, asyncio.create_task(call)
        try:
            await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and not look.cancelled() and not look.result():
                raise NoAnswer(f"{self._where}: takes connections, and answers nothing")
            result = await task
        finally:
            task.cancel()
        self._came = True
        self.end()
        return result

    def end(self) -> None:
        """Look no longer."""
        if self._look is not None:
            self._look.cancel()
            self._look = None

    async def _looked(self) -> bool:
        """Whether the server turns out to be there."""
        quiet, most = self._calls.quiet, min(self._calls.mute or 0.0, self._calls.seconds)
        now = asyncio.get_running_loop().time
        began = now()
        await asyncio.sleep(quiet)
        self._note(f"no answer to the first call after {quiet:g} s; waiting up to {most:g} s")
        while not await self._is_there():
            if now() - began >= most:
                self._look = None
                return False
            await asyncio.sleep(min(1.0, quiet))
        self._note(
            "it does answer another request, so waiting for the call up to "
            f"{self._calls.seconds:g} s"
        )
        return True

    def _note(self, what: str) -> None:
        self._calls.note(f"{self._where}: {what}")


# What an answer itself says about which request it belongs to: ids, where servers give them.
#
# Each call carries an id of ours as `X-Request-Id`; vLLM and others give it back, in a header or as
# the completion's id. And most servers give each completion an id of its own, so that one that came
# before is another request's answer. Some give all the same, or draw from a few: an id that comes
# again on a connection on which nothing else was asked shows that, and ids then say nothing.

REMEMBERED = 10_000
"""Completions whose ids are remembered; a stray answer comes soon after the right one."""


class RequestIds:
    """The ids of requests to one server, and of the completions that came back."""

    def __init__(self) -> None:
        self._mark = f"labeler-{secrets.token_hex(6)}-"
        self._numbers = count()
        self._completions: OrderedDict[str, None] = OrderedDict()
        self._tell_apart = True

    def next(self) -> str:
        """The id of a further request."""
        return f"{self._mark}{next(self._numbers)}"

    def check_echo(self, sent: str, headers: Headers, completion: str) -> None:
        """Raise `NoAnswer` where the answer names another request of ours."""
        for echoed_id in (headers.get("x-request-id", ""), completion):
            before, _, number = echoed_id.partition(self._mark)
            if number and not f"{before}{self._mark}{number}".endswith(sent):
                raise NoAnswer("the server sent the answer to another request")

    def check_repeated(self, completion: str, *, is_bound: bool) -> None:
        """Raise `NoAnswer` where a completion came before, as far as ids tell completions apart.

        `is_bound` is true where nothing else was ever asked on the connection.
        """
        if not self._tell_apart:
            return
        is_new = bool(completion) and completion not in self._completions
        if not is_new and is_bound:
            self._tell_apart = False
            self._completions.clear()
        elif not is_new and self._completions:
            raise NoAnswer("the server sent a completion again, or one without an id")
        elif is_new:
            self._completions[completion] = None
            if len(self._completions) > REMEMBERED:
                self._completions.popitem(last=False)


STRAY = "an answer came that nobody asked for, so that this one is asked for again"
STRAYED = (
    "the server sent an answer that nobody asked for; from now on each request goes over a "
    "connection of its own"
)

ReadAnswer = Callable[[int, bytes, str, Headers, Bound], Reply]
"""What makes a reply of a status, a body, the server's name, the headers, and when it is bound."""

OF_OPENAI: Headers = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers that name an account at OpenAI, and go to OpenAI alone, with their variables."""


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


async def models_of(server: Admitted, seconds: float = CONNECT_SECONDS) -> list[str]:
    """The names of the models that an admitted server says it has, sorted."""
    return await Connected(wire_format(server.address), server, Calls(seconds)).models()


async def answers(base_url: str) -> bool:
    """Whether a server at this address says within a second which models it has."""
    try:
        await models_of(named(server_address(base_url)), 1.0)
    except LabelerError:
        return False
    return True


def in_json(body: JsonObject) -> bytes:
    """A body as it is sent; half a surrogate pair, which UTF-8 has not, as Python writes it."""
    with suppress(ValueError):
        return to_json(body)  # five times as fast as what follows
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def client_headers(form: WireFormat, server: Admitted) -> dict[str, str]:
    """The headers of each request to a server."""
    account = OF_OPENAI if Place.of(server.address).variables == (USUAL,) else {}
    named_in_environment = {header: os.environ.get(name) for header, name in account.items()}
    return {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "User-Agent": f"labeler/{__version__}",
        "Accept-Encoding": "gzip",
        **{header: value for header, value in named_in_environment.items() if value},
        **form.headers(server.key or NO_KEY),
    }


class Connected:
    """Connections that are opened when first used, and again after they were closed.

    `form` says where and how it is asked; an answer may have `largest` bytes, where that is not 0,
    which is as many as a completion may.
    """

    def __init__(self, form: WireFormat, server: Admitted, calls: Calls, largest: int = 0) -> None:
        self._form, self._largest = form, largest
        self._server = replace(server, address=form.address)
        self._where = masked(form.address)
        self._calls = calls
        self._ids = RequestIds()
        self._first = FirstAnswer(self._where, calls, self._is_there)
        self._wire: Wire | None = None
        self._headers: dict[str, str] = {}

    def model(self, name: str, identity: str | None = None) -> Model:
        """A model of the server, remembered under `identity`, else its address and name."""

        def ask(request: Request) -> Awaitable[Reply]:
            return self.ask(in_json(self._form.body(name, request)))

        where = addresses.identity(self._form.address)
        model_id = identity or f"{where} {name}{self._form.identity}"
        return Model(model_id, ask, close=self.close, is_server=True)

    async def ask(self, content: bytes, read: ReadAnswer = read_reply) -> Reply:
        """Send one request; neither the reply, which `read` makes of the answer, nor an error holds
        the key, even where the server's words did.
        """
        sent = self._ids.next()
        wire = self._open()
        try:
            headers = {**self._headers, "X-Request-Id": sent}
            answer = await self._first.within(wire.send("POST", headers, content))
            return await self._read(answer, sent, read)
        except LabelerError as problem:
            raise self._without_key(problem) from problem.__cause__

    async def _read(self, answer: HttpAnswer, sent: str, read: ReadAnswer) -> Reply:
        """What an answer means, if it is this request's."""
        received = without_key(answer.body, self._server.key)
        try:
            reply = read(answer.status, received, self._where, answer.headers, answer.is_bound)
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
        problem.args = tuple(whole(hidden(str(part), self._server.key)) for part in problem.args)
        return problem

    def _open(self) -> Wire:
        if self._wire is None:
            self._headers = client_headers(self._form, self._server)
            self._wire = self._wire_to(self._form.words["path"], self._calls.seconds)
        return self._wire

    def _wire_to(self, what: str, seconds: float) -> Wire:
        from labeler.wire.http import LARGEST_ANSWER, Wire

        return Wire(
            self._server.below(what),
            self._where,
            seconds,
            lambda: self._calls.note(f"{self._where}: {STRAYED}"),
            largest=self._largest or LARGEST_ANSWER,
        )

    async def _listed(self, seconds: float) -> HttpAnswer:
        """What the server answers when it is asked for its models."""
        wire = self._wire_to(self._form.words["models"], seconds)
        try:
            return await wire.send("GET", client_headers(self._form, self._server))
        finally:
            await wire.close()

    async def models(self) -> list[str]:
        """The models that the server lists."""
        answer = await self._listed(self._calls.seconds)
        received = without_key(answer.body, self._server.key)
        try:
            if answer.status == 200:
                return read_models(received, self._where)
            read_reply(answer.status, received, self._where, answer.headers)
        except LabelerError as problem:
            raise self._without_key(problem) from problem.__cause__
        return []

    async def _is_there(self) -> bool:
        """Whether the server answers, with whatever, when it is asked for its models."""
        try:
            await self._listed(
                min(CONNECT_SECONDS, self._calls.seconds, self._calls.mute or CONNECT_SECONDS)
            )
        except NoAnswer:
            return False
        return True

    async def close(self) -> None:
        """Close the connections; the next call opens others."""
        self._first.end()
        if self._wire is not None:
            wire, self._wire = self._wire, None
            await wire.close()
