"""Any HTTP search endpoint as a retrieval engine: GET, or POST with a JSON body."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from labeler.errors import CallFailed, Misconfigured, Misuse, NotFound, Retryable, check_known
from labeler.exchange.fields import value_at
from labeler.exchange.responses import incompleteness, plain_key
from labeler.messages import squeezed
from labeler.options import option
from labeler.runs.engines.answers import (
    LARGEST_OUTPUT,
    SYSTEM,
    Filling,
    Hit,
    HitOptions,
    HitPaths,
    Search,
    check_url,
    filled_json,
    filled_url,
    has_query,
    hits_in,
    parsed,
    read_body,
)

# What is known of kinds of search servers: how they are asked, and what their answers hold.


@dataclass(frozen=True, slots=True)
class Preset:
    """How a kind of server is asked by default, and read.

    `parameters` are added to an address without any. `total` is where an answer says how many hits
    there are, which has no list of none. `text_of` makes plain text of what a query's letters would
    mean in the server's language. Of a server that `is_named`, the address ends with `#` and the
    name of what is searched, which stands in the body in place of INDEX.
    """

    paths: HitPaths
    url: str
    body: Any = None
    parameters: str = ""
    total: str = ""
    text_of: Callable[[str], str] = str
    is_named: bool = False


_SOLR = re.compile(r"""[-+!(){}\[\]^"~*?:\\/]|&&|\|\||\b(?:AND|OR|NOT)\b""")


def _solr_text(query: str) -> str:
    """A query as words: operators stand behind a backslash, and words of them in small letters."""
    return _SOLR.sub(lambda m: m[0].casefold() if m[0].isalpha() else f"\\{m[0]}", query)


_VESPA = re.compile(r"""(?<!\w)[-+]|[()":*!?{}\[\]^~<>=\\|&]""")
"""Operators of the simple language, of which the index has none."""

_TYPESENSE = re.compile(r"""(?<!\w)-|["“”]""")
"""Quotes, and the marks of words to leave out."""

_AZURE = re.compile(r"""[+|"()'\\*~]|(?<!\w)-""")
"""Operators of the simple language."""

_SEARCH = {
    "query": {"multi_match": {"query": "{query}", "fields": ["*"], "lenient": True}},
    "size": "{depth}",
    "_source": False,
}
_YQL = "select * from sources * where {grammar:'weakAnd'}userInput(@text)"

_GRAPHQL = (
    "query($text: String!, $depth: Int!) { Get { INDEX(bm25: {query: $text}, limit: $depth) "
    "{ _additional { id score } } } }"
)

PRESETS: dict[str, Preset] = {
    "opensearch": Preset(
        HitPaths("hits.hits", "_id", "_score"),
        "http://127.0.0.1:9200/INDEX/_search",
        _SEARCH,
    ),
    "solr": Preset(
        HitPaths("response.docs", "id", "score"),
        "http://127.0.0.1:8983/solr/CORE/select",
        parameters="defType=edismax&q={query}&rows={depth}&fl=id,score&wt=json",
        text_of=_solr_text,
    ),
    "vespa": Preset(
        HitPaths("root.children", "id", "relevance"),
        "http://127.0.0.1:8080/search/",
        {"yql": _YQL, "text": "{query}", "hits": "{depth}"},
        total="root.fields.totalCount",
        text_of=partial(_VESPA.sub, " "),
    ),
    "qdrant": Preset(
        HitPaths("result.points", "id", "score"),
        "http://127.0.0.1:6333/collections/INDEX/points/query",
        {
            "query": {"text": "{query}", "model": "qdrant/bm25"},
            "using": "bm25",
            "limit": "{depth}",
            "with_payload": False,
        },
    ),
    "weaviate": Preset(
        HitPaths("data.Get.*", "_additional.id", "_additional.score"),
        "http://127.0.0.1:8080/v1/graphql#INDEX",
        {"query": _GRAPHQL, "variables": {"text": "{query}", "depth": "{depth}"}},
        is_named=True,
    ),
    "typesense": Preset(
        HitPaths("hits", "document.id", "text_match"),
        "http://127.0.0.1:8108/collections/INDEX/documents/search?query_by=FIELD",
        parameters="q={query}&per_page={depth}&include_fields=id",
        text_of=partial(_TYPESENSE.sub, " "),
    ),
    "azure": Preset(
        HitPaths("value", "id", "@search.score"),
        "https://SERVICE.search.windows.net/indexes/INDEX/docs/search?api-version=2024-07-01",
        {"search": "{query}", "top": "{depth}", "select": "id"},
        text_of=partial(_AZURE.sub, r"\\\g<0>"),
    ),
}
"""The kinds of servers, by the names that users call them."""

PRESETS["elasticsearch"] = PRESETS["opensearch"]
ANY = Preset(HitPaths(), "http://127.0.0.1:8000/search?q={query}&size={depth}")
"""A server of which nothing is known: the address and the paths say it all."""


