"""Any HTTP search endpoint as a retrieval engine: GET, or POST with a JSON body."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from labeler.errors import CallFailed, Misconfigured, Misuse, NotFound, Retryable
from labeler.options import option
from labeler.runs.engines.answers import (
    HIT_ID,
    HIT_SCORE,
    HITS,
    LARGEST_OUTPUT,
    SYSTEM,
    Filling,
    Hit,
    Search,
    check_url,
    filled_json,
    filled_url,
    has_query,
    hit_paths,
    hits_in,
    parsed,
    read_body,
    value_at,
)

INCOMPLETE = (
    *("timed_out", "_shards.failed", "responseHeader.partialResults"),
    *("root.errors", "root.coverage.degraded"),
)
"""Where answers of OpenSearch, Solr and Vespa say, under the status 200, that hits are missing."""

_CONNECT_SECONDS = 10.0
_BUSY = frozenset((429, 503))
_MAY_PASS = frozenset((408, 425, 500, 502, 504)) | _BUSY


@dataclass(frozen=True, slots=True)
class HttpEngine:
    """A search endpoint: its address with `{query}` and `{depth}`, and how its answers are read.

    `body` is a JSON text; with one, requests are POST. `headers` are `NAME=VARIABLE`: the value is
    that variable's of the environment, and is neither shown nor kept.
    """

    url_template: str = option(
        "", "The endpoint, with {query} and {depth}.", metavar="URL", panel=SYSTEM
    )
    body: str = option("", "POST this, with {query} in its texts.", metavar="JSON", panel=SYSTEM)
    headers: tuple[str, ...] = option(
        (),
        "A header, its value in a variable of the environment; repeatable.",
        metavar="NAME=VAR",
        flags="--header",
        panel=SYSTEM,
    )
    hits: str = option("", HITS)
    hit_id: str = option("id", HIT_ID)
    hit_score: str = option("", HIT_SCORE)

    @property
    def content(self) -> Any:
        """The JSON of the body's template; None for GET."""
        return read_body(self.body) if self.body else None

    def check(self) -> None:
        """Raise `Misuse` where a request could not be made, or would not hold the query."""
        check_url(self.url_template)
        if not (has_query(self.url_template) or has_query(self.content)):
            problem = "the query has no place; write {query} into the address or the body"
            example = "http://127.0.0.1:8000/search?q={query}&size={depth}"
            raise Misuse(f"{problem}, as {example}", parameter="url_template")
        headers_of(self.headers, os.environ)

    def tag(self) -> str:
        """What the run is called by default in its last column."""
        return "http"

    def shown(self) -> str:
        """The address without what may be secret."""
        from labeler.wire.addresses import masked

        return masked(self.url_template)

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator[Search]:
        """A function that asks the endpoint, as long as the block runs."""
        from labeler.wire.gate import named
        from labeler.wire.http import Wire

        self.check()
        where = self.shown()
        to = named(_origin(self.url_template))
        wire = Wire(to, where, seconds, _CONNECT_SECONDS, largest=LARGEST_OUTPUT)
        headers = {"Accept": "application/json", **headers_of(self.headers, os.environ)}
        content = self.content

        async def search(query: str, depth: int) -> list[Hit]:
            from yarl import URL

            filling = Filling(query, depth)
            url = URL(filled_url(self.url_template, filling), encoded=True)
            if content is None:
                answer = await wire.send("GET", headers, url=url)
            else:
                body = json.dumps(filled_json(content, filling)).encode()
                sent = {**headers, "Content-Type": "application/json"}
                answer = await wire.send("POST", sent, body, url)
            check_status(answer.status, answer.headers, answer.body, where)
            return self._hits(answer.body, where)[:depth]

        try:
            yield search
        finally:
            await wire.close()

    def _hits(self, body: bytes, where: str) -> list[Hit]:
        answer = parsed(body, where)
        for path in INCOMPLETE:
            with suppress(LookupError):
                if value_at(answer, path):
                    raise Retryable(f"{where}: its answer has {path}, so hits may be missing")
        return hits_in(answer, hit_paths(self.hits, self.hit_id, self.hit_score), where)


def headers_of(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The headers that the environment holds; no message shows what it was given or found."""
    headers = {}
    for number, text in enumerate(names, 1):
        name, equals, variable = text.partition("=")
        if not (equals and name and variable.isidentifier()):
            problem = "expected a header as Authorization=VARIABLE, the variable holding its value"
            raise Misuse(f"{problem} (header {number})", parameter="header")
        value = environment.get(variable)
        if value is None:
            problem = f"header {number}: no variable of that name is in the environment"
            raise Misconfigured(f"{problem}; it takes the variable's name", parameter="header")
        if not value.isprintable() or not name.replace("-", "").replace("_", "").isalnum():
            problem = "a name or a value that no header can have"
            raise Misconfigured(f"header {number}: {problem}", parameter="header")
        headers[name] = value
    return headers


def check_status(status: int, headers: Mapping[str, str], body: bytes, where: str) -> None:
    """Raise what a status other than 200 means for this query, or for all of them."""
    if status == 200:
        return
    from labeler.models.server.answers import retry_after

    begin = " ".join(body[:400].decode("utf-8", "replace").split())[:120]
    problem = f"{where}: HTTP {status}{f': {begin}' if begin else ''}"
    if status in _MAY_PASS:
        raise Retryable(problem, retry_after(headers), busy=status in _BUSY)
    if status in (401, 403):
        raise Misconfigured(f"{problem}; give its key as a header from the environment")
    if status in (404, 405):
        raise NotFound(problem)
    if 300 <= status < 400:
        raise Misconfigured(f"{problem}; redirects are not followed, give the last address")
    raise CallFailed(problem, refused=True)


def _origin(url: str) -> str:
    """The address less its path, in which there are places."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
