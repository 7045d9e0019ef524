"""What search engines answer: rankings where it is said for which query, and documents.

A response may stand alone, in a list, in an object by query, or in rows beside its query. So may
lists of documents and their scores, as other tools keep them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from labeler.exchange.contents import (
    Contents,
    Ranked,
    Triple,
    as_queries,
    lacking,
    may_be_id,
    objects,
    ranked,
    rated,
)
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import QUERY_TEXT, RANK, column_of, is_nested
from labeler.files.jsonl import JsonObject, RowValues
from labeler.trec.values import DOCUMENT_ID, QUERY_ID, SCORE, key_of


class AnswerShape(NamedTuple):
    """Where a kind of search engine has its hits, and in these ids, scores and what was indexed.

    `query` is where its response repeats the query, if it does. Of `source` empty, the hit itself
    is what was indexed. `of_none` is a name that tells an answer without hits from other objects.
    """

    name: str
    hits: str
    id: str
    score: str
    source: str = ""
    query: str = ""
    of_none: str = ""


VESPA = AnswerShape("Vespa", "root.children", "id", "relevance", "fields", of_none="root")
ENGINES = (
    AnswerShape(
        "OpenSearch or Elasticsearch", "hits.hits", "_id", "_score", "_source", of_none="hits"
    ),
    AnswerShape(
        "Solr", "response.docs", "id", "score", query="responseHeader.params.q", of_none="response"
    ),
    VESPA,
    AnswerShape("Algolia", "hits", "objectID", "", query="query", of_none="nbHits"),
    AnswerShape(
        "Typesense", "hits", "document.id", "text_match", "document", "request_params.q", "found"
    ),
    AnswerShape("Qdrant", "result.points", "id", "score", "payload", of_none="result"),
    AnswerShape("Qdrant", "result", "id", "score", "payload"),
    AnswerShape("Weaviate", "data.Get.*", "_additional.id", "_additional.score", of_none="data"),
    AnswerShape("Azure AI Search", "value", "id", "@search.score", of_none="@odata.context"),
)
_LISTS = ("hits", "results", "docs", "documents", "ranking", "retrieved", "response", "responses")
_OF_SEVERAL = ("responses", "results")
_TEXTS = (*QUERY_TEXT, "q", "question", "text")
_IDS = (*DOCUMENT_ID, "id", "objectid")
_NO_QUERY = (
    "it does not say for which query; write {query: response}, or JSON Lines with the query beside "
    'the hits: {"query": …, "hits": …}'
)


class Response(NamedTuple):
    """A response: which engine's, its hits, and its query where that is known."""

    engine: AnswerShape
    hits: list[Any]
    query: Any = None
    by_text: bool = True


def response_in(value: Any) -> Response | None:
    """The response that a value is; None where it is none."""
    if not isinstance(value, Mapping):
        return None
    for engine in ENGINES:
        hits = value_at(value, engine.hits)
        if not isinstance(hits, list) or (not hits and not value.keys() >= {engine.of_none}):
            continue
        if all(isinstance(hit, Mapping) and value_at(hit, engine.id) is not None for hit in hits):
            return Response(engine, hits, value_at(value, engine.query) if engine.query else None)
    return None


def search_responses(value: Any) -> Contents | None:
    """The rankings and documents of one response, or of several."""
    responses = _responses(value)
    if not responses:
        return _of_another_key(value)
    names = dict.fromkeys(each.engine.name for each in responses if each.engine.name)
    what = "a search response" if len(responses) == 1 else f"{len(responses):,} search responses"
    kind = f"{what} of {' and '.join(names)}" if names else "hits by query"
    is_known = all(each.query is not None for each in responses)
    by_text = any(each.by_text for each in responses)
    rankings = ((each.query, _ranked(each)) for each in responses)
    return Contents(
        kind,
        _documents(responses) or None,
        as_queries(each.query for each in responses) if is_known and by_text else None,
        rankings=ranked(f"a run from {kind}", rankings, by_text=by_text) if is_known else None,
        lacks={"rankings": _NO_QUERY},
    )


