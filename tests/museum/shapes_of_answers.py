"""What vector stores, search services and rerankers answer, after their documentation.

Each is a function of the ids that were found. It stands alone, where nobody can say for which query
it is, and beside its query.
"""

from collections.abc import Callable
from typing import Any

from specimen import DOCUMENTED, HOSTILE, ROLES, Specimen, lines, table

from labeler.exchange.contents import text_id

RUN = {"q1": ["d1", "d2"], "q2": ["d3"]}
Q1, Q2 = "red shoes", "Where do cats sleep?"
NO_QUERY = "it does not say for which query"
NO_ID = "rename their key to id"

Answer = Callable[..., Any]


def text(id_: str) -> str:
    return f"The text of {id_} is long enough for a passage."


def scored(*ids: str, id_: str = "id", score: str = "score", **fields: Any) -> list[dict[str, Any]]:
    """Hits with ids and falling scores; `fields` are functions of the id, or values."""
    return [
        {
            id_: each,
            score: 0.9 - n / 10,
            **{name: value(each) if callable(value) else value for name, value in fields.items()},
        }
        for n, each in enumerate(ids)
    ]


def chroma(*ids: str) -> dict[str, Any]:
    return {
        "ids": [[*ids]],
        "distances": [[n / 10 for n, _ in enumerate(ids)]],
        "documents": [[*map(text, ids)]],
        "metadatas": [[{"source": "a"} for _ in ids]],
        "embeddings": None,
        "included": ["distances", "documents", "metadatas"],
    }


def bedrock(*ids: str) -> dict[str, Any]:
    return {
        "retrievalResults": [
            {
                "content": {"text": text(id_), "type": "TEXT"},
                "location": {"type": "S3", "s3Location": {"uri": f"s3://bucket/{id_}"}},
                "metadata": {"x-amz-bedrock-kb-chunk-id": id_},
                "score": 0.9 - n / 10,
            }
            for n, id_ in enumerate(ids)
        ]
    }


def kendra(*ids: str) -> dict[str, Any]:
    return {
        "QueryId": "a number of the answer",
        "ResultItems": [
            {
                "Id": f"answer-{id_}",
                "DocumentId": id_,
                "DocumentTitle": {"Text": id_},
                "DocumentExcerpt": {"Text": text(id_)},
                "ScoreAttributes": {"ScoreConfidence": "HIGH"},
            }
            for id_ in ids
        ],
    }


def vertex(*ids: str) -> dict[str, Any]:
    results = [
        {"id": id_, "document": {"name": f"x/{id_}", "id": id_, "structData": {"text": text(id_)}}}
        for id_ in ids
    ]
    return {"results": results, "totalSize": len(ids), "summary": {}}


def neighbors(*ids: str) -> dict[str, Any]:
    return {
        "neighbors": [
            {"datapoint": {"datapointId": id_}, "distance": n / 10} for n, id_ in enumerate(ids)
        ]
    }


def of_text(id_: str) -> dict[str, str]:
    return {"text": text(id_)}


ANSWERS: dict[str, Answer] = {
    "chroma": chroma,
    "bedrock": bedrock,
    "vertex": vertex,
    "pinecone": lambda *ids: {"matches": scored(*ids, values=[], metadata=of_text)},
    "pinecone_records": lambda *ids: {
        "result": {"hits": scored(*ids, id_="_id", score="_score", fields=of_text)}
    },
    "milvus": lambda *ids: {"code": 0, "data": scored(*ids, score="distance", text=text)},
    "pymilvus": lambda *ids: scored(*ids, score="distance", entity=of_text),
    "redis": lambda *ids: {"total_results": 2, "results": scored(*ids, extra_attributes=of_text)},
    "marqo": lambda *ids: {
        "hits": scored(*ids, id_="_id", score="_score", title="T", Description=text)
    },
    "meilisearch": lambda *ids: {
        "hits": scored(*ids, score="_rankingScore", title="T", overview=text)
    },
    "mongodb": lambda *ids: {
        "cursor": {"firstBatch": scored(*ids, id_="_id", title="T", plot=text)}
    },
    "weaviate_objects": lambda *ids: {"objects": scored(*ids, score="x", properties=of_text)},
    "openai": lambda *ids: {
        "data": scored(*ids, id_="file_id", content=lambda id_: [of_text(id_)])
    },
    "cohere": lambda *ids: {
        "results": scored(
            *ids, id_="x", score="relevance_score", document=lambda id_: {"id": id_, **of_text(id_)}
        )
    },
    "llama_index": lambda *ids: scored(
        *ids, id_="x", node=lambda id_: {"id_": id_, "text": text(id_), "metadata": {}}
    ),
    "azure_chunks": lambda *ids: {
        "@odata.context": "x",
        "value": scored(*ids, id_="chunk_id", score="@search.score", title="T", chunk=text),
    },
    "wrapped": lambda *ids: {
        "statusCode": 200,
        "body": {"hits": {"hits": scored(*ids, id_="_id", score="_score", _source=of_text)}},
    },
}
"""Answers that hold texts."""

BARE: dict[str, Answer] = {
    "kendra": kendra,
    "vertex_vectors": neighbors,
    "pinecone_bare": lambda *ids: {"matches": scored(*ids, values=[])},
    "vectorize": lambda *ids: {"result": {"count": 2, "matches": scored(*ids)}},
}
"""Answers without texts, or with passages of documents alone."""

