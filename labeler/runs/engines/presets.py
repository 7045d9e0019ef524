"""What is known of kinds of search servers: how they are asked, and what their answers hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labeler.exchange.fields import value_at
from labeler.runs.engines.answers import HitPaths


@dataclass(frozen=True, slots=True)
class Preset:
    """How a kind of server is asked by default, and read.

    `parameters` are added to an address without any. `problem_of` says what makes an answer with
    the status 200 unfit all the same, as where shards failed. `is_empty` is true of an answer that
    has no list because there are no hits. `text_of` makes plain text of what a query's letters
    would mean in the server's language. Of a server that `is_named`, the address ends with `#` and
    the name of what is searched, which stands in the body in place of INDEX.
    """

    paths: HitPaths
    url: str
    body: Any = None
    parameters: str = ""
    problem_of: Callable[[Any], str] = lambda _answer: ""
    is_empty: Callable[[Any], bool] = lambda _answer: False
    text_of: Callable[[str], str] = str
    is_named: bool = False


def _cut_short(answer: Any) -> str:
    failed = value_at(answer, "_shards.failed")
    if failed:
        return f"{failed!r:.20} of its shards failed, so hits may be missing"
    is_late = value_at(answer, "timed_out") or value_at(answer, "search_cutoff")
    return "it ran out of its own time, so hits may be missing" if is_late else ""


def _partial(answer: Any) -> str:
    places = ("responseHeader.partialResults", "@search.semanticPartialResponseReason")
    return "its results are partial" if any(value_at(answer, p) for p in places) else ""


_OPERATORS = re.compile(r"""[-+!(){}\[\]^"~*?:\\/]|&&|\|\|""")
_WORDS = re.compile(r"\b(?:AND|OR|NOT)\b")


def _solr_text(query: str) -> str:
    """A query as words: operators stand behind a backslash, and words of them in small letters."""
    return _WORDS.sub(lambda word: word[0].casefold(), _OPERATORS.sub(r"\\\g<0>", query))


def _reported(answer: Any) -> str:
    """The error that Vespa, Weaviate or Qdrant reports in an answer."""
    paths = ("root.errors.0.message", "root.errors.0", "errors.0.message", "status.error")
    errors = (value_at(answer, path) for path in paths)
    error = next((each for each in errors if each), None)
    if error is not None:
        return f"it reports an error: {error!r:.100}"
    return "its coverage is degraded" if value_at(answer, "root.coverage.degraded") else ""


_SIMPLE_LANGUAGE = re.compile(r"""(?<!\w)[-+]|[()":*!?{}\[\]^~<>=\\|&]""")


def _vespa_text(query: str) -> str:
    """A query without the operators of Vespa's simple language, of which its index has none."""
    return " ".join(_SIMPLE_LANGUAGE.sub(" ", query).split())


def _typesense_text(query: str) -> str:
    """A query without quotes, and without the marks of words to leave out."""
    return " ".join(re.sub(r"""(?<!\w)-|["“”]""", " ", query).split())


def _azure_text(query: str) -> str:
    """A query as words: operators of the simple language stand behind a backslash."""
    return re.sub(r"""[+|"()'\\*~]|(?<!\w)-""", r"\\\g<0>", query)


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
        problem_of=_cut_short,
    ),
    "solr": Preset(
        HitPaths("response.docs", "id", "score"),
        "http://127.0.0.1:8983/solr/CORE/select",
        parameters="defType=edismax&q={query}&rows={depth}&fl=id,score&wt=json",
        problem_of=_partial,
        text_of=_solr_text,
    ),
    "vespa": Preset(
        HitPaths("root.children", "id", "relevance"),
        "http://127.0.0.1:8080/search/",
        {"yql": _YQL, "text": "{query}", "hits": "{depth}"},
        problem_of=_reported,
        is_empty=lambda answer: value_at(answer, "root.fields.totalCount") == 0,
        text_of=_vespa_text,
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
        problem_of=_reported,
    ),
    "weaviate": Preset(
        HitPaths("data.Get.*", "_additional.id", "_additional.score"),
        "http://127.0.0.1:8080/v1/graphql#INDEX",
        {"query": _GRAPHQL, "variables": {"text": "{query}", "depth": "{depth}"}},
        problem_of=_reported,
        is_named=True,
    ),
    "typesense": Preset(
        HitPaths("hits", "document.id", "text_match"),
        "http://127.0.0.1:8108/collections/INDEX/documents/search?query_by=FIELD",
        parameters="q={query}&per_page={depth}&include_fields=id",
        problem_of=_cut_short,
        text_of=_typesense_text,
    ),
    "azure": Preset(
        HitPaths("value", "id", "@search.score"),
        "https://SERVICE.search.windows.net/indexes/INDEX/docs/search?api-version=2024-07-01",
        {"search": "{query}", "top": "{depth}", "select": "id"},
        problem_of=_partial,
        text_of=_azure_text,
    ),
}
"""The kinds of servers, by the names that users call them."""

PRESETS["elasticsearch"] = PRESETS["opensearch"]
ANY = Preset(HitPaths(), "http://127.0.0.1:8000/search?q={query}&size={depth}")
"""A server of which nothing is known: the address and the paths say it all."""
