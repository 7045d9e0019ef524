"""What search engines answer: rankings where it is known for which query, and documents.

An answer may stand alone, in a list, in an object by query, or in rows beside its query. So may
lists of documents and their scores, as other tools keep them. All are told by where the hits stand,
and by what these call the id, the score and what was indexed: one table for all engines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, takewhile
from typing import Any, NamedTuple

from labeler.errors import BadRow
from labeler.exchange.contents import (
    Contents,
    Ranked,
    Records,
    Triple,
    may_be_id,
    objects,
    ranked,
    rated,
    role_of,
    text_id,
)
from labeler.exchange.documents import TEXTS
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import QUERY_TEXT, RANK, column_of, has_column, is_nested
from labeler.files.jsonl import JsonObject, RowValues
from labeler.messages import count_of
from labeler.trec.values import DOCUMENT_ID, GRADE, QUERY_ID, SCORE, key_of

ENGINES = {
    "hits.hits": "OpenSearch or Elasticsearch",
    "response.docs": "Solr",
    "root.children": "Vespa",
    "data.Get.*": "Weaviate",
    "result.points": "Qdrant",
    "result.hits": "Pinecone",
    "matches": "Pinecone",
    "result.matches": "Cloudflare Vectorize",
    "retrievalResults": "Amazon Bedrock",
    "ResultItems": "Amazon Kendra",
    "contexts.contexts": "Vertex AI",
    "cursor.firstBatch": "MongoDB",
    "hits": "Algolia, Typesense, Meilisearch or Marqo",
    "value": "Azure AI Search",
}
"""Where answers have their hits, and whose answers these are."""

_LISTS = (
    *("hits", "results", "docs", "documents", "ranking", "retrieved", "candidates", "ctxs"),
    *("response", "responses"),
)
"""What a list of hits is called beside its query; alone, hits have scores or wrap documents."""

_PLACES = (
    *ENGINES,
    *_LISTS,
    "result",
    "data",
    "value",
    "records",
    "points",
    "neighbors",
    "objects",
)
_AROUND = ("", "body.", "response.")
_TEXTS = (*QUERY_TEXT, "q", "question", "text")
_OWN_IDS = ("ctxs", "candidates", "retrieved", "neighbors")
"""Lists of rows whose `id` is the query's."""

_IDS_AT = (
    *("document.id", "_additional.id", "datapoint.datapointId", "node.id_"),
    *("DocumentId", "metadata.x-amz-bedrock-kb-chunk-id"),
)
_IDS = ("id", "objectid", "put", *DOCUMENT_ID, "chunkid", "fileid")
_OF_A_SEARCH = ("rankingscore", "searchscore", "textmatch", "distance")
_SCORES = (*SCORE, "relevance", *_OF_A_SEARCH[:-1])
_SOURCES = (
    *("_source", "fields", "payload", "entity", "document.structData", "document", "doc", "node"),
    *("extra_attributes", "properties", "value", "content", "content.0"),
)
"""Where a hit has what was indexed; one that has none of them is that itself."""

_NO_QUERY = (
    "it does not say for which query; this says it: jq '{query: \"WORDS\", response: .}' FILE; of "
    'several answers, write a line each: {"query": …, "response": …}'
)


class HitDocument(NamedTuple):
    """A document of an answer: its id, its score, if any, and what the answer has of it."""

    id: Any
    score: float | None
    record: JsonObject


class Response(NamedTuple):
    """An answer: its hits, which engine's it is, and its query where that is known.

    The query has an `_id`, a `text` or both, or a `key` that may be either. `problem` is why hits
    may be missing.
    """

    hits: list[HitDocument]
    engine: str = ""
    query: JsonObject | None = None
    problem: str = ""


_LATE = "it ran out of its own time, so hits may be missing"
_PARTIAL = "its results are partial"
_ERROR = "it reports an error: {!r:.100}"

_PROBLEMS = {
    "_shards.failed": "{!r:.20} of its shards failed, so hits may be missing",
    "timed_out": _LATE,
    "search_cutoff": _LATE,
    "responseHeader.partialResults": _PARTIAL,
    "@search.semanticPartialResponseReason": _PARTIAL,
    **dict.fromkeys(("root.errors.0.message", "root.errors.0", "errors.0.message"), _ERROR),
    "status.error": _ERROR,
    "root.coverage.degraded": "its coverage is degraded",
}
"""What makes an answer unfit as a ranking, by where a server says it."""


