"""OpenAI's client over the one wire: the client makes requests and reads answers, the wire sends.

So whatever the client asks for has the wire's bounds: no redirect is followed, no answer is larger
than it may be, and nothing of the environment is sent but the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from yarl import URL

from labeler.model import Headers
from labeler.wire.http import Wire

_OF_THE_BODY = ("Content-Type", "Content-Length")
_OF_THE_CONNECTION = frozenset(
    ["connection", "transfer-encoding", "content-encoding", "content-length"]
)


def client_over(wire: Wire, headers: Headers) -> Any:
    """What OpenAI's client takes as `http_client`; it sends these headers in place of its own."""
    import openai

    transport: Any = _Transport(wire, headers)
    return openai.DefaultAsyncHttpxClient(
        transport=transport, trust_env=False, follow_redirects=False
    )


@dataclass(frozen=True, slots=True, repr=False)  # the headers hold the key
class _Transport:
    """Sends what the client's package for HTTP made, and gives it the answer, unpacked."""

    wire: Wire
    headers: Headers

    async def handle_async_request(self, request: Any) -> Any:
        of_the_body = {
            name: request.headers[name] for name in _OF_THE_BODY if name in request.headers
        }
        has_body = not request.headers.keys().isdisjoint(("content-length", "transfer-encoding"))
        answer = await self.wire.send(
            request.method,
            {**self.headers, **of_the_body},
            request.stream if has_body else None,
            URL(str(request.url), encoded=True),
        )
        received = {n: v for n, v in answer.headers.items() if n.lower() not in _OF_THE_CONNECTION}
        library = import_module(type(request).__module__.partition(".")[0])  # httpx2, or httpx
        return library.Response(answer.status, headers=received, content=answer.body)

    async def aclose(self) -> None:
        await self.wire.close()