HASHES = [text_id(text("d1")), text_id(text("d2"))]


def specimens() -> list[Specimen]:
    made = []
    for name, answer in {**ANSWERS, **BARE}.items():
        docs = {} if name in BARE else {"documents": {"d1", "d2"}}
        more = {} if name in BARE else {"documents": {"d1", "d2", "d3"}}
        alone = {**docs, "rankings": NO_QUERY}
        rows = [
            {"query": Q1, "response": answer("d1", "d2")},
            {"query": Q2, "response": answer("d3")},
        ]
        both = {"queries": {Q1, Q2}, "rankings": RUN, **more}
        by_id = {"q1": answer("d1", "d2"), "q2": answer("d3")}
        made += [
            Specimen(DOCUMENTED, f"answer_{name}.json", answer("d1", "d2"), alone),
            Specimen(DOCUMENTED, f"answers_{name}.jsonl", lines(*rows), both),
            Specimen(DOCUMENTED, f"answers_{name}_by_id.json", by_id, {"rankings": RUN, **more}),
        ]
    return made


SPECIMENS = [
    *specimens(),
    Specimen(
        HOSTILE,
        "answer_reranker_of_numbers.json",
        {"results": [{"index": 1, "relevance_score": 0.9}]},
        {"rankings": "expected a run"},
    ),
    Specimen(
        HOSTILE,
        "answer_meilisearch_another_key.json",
        {"hits": [{"sku": "d1", "title": "A red shoe"}], "query": Q1},
        dict.fromkeys(ROLES, NO_ID),
    ),
    Specimen(
        DOCUMENTED,
        "answers_first_without_hits.jsonl",
        lines({"query": Q2, "results": []}, {"query": Q1, "results": [{"id": "d1"}]}),
        {"queries": {Q1, Q2}, "rankings": {"q1": ["d1"]}},
    ),
    Specimen(
        HOSTILE,
        "mongoexport.jsonl",
        lines({"_id": {"$oid": "d1"}, "text": text("d1")}),
        dict.fromkeys(("documents", "queries"), "expected '_id' to be a string"),
    ),
    Specimen(
        DOCUMENTED,
        "pgvector.csv",
        table(("query_id", "doc_id", "distance"), ("q1", "d2", 0.2), ("q1", "d1", 0.1)),
        {"rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        HOSTILE,
        "pgvector_drawn.queries",
        " id | content\n----+---------\n 1 | a red shoe\n(1 row)\n",
        {"queries": "marks of a format"},
    ),
    *(
        Specimen(HOSTILE, f"by_column_{n}.json", value, dict.fromkeys(ROLES, "a table by columns"))
        for n, value in enumerate(
            (
                {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "grade": [2, 0]},
                {"query_id": {"0": "q1"}, "doc_id": {"0": "d1"}, "grade": {"0": 2}},
                {"columns": [{"name": "_id"}, {"name": "text"}], "values": [["d1", "x"]]},
            )
        )
    ),
    Specimen(HOSTILE, "numbered_rows.json", {"0": {"query_id": "q1", "doc_id": "d1", "grade": 2}}),
    Specimen(HOSTILE, "lists_of_queries.json", {"queries": ["a", "b"]}, {"queries": {"a", "b"}}),
    Specimen(
        DOCUMENTED,
        "one_row_with_a_list.jsonl",
        lines({"_id": "d1", "title": "T", "text": text("d1"), "tags": [{"text": "x"}]}),
        {"documents": {"d1"}, "queries": {text("d1")}},
    ),
    Specimen(
        DOCUMENTED,
        "deepeval_in_cells.csv",
        table(("input", "expected_output", "context"), (Q1, "x", f"{text('d1')}|{text('d2')}")),
        {
            "queries": {Q1},
            "documents": {*HASHES},
            "grades": {"q1": dict.fromkeys(HASHES, 1)},
        },
    ),
    Specimen(
        DOCUMENTED,
        "algolia_records.json",
        [{"objectID": "d1", "name": "A red shoe", "description": text("d1")}],
        {"documents": {"d1"}},
    ),
    Specimen(DOCUMENTED, "queries.keyed.yaml", "queries:\n  - red shoes\n", {"queries": {Q1}}),
    Specimen(HOSTILE, "queries_by_id.yaml", "q1: red shoes\n", {"queries": "marks of a format"}),
    *(
        Specimen(
            HOSTILE, name, content, {"queries": "marks of a format", "documents": {f"{name}:*"}}
        )
        for name, content in (
            ("bold.md", "- **red shoes**\n- blue hat\n"),
            ("macintosh.txt", b"red shoes\rblue hat\r"),
            ("a_program.txt", "queries = [\n  'red shoes',\n]\n"),
        )
    ),
    *(
        Specimen(
            DOCUMENTED, name, content, {"queries": {Q1, "blue hat"}, "documents": {f"{name}:*"}}
        )
        for name, content in (
            ("bullets.txt", "• red shoes\n• blue hat\n"),
            ("numbers.txt", "1 red shoes\n2 blue hat\n"),
            ("quoted.txt", '"red shoes"\n"blue hat"\n'),
        )
    ),
]