def incompleteness(answer: Any) -> str:
    """What an answer itself says of hits that may be missing; empty of a whole one."""
    each = ((problem, f"{at}{path}") for path, problem in _PROBLEMS.items() for at in _AROUND)
    return next((p.format(value) for p, path in each if (value := value_at(answer, path))), "")


def search_responses(value: Any) -> Contents | None:
    """The rankings and documents of one response, or of several."""
    responses = _responses(value)
    if not responses:
        return None
    asked = [each.query for each in responses if each.query]
    is_known = len(asked) == len(responses)
    names = " and ".join(dict.fromkeys(each.engine for each in responses if each.engine))
    kind = count_of(len(responses), "search response") + (f" of {names}" if names else "")
    by_text = any(query.keys() == {"text"} for query in asked)
    rankings = (
        (next(iter(query.values())), ranking_of(each.hits))
        for query, each in zip(asked, responses, strict=False)
    )
    problem = next((each.problem for each in responses if each.problem), "")
    is_run = is_known and not problem
    return Contents(
        kind,
        documents_of(hit for each in responses for hit in each.hits),
        queries_of(asked) if is_known else None,
        rankings=ranked(f"a run from {kind}", rankings, by_text=by_text) if is_run else None,
        lacks={"rankings": f"not whole: {problem}; ask again" if problem else _NO_QUERY},
    )


def queries_of(asked: Iterable[JsonObject]) -> Records | None:
    """Queries, each once, where all have texts."""
    queries = _first_of((next(iter(query.values())), query) for query in asked)
    return queries if all("text" in query for query in queries) else None


def _first_of(records: Iterable[tuple[Any, JsonObject]]) -> list[JsonObject]:
    """The first record of each key."""
    first = dict[Any, JsonObject]()
    for key, record in records:
        first.setdefault(key, record)
    return list(first.values())


def documents_of(hits: Iterable[HitDocument]) -> Records | None:
    """What was indexed of each hit, each document once; None where no hit says it."""
    return _first_of((hit.id, hit.record) for hit in hits if hit.record) or None


def ranking_of(hits: Iterable[HitDocument]) -> Ranked:
    """The documents of a response and their scores, best first; of each, its first place."""
    return list({hit.id: (hit.id, hit.score) for hit in reversed(list(hits))}.values())[::-1]


def _hits_at(value: Any) -> tuple[str, Any]:
    """Whose hits a value holds, where that is known, and the list of them, which may be itself."""
    if isinstance(value, list):
        return "", value
    places = ((at, value_at(value, around + at)) for around in _AROUND for at in _PLACES)
    at, hits = next((each for each in places if isinstance(each[1], list)), ("", None))
    return ENGINES.get(at, ""), hits


def _responses(value: Any) -> list[Response]:
    if isinstance(value, list):
        return _all_of(value) or _alone(value)
    if not isinstance(value, Mapping):
        return []
    if (response := beside_query(value)) is not None:
        return [response]
    lists = (
        value[name]
        for name in ("responses", "results", "result", "nearestNeighbors")
        if isinstance(value.get(name), list)
    )
    several = next(filter(None, (_all_of(each) for each in lists)), None)
    if several or (several := _alone(value)):
        return several
    by_query = zip(value, _all_of(value.values()), strict=False)
    return [each._replace(query={"key": query}) for query, each in by_query]


def _all_of(values: Collection[Any]) -> list[Response]:
    """The responses that values are, where all are some; else none."""
    responses = list(takewhile(bool, map(_single, values)))
    return list(filter(None, responses)) if len(responses) == len(values) else []


def _single(value: Any) -> Response | None:
    """The response that a value is, with its query or without."""
    if isinstance(value, Mapping) and (response := beside_query(value)):
        return response
    alone = _alone(value)
    return alone[0] if len(alone) == 1 else None


def _alone(value: Any) -> list[Response]:
    """The responses that a value is itself: one, or of Chroma's columns one a query."""
    if value_at(value, "ids") and "included" in value:
        return [Response(hits_of(rows) or [], "Chroma") for rows in _of_columns(value)]
    engine, hits = _hits_at(value)
    is_list = isinstance(value, list)
    are_hits = bool(hits) and all(_is_hit(hit, is_list=is_list) for hit in hits)
    read = hits_of(hits) if engine or are_hits else None
    if read is None and engine and objects(hits):
        raise BadRow(f"a search response of {engine}; its hits have no id; rename their key to id")
    if read is None:
        return []
    places = ("responseHeader.params.q", "request_params.q")
    asked = next((t for at in places if isinstance(t := value_at(value, at), str)), "")
    query = {"text": asked} if asked.strip() else None
    return [Response(read, engine, query, incompleteness(value))]