_BUSY = (429, 503)
_MAY_PASS = (*_BUSY, 408, 425, 500, 502, 504)


@dataclass(frozen=True, slots=True)
class HttpEngine(HitOptions):
    """A search endpoint: its address with `{query}` and `{depth}`, and how its answers are read.

    `preset` is one of `PRESETS`, or empty. `body` is a JSON text; with one, requests are POST.
    `headers` are `NAME=VARIABLE`: the value is that variable's of the environment, and is neither
    shown nor kept. Paths that are None are the preset's.
    """

    url_template: str = option(
        "", "The endpoint, with {query} and {depth}.", metavar="URL", panel=SYSTEM
    )
    preset: str = option("", f"{', '.join(PRESETS)}.", metavar="NAME", panel=SYSTEM)
    body: str = option("", "POST this, with {query} in its texts.", metavar="JSON", panel=SYSTEM)
    headers: tuple[str, ...] = option(
        (),
        "A header, its value in a variable of the environment; repeatable.",
        metavar="NAME=VAR",
        flags="--header",
        panel=SYSTEM,
    )

    @property
    def kind(self) -> Preset:
        """What is known of the server; `Misuse` names the presets where this is none."""
        if not self.preset:
            return ANY
        check_known("preset", self.preset, sorted(PRESETS), "preset")
        return PRESETS[self.preset]

    @property
    def paths(self) -> HitPaths:
        """Where answers hold the hits, their ids and their scores."""
        own = {"hits": self.hits, "id": self.hit_id, "score": self.hit_score}
        paths = {name: path for name, path in own.items() if path is not None}
        return replace(self.kind.paths, **paths, needs_score=self.hit_score is not None)

    @property
    def address(self) -> str:
        """The address with the preset's parameters, where it does not say how it is asked."""
        more = self.kind.parameters
        own = self.url_template
        if not more or self.body or "{query}" in own:
            return own
        return f"{own}{'&' if '?' in own else '?'}{more}"

    @property
    def content(self) -> Any:
        """The JSON of the body's template; None for GET."""
        if self.body:
            return read_body(self.body)
        if "{query}" in self.url_template or self.kind.body is None:
            return None
        index = urlsplit(self.url_template).fragment
        if self.kind.is_named and not index.isidentifier():
            raise Misuse(
                f"it ends with the name of what is searched, as {self.kind.url}",
                parameter="url_template",
            )
        return json.loads(json.dumps(self.kind.body).replace("INDEX", index or "INDEX"))

    def check(self) -> None:
        """Raise `Misuse` where a request could not be made, or would not hold the query."""
        check_url(self.url_template)
        if not (has_query(self.address) or has_query(self.content)):
            raise Misuse(
                "the query has no place; write {query} into the address or the body, as "
                f"{self.kind.url}",
                parameter="url_template",
            )
        headers_of(self.headers, os.environ)

    def tag(self) -> str:
        """What the run is called by default in its last column."""
        return self.preset or "http"

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
        parts = urlsplit(self.url_template)  # of which the path holds places
        to = named(f"{parts.scheme}://{parts.netloc}/")
        wire = Wire(to, where, seconds, largest=LARGEST_OUTPUT)
        headers = {"Accept": "application/json", **headers_of(self.headers, os.environ)}
        content = self.content
        address = self.address

        async def search(query: str, depth: int) -> list[Hit]:
            from yarl import URL

            text = self.kind.text_of(query)
            asked = squeezed(text) if self.preset else text
            filling: Filling = {"query": asked, "depth": depth}
            url = URL(filled_url(address, filling), encoded=True)
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
        kind = self.kind
        if self.preset and (problem := incompleteness(answer)):
            raise Retryable(f"{where}: {problem}")
        if kind.total and value_at(answer, kind.total) == 0:
            return []
        return [Hit(plain_key(hit.id), hit.score) for hit in hits_in(answer, self.paths, where)]


def headers_of(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The headers that the environment holds; no message shows what it was given or found."""
    headers = {}
    for number, text in enumerate(names, 1):
        name, equals, variable = text.partition("=")
        if not (equals and name and variable.isidentifier()):
            raise Misuse(
                "expected a header as Authorization=VARIABLE, the variable holding its value "
                f"(header {number})",
                parameter="header",
            )
        value = environment.get(variable)
        if value is None:
            raise Misconfigured(
                f"header {number}: no variable of that name is in the environment; it takes the "
                "variable's name",
                parameter="header",
            )
        if not value.isprintable() or not name.replace("-", "").replace("_", "").isalnum():
            raise Misconfigured(
                f"header {number}: a name or a value that no header can have", parameter="header"
            )
        headers[name] = value
    return headers


def check_status(status: int, headers: Mapping[str, str], body: bytes, where: str) -> None:
    """Raise what a status other than 200 means for this query, or for all of them."""
    if status == 200:
        return
    from labeler.models.server.answers import retry_after

    begin = squeezed(body[:400].decode("utf-8", "replace"))[:120]
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
