"""What is known of search servers: how they are asked, and where their answers hold what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labeler.runs.engines.answers import HitPaths, value_at


@dataclass(frozen=True, slots=True)
class Preset:
    """How a kind of server is asked by default, and read.

    `parameters` are added to an address without any. `problem_of` says what makes an answer with
    the status 200 unfit all the same, as where shards failed. `is_empty` is true of an answer that
    has no list because there are no hits. `short_id` is the document's id in the server's.
    """

    paths: HitPaths
    url: str
    body: Any = None
    parameters: str = ""
    problem_of: Callable[[Any], str] = lambda _answer: ""
    is_empty: Callable[[Any], bool] = lambda _answer: False
    short_id: Callable[[str], str] = str


def _at(answer: Any, path: str) -> Any:
    try:
        return value_at(answer, path)
    except LookupError:
        return None


def _opensearch_problem(answer: Any) -> str:
    failed = _at(answer, "_shards.failed")
    if failed:
        return f"{failed!r:.20} of its shards failed, so hits may be missing"
    return "it ran out of its own time, so hits may be missing" if _at(answer, "timed_out") else ""


def _solr_problem(answer: Any) -> str:
    partial = _at(answer, "responseHeader.partialResults")
    return "its results are partial" if partial else ""


def _vespa_problem(answer: Any) -> str:
    errors = _at(answer, "root.errors")
    if errors:
        return f"it reports an error: {_at(answer, 'root.errors.0.message')!r:.100}"
    return "its coverage is degraded" if _at(answer, "root.coverage.degraded") else ""


def _vespa_id(text: str) -> str:
    """What stands last in `id:namespace:type:key:ours`."""
    parts = text.split(":", 4)
    return parts[4] if len(parts) == 5 and parts[0] == "id" else text


_SEARCH = {
    "query": {"multi_match": {"query": "{query}", "fields": ["*"], "lenient": True}},
    "size": "{depth}",
    "_source": False,
}
_YQL = "select * from sources * where userQuery()"

PRESETS: dict[str, Preset] = {
    "opensearch": Preset(
        HitPaths("hits.hits", "_id", "_score"),
        "http://127.0.0.1:9200/INDEX/_search",
        _SEARCH,
        problem_of=_opensearch_problem,
    ),
    "solr": Preset(
        HitPaths("response.docs", "id", "score"),
        "http://127.0.0.1:8983/solr/CORE/select",
        parameters="q={query}&rows={depth}&fl=id,score&wt=json",
        problem_of=_solr_problem,
    ),
    "vespa": Preset(
        HitPaths("root.children", "id", "relevance"),
        "http://127.0.0.1:8080/search/",
        {"yql": _YQL, "query": "{query}", "hits": "{depth}"},
        problem_of=_vespa_problem,
        is_empty=lambda answer: _at(answer, "root.fields.totalCount") == 0,
        short_id=_vespa_id,
    ),
    "qdrant": Preset(
        HitPaths("result.points", "payload.id", "score"),
        "http://127.0.0.1:6333/collections/NAME/points/query",
        {"query": "{vector}", "limit": "{depth}", "with_payload": True},
    ),
}
"""The kinds of servers, by the names that users call them."""

PRESETS["elasticsearch"] = PRESETS["opensearch"]
ANY = Preset(HitPaths(), "http://127.0.0.1:8000/search?q={query}&size={depth}")
"""A server of which nothing is known: the address and the paths say it all."""