def _of_columns(value: RowValues) -> Iterator[list[JsonObject]]:
    """The hits of each query of Chroma's `query`, or all that its `get` gave."""
    columns = {
        new: value[name]
        for name, new in {"ids": "id", "documents": "text", "metadatas": "metadata"}.items()
        if value.get(name)
    }
    if not isinstance(value["ids"][0], list):
        columns = {name: [column] for name, column in columns.items()}
    for lists in zip(*columns.values(), strict=True):
        yield [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _is_hit(hit: Any, *, is_list: bool) -> bool:
    """Whether an object has a score or a distance, or wraps what was indexed.

    In a list that nothing surrounds, the score has to be a search's.
    """
    if not isinstance(hit, Mapping) or has_column(hit, QUERY_TEXT, QUERY_ID):
        return False
    is_scored = _score_in(hit) is not None and (not is_list or "index" in hit or "_id" in hit)
    is_found = is_scored or _source_of(hit) is not None
    return has_column(hit, _OF_A_SEARCH) or (is_found and not (is_list and is_hit(hit)))


def beside_query(row: RowValues) -> Response | None:
    """The response in a row that names its query, by id or by text."""
    asked = query_in(row)
    if asked is None:
        return None
    named = {key_of(name): row[name] for name in list(row)[::-1]}
    lists = [named[name] for name in _LISTS if name in named]
    may_be = (each for each in (row, *lists) if isinstance(each, Mapping))
    inner = next(filter(_alone, may_be), row)
    if len(responses := _alone(inner)) == 1:
        return responses[0]._replace(query=asked)
    read = next((hits_of(each) for each in lists if isinstance(each, list)), None)
    return None if read is None else Response(read, "", asked)


def query_in(row: RowValues, ids: tuple[str, ...] = QUERY_ID) -> JsonObject | None:
    """The query of a row, whose text and id may stand in an object of their own.

    None where it names none; the id that Kendra's answers have is theirs.
    """
    name = column_of(row, _TEXTS)
    asked = plain_key(row[name]) if name else None
    inside, text = (asked, asked.get("text")) if isinstance(asked, Mapping) else (row, asked)
    more = ("id",) if has_column(row, _OWN_IDS) else ()
    key = None if "ResultItems" in row else column_of(inside, (*ids, *more))
    query = {"_id": inside[key]} if key and may_be_id(inside[key]) else {}
    if isinstance(text, str) and text.strip():
        query["text"] = text
    return query or None


def hits_of(hits: list[Any]) -> list[HitDocument] | None:
    """The documents of a list, by rank where it has ranks; None where one is no document."""
    read = [hit for each in _in_order(hits) if (hit := hit_of(each))]
    return read if len(read) == len(hits) else None


def hit_of(value: Any) -> HitDocument | None:
    """A document of an answer; None of anything else. Where it has no id, its text gives one."""
    if may_be_id(value):
        return HitDocument(value, None, {})
    if isinstance(value, list) and len(value) == 2 and may_be_id(value[0]):
        score = number_of(value[1])
        return None if score is None else HitDocument(value[0], score, {})
    if not isinstance(value, Mapping) or (
        len(value) == 2 and isinstance(value.get(column_of(value, GRADE) or ""), int | str)
    ):
        return None  # a grade is no score
    own = {key_of(name): name for name in reversed(value)}
    at = (value_at(value, path) for path in _IDS_AT)
    keys = map(plain_key, chain(at, (value[own[key]] for key in _IDS if key in own)))
    id_ = next(filter(may_be_id, keys), None)
    source = _source_of(value)
    if source is None:
        source = {n: x for n, x in value.items() if not (is_plumbing(n) or key_of(n) in _OF_HITS)}
        source = source["metadata"] if {"metadata"} == source.keys() - {"id"} else source
    if "DocumentId" in value:  # Kendra's are passages of documents
        source = {}
    record = {n: x for n, x in source.items() if key_of(n) not in _IDS or plain_key(x) != id_}
    own_text = column_of(record, TEXTS)
    if id_ is None and own_text and isinstance(record[own_text], str):
        id_ = text_id(record[own_text])
    if id_ is None:
        return None
    return HitDocument(id_, _score_in(value), {**record, "_id": id_} if record else {})


def _score_in(hit: RowValues) -> float | None:
    """The score of a hit, whatever it calls that."""
    name = column_of(hit, _SCORES)
    values = (
        value_at(hit, path)
        for path in ("_additional.score", "modelScores.relevance_score.values.0")
    )
    return number_of(next((x for x in values if x is not None), hit[name] if name else None))


def _source_of(hit: RowValues) -> RowValues | None:
    """The object that a hit has of what was indexed."""
    sources = (value_at(hit, name) for name in _SOURCES)
    return next((each for each in sources if isinstance(each, Mapping)), None)


def _in_order(hits: list[Any]) -> list[Any]:
    """Hits in the order of the ranks that they name, if these are 1, 2, 3 and so on."""
    ranks = (value_at(hit, column_of(hit, RANK) or "") for hit in hits if isinstance(hit, Mapping))
    by_rank = dict(zip(map(number_of, ranks), hits, strict=False))
    first = 0 if 0 in by_rank else 1
    numbers = range(first, first + len(hits))
    return [by_rank[n] for n in numbers] if {*by_rank} == {*numbers} else hits


def plain_key(value: Any) -> Any:
    """An id as its index has it: of a list its one member, of Vespa's the part of the user's."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    value = value.get("$oid", value) if isinstance(value, Mapping) else value
    parts = value.split(":", 4) if isinstance(value, str) else []
    return parts[4] if len(parts) == 5 and parts[0] == "id" else value


_PLUMBING = frozenset(
    ("score", "sort", "@timestamp", "@version", "highlight", "matched_queries", "inner_hits")
)
_OF_HITS = frozenset((*_SCORES, "distance", "values", "vector", "embedding", "index", "hasanswer"))
"""Fields of hits, beside those of the document that was found."""


def is_plumbing(name: str) -> bool:
    """Whether a field is a search engine's own, and says nothing of the document."""
    return name.startswith(("_", "@search.", "@score")) or name in _PLUMBING


def is_hit(row: RowValues) -> bool:
    """Whether a row is a hit of OpenSearch or Elasticsearch, or of a feed or visit of Vespa."""
    key = row.get("put", row.get("id"))
    if isinstance(key, str) and key.startswith("id:") and "fields" in row:
        return True
    return "_id" in row and any(name in row for name in ("_index", "_score", "_source"))


def indexed(hit: RowValues) -> JsonObject:
    """What was indexed of a hit, and its id as `_id`; empty where the hit says nothing of it."""
    read = hit_of(hit)
    return read.record if read else {}


# Objects by query: `{query: {document: value}}`, ranked lists, and predictions of MTEB.

META = "mteb_model_meta"


def predictions(value: Any) -> Contents | None:
    """The rankings that MTEB keeps of a model: by subset, split, query and document."""
    if value_at(value, META) is None:
        return None
    model = value_at(value, f"{META}.model_name") or "a model"
    runs = {
        (subset, split): run
        for subset, splits in value.items()
        if subset != META and isinstance(splits, Mapping)
        for split, run in splits.items()
        if is_nested(run)
    }
    names = list(map(".".join, runs))
    kind = f"predictions of {model} in MTEB"
    if len(names) != 1:
        first = "".join(f'["{name}"]' for name in next(iter(runs), ()))
        why = f"it holds {len(runs)} runs ({', '.join(names)}); take one: jq '.{first}'"
        return Contents(kind, lacks={"rankings": why})
    return Contents(kind, rankings=rated(f"a run from {kind} ({names[0]})", _pairs(*runs.values())))


def _pairs(value: RowValues) -> Iterator[Triple]:
    return ((query, *each) for query, values in value.items() for each in values.items())


def by_query(value: Any) -> Contents | None:
    """Grades or scores by query and document, as ranx and pytrec_eval have them."""
    if not value or not is_nested(value):
        return None
    if any(isinstance(x, dict | list) for values in value.values() for x in values.values()):
        return None

    return Contents(
        "JSON by query",
        grades=rated("qrels from JSON ({query: {document: grade}})", _pairs(value)),
        rankings=rated("a run from JSON ({query: {document: score}})", _pairs(value)),
    )


def ranked_lists(value: Any) -> Contents | None:
    """Documents by query, best first: ids, or pairs with a score, or objects that have both.

    A single word with objects is no query, nor is one that says what a list holds: so programs name
    what they answer.
    """
    if not isinstance(value, Mapping) or not value:
        return None
    (name, *others), (hits, *_) = value, value.values()
    if not others and name.isalpha() and (objects(hits) or role_of(name)):
        return None
    lists = {q: hits_of(each) for q, each in value.items() if isinstance(each, list)}
    if len(lists) < len(value) or not all(lists.values()):
        return None
    rankings = ((query, ranking_of(hits or ())) for query, hits in lists.items())
    kind = "a run from JSON ({query: [document]})"
    return Contents("ranked lists", rankings=ranked(kind, rankings))
