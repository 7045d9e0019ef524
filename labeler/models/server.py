"""Any server that speaks OpenAI's chat completions, as a model.

One call is one HTTP request: who wants retries, limits or a memory wraps the model in a policy.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from labeler.data import Model, Reply, Request
from labeler.errors import LabelerError
from labeler.models.answers import read_answer, refusal_of

if TYPE_CHECKING:
    import openai

OPENAI = "https://api.openai.com/v1"
CALL_SECONDS = 600.0
CONNECT_SECONDS = 10.0


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
    address = server_address(base_url)
    connection = _Connection(address, api_key, seconds)

    async def ask(request: Request) -> Reply:
        return await connection.ask(request_body(name, request))

    named = identity or f"{masked(address)} {name}"
    return Model(named, ask, close=connection.close, is_server=True)


async def served_models(base_url: str | None = None, api_key: str | None = None) -> list[str]:
    """The names of the models that a server says it has, sorted."""
    connection = _Connection(server_address(base_url), api_key, CONNECT_SECONDS)
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


def server_address(base_url: str | None) -> str:
    """The address that will be asked: the one given, the environment's, or OpenAI's."""
    return (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")


def masked(address: str) -> str:
    """An address fit for screens and files: without user, password, query or fragment."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


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


class _Connection:
    """A client that is made when first used, and again after it was closed."""

    def __init__(self, address: str, api_key: str | None, seconds: float) -> None:
        self._address = address
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
        self._seconds = seconds
        self._client: openai.AsyncOpenAI | None = None

    async def ask(self, body: dict[str, Any]) -> Reply:
        import httpx2
        import openai

        where = masked(self._address)
        try:
            client = self._open()
            answer = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
            return read_answer(answer.content, where, answer.headers)
        except openai.APIError as error:
            return self._refused(error)

    def _refused(self, error: openai.APIError) -> Reply:
        """What an error means, in words that do not hold the key, even where the server's did."""
        try:
            return refusal_of(error, masked(self._address))
        except LabelerError as problem:
            problem.args = tuple(str(said).replace(self._key, "[key]") for said in problem.args)
            raise

    async def models(self) -> list[str]:
        import openai

        try:
            page = await self._open().models.list()
        except openai.APIError as error:
            self._refused(error)
            return []
        return sorted(model.id for model in page.data)

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            import httpx2
            import openai

            from labeler.models.transport import Transport

            wire = httpx2.AsyncClient(
                transport=Transport(self._seconds, CONNECT_SECONDS),
                follow_redirects=False,
                trust_env=False,
            )
            self._client = openai.AsyncOpenAI(
                base_url=self._address,
                api_key=self._key,
                max_retries=0,
                timeout=self._seconds,
                default_headers={"accept-encoding": "gzip"},
                http_client=wire,
            )
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()