def _of_another_key(value: Any) -> Contents | None:
    """The refusal of Azure's hits whose key is not called id; None of anything else."""
    if objects(value_at(value, "value"), "@search.score") is None:
        return None
    why = "its hits have no id; rename their key to id"
    return lacking("a search response of Azure AI Search", why)


def _responses(value: Any) -> list[Response]:
    single = response_in(value)
    if isinstance(value, Mapping) and (single is None or single.query is None):
        single = _beside_query(value) or single
    if single is not None:
        return [single]
    if not isinstance(value, Mapping):
        return _all_of(_beside_query(row) or response_in(row) for row in objects(value) or ())
    several = next((value[name] for name in _OF_SEVERAL if name in value), None)
    if isinstance(several, list) and (responses := _all_of(map(response_in, several))):
        return responses
    by_query = zip(value, _all_of(map(response_in, value.values())), strict=False)
    return [each._replace(query=query, by_text=False) for query, each in by_query]


def _all_of(values: Iterable[Response | None]) -> list[Response]:
    """The responses, where all are some; else none."""
    responses = list(values)
    return [] if None in responses else [*filter(None, responses)]


def _beside_query(row: RowValues) -> Response | None:
    """The response in a row that names its query, by id or by text."""
    by_id, by_text = column_of(row, QUERY_ID), column_of(row, _TEXTS)
    query = by_id or by_text
    if query is None:
        return None
    name = next((n for n in row if key_of(n) in _LISTS and n != query), None)
    inner = response_in(row) or (None if name is None else response_in(row[name]))
    if inner is None and name is not None and isinstance(row[name], list):
        hits = row[name]
        is_list = bool(hits) and all(map(_hit, hits))
        inner = Response(AnswerShape("", "", "", ""), hits) if is_list else None
    if inner is None:
        return None
    return inner._replace(query=row[query], by_text=by_id is None)


def _hit(value: Any) -> tuple[Any, float | None] | None:
    """A document and its score, where it has one; None of anything else."""
    if may_be_id(value):
        return value, None
    if isinstance(value, list) and len(value) == 2 and may_be_id(value[0]):
        score = number_of(value[1])
        return None if score is None else (value[0], score)
    if not isinstance(value, Mapping):
        return None
    name, scored = column_of(value, _IDS), column_of(value, SCORE)
    if name is None or value[name] is None:
        return None
    return value[name], None if scored is None else number_of(value[scored])


def _ranked(response: Response) -> Ranked:
    """The documents of a response and their scores, best first."""
    engine = response.engine
    hits = [
        (plain_key(value_at(hit, engine.id)), number_of(value_at(hit, engine.score)))
        for hit in response.hits
    ]
    if not engine.id:
        hits = [*filter(None, map(_hit, _in_order(response.hits)))]
    return [*dict(reversed(hits)).items()][::-1]  # the first place of each


def _in_order(hits: list[Any]) -> list[Any]:
    """Hits in the order of the ranks that they name, if all do."""
    names = [column_of(hit, RANK) if isinstance(hit, Mapping) else None for hit in hits]
    if not all(names):
        return hits
    ranks = [number_of(hit[name]) for hit, name in zip(hits, names, strict=True)]
    by_rank = sorted(range(len(hits)), key=lambda at: ranks[at] or 0)
    return [hits[at] for at in by_rank]


def plain_key(value: Any) -> Any:
    """An id as its index has it: of a list its one member, of Vespa's the part of the user's."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    parts = value.split(":", 4) if isinstance(value, str) else []
    return parts[4] if len(parts) == 5 and parts[0] == "id" else value


_PLUMBING = frozenset(
    ("score", "sort", "@timestamp", "@version", "highlight", "matched_queries", "inner_hits")
)


def is_plumbing(name: str) -> bool:
    """Whether a field is a search engine's own, and says nothing of the document."""
    return name.startswith(("_", "@search.")) or name in _PLUMBING


def is_hit(row: RowValues) -> bool:
    """Whether a row is a hit of OpenSearch or Elasticsearch."""
    return "_id" in row and any(name in row for name in ("_index", "_score", "_source"))


