"""Any server that speaks OpenAI's chat completions, as a model.

One call is one HTTP request: who wants retries, limits or a memory wraps the model in a policy.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from labeler.data import Model, Reply, Request
from labeler.errors import CallFailed
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

    return Model(identity or f"{masked(address)} {name}", ask, close=connection.close)


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
        self._api_key = api_key
        self._seconds = seconds
        self._client: openai.AsyncOpenAI | None = None

    async def ask(self, body: dict[str, Any]) -> Reply:
        import httpx2
        import openai

        try:
            client = self._open()
            response = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except openai.APIError as error:
            return refusal_of(error, masked(self._address))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise CallFailed(f"{masked(self._address)}: {type(error).__name__}") from None
        return read_answer(response.content, masked(self._address))

    async def models(self) -> list[str]:
        import openai

        try:
            page = await self._open().models.list()
        except openai.APIError as error:
            refusal_of(error, masked(self._address))
            return []
        return sorted(model.id for model in page.data)

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                base_url=self._address,
                api_key=self._api_key or os.environ.get("OPENAI_API_KEY") or "none",
                max_retries=0,
                timeout=openai.Timeout(self._seconds, connect=CONNECT_SECONDS),
                http_client=openai.DefaultAioHttpClient(follow_redirects=False),
            )
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()
