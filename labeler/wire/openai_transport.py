"""OpenAI's client over the one wire: the client makes requests and reads answers, the wire sends.

So whatever the client asks for has the wire's bounds: no redirect is followed, no answer is larger
than it may be, and nothing of the environment is sent but the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from yarl import URL

from labeler.wire.http import Wire

_OF_THE_CONNECTION = frozenset(
    ["host", "connection", "transfer-encoding", "accept-encoding", "content-encoding"]
)


def client_over(wire: Wire, left_out: Iterable[str]) -> Any:
    """What OpenAI's client takes as `http_client`; its headers in `left_out` are not sent.

    It is made of the package for HTTP that this release of the client has: httpx2, or httpx.
    """
    import openai

    library = import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
    transport: Any = _Transport(wire, library, left_out)
    return openai.DefaultAsyncHttpxClient(
        transport=transport, trust_env=False, follow_redirects=False
    )


class _Transport:
    """Sends what the package for HTTP made, and gives it the answer, unpacked."""

    def __init__(self, wire: Wire, library: Any, left_out: Iterable[str]) -> None:
        self._wire, self._library = wire, library
        self._left_out = _OF_THE_CONNECTION.union(name.lower() for name in left_out)

    async def handle_async_request(self, request: Any) -> Any:
        headers = _without(self._left_out, request.headers) | {"Accept-Encoding": "gzip"}
        has_body = not request.headers.keys().isdisjoint(("content-length", "transfer-encoding"))
        content = request.stream if has_body else None
        url = URL(str(request.url), encoded=True)
        answer = await self._wire.send(request.method, headers, content, url)
        received = _without(_OF_THE_CONNECTION | {"content-length"}, answer.headers)
        return self._library.Response(answer.status, headers=received, content=answer.body)

    async def aclose(self) -> None:
        await self._wire.close()


def _without(left_out: frozenset[str], headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in left_out}