def indexed(hit: RowValues, engine: AnswerShape = ENGINES[0]) -> JsonObject:
    """What was indexed of a hit, and its id; empty where the hit says nothing of it."""
    sources = (value_at(hit, name) for name in filter(None, (engine.source, "fields")))
    source = next((each for each in sources if isinstance(each, Mapping)), None)
    if source is None:
        own = (engine.id, engine.score)
        source = {n: v for n, v in hit.items() if n not in own and not is_plumbing(n)}
    key = plain_key(value_at(hit, engine.id))
    return (
        {**{n: v for n, v in source.items() if (n, v) != ("id", key)}, "_id": key} if source else {}
    )


def indexed_by_vespa(row: RowValues) -> JsonObject:
    """What a document of Vespa's feed, or of `vespa visit`, holds; empty of any other row."""
    key = row.get("put", row.get("id"))
    if not isinstance(key, str) or not key.startswith("id:") or "fields" not in row:
        return {}
    return indexed({"id": key, "fields": row["fields"]}, VESPA)


def _documents(responses: list[Response]) -> list[JsonObject]:
    """What was indexed of each hit, each document once."""
    hits = ((hit, each.engine) for each in responses if each.engine.id for hit in each.hits)
    documents = dict[Any, JsonObject]()
    for document in (indexed(hit, engine) for hit, engine in hits):
        documents.setdefault(document.get("_id"), document)
    return [*filter(None, documents.values())]


# Objects by query: `{query: {document: value}}`, ranked lists, and predictions of MTEB.

META = "mteb_model_meta"


def predictions(value: Any) -> Contents | None:
    """The rankings that MTEB keeps of a model: by subset, split, query and document."""
    if value_at(value, META) is None:
        return None
    model = value_at(value, f"{META}.model_name") or "a model"
    runs = {
        f"{subset}.{split}": run
        for subset, splits in value.items()
        if subset != META and isinstance(splits, Mapping)
        for split, run in splits.items()
        if is_nested(run)
    }
    kind = f"predictions of {model} in MTEB"
    if len(runs) == 1:
        ((name, run),) = runs.items()
        kind = f"{kind} ({name})"
        pairs = ((q, d, score) for q, scores in run.items() for d, score in scores.items())
        return Contents(kind, rankings=rated(f"a run from {kind}", pairs))
    first = next(iter(runs), "default.test")
    path = "".join(f"[{name!r}]" for name in first.split(".", 1)).replace("'", '"')
    why = f"it holds {len(runs)} runs ({', '.join(runs)}); take one: jq '.{path}'"
    return Contents(kind, lacks={"rankings": why})


def by_query(value: Any) -> Contents | None:
    """Grades or scores by query and document, as ranx and pytrec_eval have them."""
    if not value or not is_nested(value):
        return None
    if any(isinstance(x, dict | list) for values in value.values() for x in values.values()):
        return None

    def pairs() -> Iterator[Triple]:
        return ((query, *each) for query, values in value.items() for each in values.items())

    return Contents(
        "JSON by query",
        grades=rated("qrels from JSON ({query: {document: grade}})", pairs()),
        rankings=rated("a run from JSON ({query: {document: score}})", pairs()),
    )


def ranked_lists(value: Any) -> Contents | None:
    """Documents by query, best first: ids, or pairs with a score, or objects that have both.

    A single word with objects is no query: so an engine names its answer, as `matches`.
    """
    if not isinstance(value, Mapping) or not value:
        return None
    if len(value) == 1 and next(iter(value)).isalpha() and objects(*value.values()):
        return None
    lists = {q: [*map(_hit, each)] for q, each in value.items() if isinstance(each, list) and each}
    if len(lists) < len(value) or any(None in hits for hits in lists.values()):
        return None
    rankings = ((query, [*filter(None, hits)]) for query, hits in lists.items())
    kind = "a run from JSON ({query: [document]})"
    return Contents("ranked lists", rankings=ranked(kind, rankings))
