"""Qdrant as a place of vectors, by its REST API."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from labeler.errors import BadInput, Misconfigured, Misuse, NotFound
from labeler.runs.engines.answers import LARGEST_OUTPUT, Hit, HitPaths, hits_in, parsed, retrying
from labeler.runs.engines.databases.base import QdrantAddress, SearchSettings, StoredVectors
from labeler.runs.engines.http_search import check_status

KEY = "QDRANT_API_KEY"
ID = "id"
LEAST_EF = 128
_CONNECT_SECONDS = 10.0


class Qdrant:
    """A collection of Qdrant's; `send` asks the server, and gives the result of its answer."""

    def __init__(self, address: QdrantAddress, wire: Any, tries: int) -> None:
        self.address, self.where = address, str(address)
        self._wire, self._tries = wire, tries
        self._base = f"{address.origin}/collections/{quote(address.collection, safe='')}"
        self._headers = {"Accept": "application/json", **_key()}

    async def contents(self) -> StoredVectors | None:
        """What is there; None where there is no collection of that name."""
        try:
            result = await self._ask("GET")
        except NotFound:
            return None
        config = _of(result, "config")
        rows, indexed = (result.get(name) for name in ("points_count", "indexed_vectors_count"))
        status = result.get("status")
        index = f"{indexed or 0:,} of {rows or 0:,} vectors are indexed"
        if status not in ("green", None):
            index += f"; its status is {status!r:.20}, so that searches may be slow for now"
        return StoredVectors(self._size(config), int(rows or 0), index)

    def _size(self, config: Any) -> int:
        """The dimensions of the vectors; `BadInput` says which names others have."""
        size = self._vectors(config).get("size")
        if type(size) is int and size > 0:
            return size
        name, by_name = self.address.vector, _by_name(config)
        names = ", ".join(map(str, [n for n in by_name if n][:8])) or "one without a name"
        problem = f"no vectors of the name {name!r}" if name else "its vectors have names"
        raise BadInput(
            f"{self.where}: {problem}; there are: {names}; name them as ?vector=NAME",
            parameter="vectors",
        )

    def _vectors(self, config: Any) -> Any:
        """How the vectors of the address are kept; empty where there are none of its name."""
        return _of(_by_name(config), self.address.vector)

    async def search(
        self, vector: Sequence[float], depth: int, settings: SearchSettings
    ) -> list[Hit]:
        """The documents of the points nearest to a vector, best first."""
        path = settings.id or f"payload.{ID}"
        payload: Any = [path.split(".")[1]] if path.startswith("payload.") else False
        body = {
            "query": [*vector],
            "limit": depth,
            "with_payload": payload,
            **_search(settings, depth),
        }
        if self.address.vector:
            body["using"] = self.address.vector
        result = await self._ask("POST", "/points/query", body, tries=1)
        paths = HitPaths("points", path, "score", needs_score=True)
        return hits_in(result, paths, self.where)[:depth]

    async def _ask(
        self, method: str, path: str = "", body: Any = None, tries: int | None = None
    ) -> Any:
        from yarl import URL

        url = URL(self._base + path, encoded=True)
        content = None if body is None else json.dumps(body).encode()
        sent = {**self._headers, "Content-Type": "application/json"} if body else self._headers

        async def ask() -> Any:
            answer = await self._wire.send(method, sent, content, url)
            if answer.status in (401, 403):
                how = "has no right to this" if KEY in os.environ else "is not set"
                problem = f"HTTP {answer.status}; the key in {KEY} {how}"
                raise Misconfigured(f"{self.where}: {problem}", parameter="vectors")
            check_status(answer.status, answer.headers, answer.body, self.where)
            return _of(parsed(answer.body, self.where), "result")

        return await retrying(tries or self._tries)(ask)


@asynccontextmanager
async def opened_qdrant(
    address: QdrantAddress, seconds: float, tries: int
) -> AsyncIterator[Qdrant]:
    """A collection of Qdrant's, as long as the block runs."""
    from labeler.wire.gate import named
    from labeler.wire.http import Wire

    largest = LARGEST_OUTPUT
    to, shown = named(address.origin), str(address)
    wire = Wire(to, shown, seconds, _CONNECT_SECONDS, largest=largest)
    try:
        yield Qdrant(address, wire, tries)
    finally:
        await wire.close()


def check_qdrant_search(settings: SearchSettings) -> None:
    """Raise `Misuse` where a search of Qdrant's cannot be asked for like this."""
    _search(settings, 1)


def _search(settings: SearchSettings, depth: int) -> dict[str, Any]:
    """The filter and the parameters of a search, as the body of a request has them.

    Left to itself, the index looks at no more candidates than are asked for, and misses many.
    """
    params: dict[str, Any] = {"exact": True} if settings.exact else {}
    if not settings.exact:
        params["hnsw_ef"] = max(LEAST_EF, 2 * depth)
    for text in settings.more:
        name, equals, value = text.partition("=")
        if not equals or not name.replace("_", "").replace(".", "").isalnum():
            problem = "expected NAME=VALUE, as hnsw_ef=256 or quantization.rescore=true"
            raise Misuse(f"{text!r:.60}: {problem}", parameter="search")
        *outer, last = name.split(".")
        inner = params
        for step in outer:
            within = inner.setdefault(step, {})
            if not isinstance(within, dict):
                raise Misuse(f"{text!r:.60}: {step} has a value already", parameter="search")
            inner = within
        inner[last] = _json_value(value)
    more = {"filter": _filter(settings.filter)} if settings.filter else {}
    return {**more, "params": params}


def _json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _filter(text: str) -> Any:
    value = _json_value(text)
    if isinstance(value, dict):
        return value
    example = '{"must": [{"key": "lang", "match": {"value": "en"}}]}'
    raise Misuse(f"expected a filter of Qdrant's as JSON: {example}", parameter="filter")


def _key() -> dict[str, str]:
    key = os.environ.get(KEY, "")
    if not key.isprintable() or not key.isascii():
        raise Misconfigured(f"{KEY} holds what no header can have")
    return {"api-key": key} if key else {}


def _by_name(config: Any) -> Any:
    """How vectors are kept, by their names, of which the only ones may have none."""
    vectors = _of(_of(config, "params"), "vectors")
    return {"": vectors} if "size" in vectors else vectors


def _of(value: Any, name: str) -> Any:
    """What an object has of a name; an empty one where it has nothing, or is none."""
    inner = value.get(name) if isinstance(value, dict) else None
    return {} if inner is None else inner
