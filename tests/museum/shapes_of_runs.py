"""Rankings as search engines, evaluation tools and people's spreadsheets have them."""

from typing import Any

from specimen import BY_TOOL, DOCUMENTED, HOSTILE, Specimen, lines, table

RUN = {"q1": ["d1", "d2"], "q2": ["d3"]}
BY_TEXT = {"red shoes": "q1", "Where do cats sleep?": "q2"}


def search(*ids: str, source: bool = False) -> dict[str, Any]:
    """An answer of OpenSearch or Elasticsearch."""
    hits = [
        {
            "_index": "shop",
            "_id": id_,
            "_score": 9.5 - n,
            **({"_source": {"title": f"The {id_}"}} if source else {}),
        }
        for n, id_ in enumerate(ids)
    ]
    total = {"value": len(ids), "relation": "eq"}
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    return {
        "took": 3,
        "timed_out": False,
        "_shards": shards,
        "hits": {"total": total, "max_score": 9.5, "hits": hits},
    }


def solr(*ids: str, query: str = "red shoes") -> dict[str, Any]:
    docs = [{"id": id_, "title": [f"The {id_}"], "score": 3.5 - n} for n, id_ in enumerate(ids)]
    header = {"status": 0, "QTime": 1, "params": {"q": query, "rows": "10"}}
    return {"responseHeader": header, "response": {"numFound": len(ids), "start": 0, "docs": docs}}


def vespa(*ids: str) -> dict[str, Any]:
    children = [
        {
            "id": f"id:shop:product::{id_}",
            "relevance": 0.9 - n / 10,
            "source": "shop",
            "fields": {"title": f"The {id_}"},
        }
        for n, id_ in enumerate(ids)
    ]
    return {
        "root": {
            "id": "toplevel",
            "relevance": 1.0,
            "fields": {"totalCount": len(ids)},
            "children": children,
        }
    }


def algolia(*ids: str, query: str = "red shoes") -> dict[str, Any]:
    hits = [{"objectID": id_, "name": f"The {id_}", "_highlightResult": {}} for id_ in ids]
    return {"hits": hits, "nbHits": len(ids), "page": 0, "query": query, "params": "query=x"}


def typesense(*ids: str, query: str = "red shoes") -> dict[str, Any]:
    hits = [
        {
            "document": {"id": id_, "title": f"The {id_}"},
            "text_match": 578730123365187705,
            "highlights": [],
        }
        for id_ in ids
    ]
    return {
        "found": len(ids),
        "hits": hits,
        "out_of": 10,
        "page": 1,
        "request_params": {"q": query, "per_page": 10},
    }


def qdrant(*ids: str) -> dict[str, Any]:
    points = [
        {"id": id_, "version": 1, "score": 0.9 - n / 10, "payload": {"text": f"The {id_}"}}
        for n, id_ in enumerate(ids)
    ]
    return {"result": {"points": points}, "status": "ok", "time": 0.001}


Q1, Q2 = "red shoes", "Where do cats sleep?"
DOCS = {"d1", "d2", "d3"}
BOTH = {"queries": {Q1, Q2}, "documents": DOCS, "rankings": RUN}
NO_QUERY = "it does not say for which query"

SPECIMENS = [
    Specimen(DOCUMENTED, "search.json", search("d1", "d2"), {"rankings": NO_QUERY}),
    Specimen(
        DOCUMENTED,
        "search_source.json",
        search("d1", "d2", source=True),
        {"documents": {"d1", "d2"}, "rankings": NO_QUERY},
    ),
    Specimen(
        DOCUMENTED,
        "msearch.json",
        {"took": 9, "responses": [search("d1"), search("d3")]},
        {"rankings": NO_QUERY},
    ),
    Specimen(
        DOCUMENTED, "by_id.json", {"q1": search("d1", "d2"), "q2": search("d3")}, {"rankings": RUN}
    ),
    Specimen(
        DOCUMENTED, "by_text.json", {Q1: search("d1", "d2"), Q2: search("d3")}, {"rankings": RUN}
    ),
    Specimen(
        DOCUMENTED,
        "by_text_other_case.json",
        {"Red  shoes": search("d1", "d2"), "where do cats sleep": search("d3")},
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "hits.ndjson",
        lines({"query": Q1, **search("d1", "d2")}, {"query": Q2, **search("d3")}),
        {"queries": {Q1, Q2}, "rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "hits_list.jsonl",
        lines(
            {"query": Q1, "hits": search("d1", "d2")["hits"]["hits"]},
            {"query": Q2, "hits": search("d3")["hits"]["hits"]},
        ),
        {"queries": {Q1, Q2}, "rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "response.jsonl",
        lines(
            {"query_id": "q1", "response": search("d1", "d2")},
            {"query_id": "q2", "response": search("d3")},
        ),
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "one_line.jsonl",
        lines({"query": Q1, **search("d1", "d2")}),
        {"queries": {Q1}, "rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        DOCUMENTED,
        "ids.jsonl",
        lines({"qid": "q1", "results": ["d1", "d2"]}, {"qid": "q2", "results": ["d3"]}),
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "scored.jsonl",
        lines(
            {"qid": "q1", "docs": [{"id": "d1", "score": 2}, {"id": "d2", "score": 1}]},
            {"qid": "q2", "docs": [{"id": "d3", "score": 2}]},
        ),
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "ranks_out_of_order.jsonl",
        lines({"qid": "q1", "docs": [{"doc_id": "d2", "rank": 2}, {"doc_id": "d1", "rank": 1}]}),
        {"rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        DOCUMENTED,
        "solr.json",
        solr("d1", "d2"),
        {"queries": {Q1}, "documents": {"d1", "d2"}, "rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(DOCUMENTED, "solr.jsonl", lines(solr("d1", "d2"), solr("d3", query=Q2)), BOTH),
    Specimen(
        DOCUMENTED,
        "solr_by_id.json",
        {"q1": solr("d1", "d2"), "q2": solr("d3")},
        {"documents": DOCS, "rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "vespa.json",
        vespa("d1", "d2"),
        {"documents": {"d1", "d2"}, "rankings": NO_QUERY},
    ),
    Specimen(
        DOCUMENTED,
        "vespa_by_id.json",
        {"q1": vespa("d1", "d2"), "q2": vespa("d3")},
        {"documents": DOCS, "rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "vespa.jsonl",
        lines({"query": Q1, **vespa("d1", "d2")}, {"query": Q2, **vespa("d3")}),
        BOTH,
    ),
    Specimen(
        DOCUMENTED,
        "algolia.json",
        algolia("d1", "d2"),
        {"queries": {Q1}, "documents": {"d1", "d2"}, "rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        DOCUMENTED,
        "algolia_multi.json",
        {"results": [algolia("d1", "d2"), algolia("d3", query=Q2)]},
        BOTH,
    ),
    Specimen(
        DOCUMENTED,
        "typesense.json",
        typesense("d1", "d2"),
        {"queries": {Q1}, "documents": {"d1", "d2"}, "rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        DOCUMENTED,
        "typesense_multi.json",
        {"results": [typesense("d1", "d2"), typesense("d3", query=Q2)]},
        BOTH,
    ),
    Specimen(
        DOCUMENTED,
        "qdrant.json",
        {"q1": qdrant("d1", "d2"), "q2": qdrant("d3")},
        {"documents": DOCS, "rankings": RUN},
    ),
    Specimen(
        BY_TOOL,
        "ranx.json",
        {"q1": {"d1": 0.3, "d2": 0.2}, "q2": {"d3": 0.1}},
        {"rankings": RUN, "grades": "a run?"},
    ),
    Specimen(BY_TOOL, "lists.json", RUN, {"rankings": RUN}),
    Specimen(
        DOCUMENTED,
        "pairs.json",
        {"q1": [["d1", 0.9], ["d2", 0.8]], "q2": [["d3", 1.0]]},
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "objects.json",
        {"q1": [{"id": "d1", "score": 0.9}, {"id": "d2", "score": 0.8}], "q2": [{"id": "d3"}]},
        {"rankings": RUN},
    ),
    Specimen(DOCUMENTED, "lists_by_text.json", {Q1: ["d1", "d2"], Q2: ["d3"]}, {"rankings": RUN}),
    Specimen(
        BY_TOOL,
        "mteb_predictions.json",
        {
            "mteb_model_meta": {"model_name": "a/b", "revision": "1"},
            "default": {"test": {"q1": {"d1": 0.3, "d2": 0.2}, "q2": {"d3": 0.1}}},
        },
        {"rankings": RUN},
    ),
    Specimen(
        BY_TOOL,
        "mteb_two_splits.json",
        {
            "mteb_model_meta": {"model_name": "a/b"},
            "default": {"test": {"q1": {"d1": 0.3}}, "dev": {"q1": {"d2": 0.3}}},
        },
        {"rankings": "it holds 2 runs (default.test, default.dev); take one: jq"},
    ),
    Specimen(
        DOCUMENTED,
        "trec.txt",
        "q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\nq2 Q0 d3 1 9 me\n",
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "trec_tabs.run",
        "q1\tQ0\td1\t1\t2.5\tme\nq1\tQ0\td2\t2\t1.5\tme\nq2\tQ0\td3\t1\t9\tme\n",
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "trec_utf16.run",
        "q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\nq2 Q0 d3 1 9 me\n".encode("utf-16"),
        {"rankings": RUN},
    ),
    Specimen(DOCUMENTED, "msmarco.tsv", "q1\td1\t1\nq1\td2\t2\nq2\td3\t1\n", {"rankings": RUN}),
    Specimen(
        DOCUMENTED,
        "pyterrier.csv",
        table(
            ("qid", "docno", "score", "rank"),
            ("q1", "d1", 2.5, 0),
            ("q1", "d2", 1.5, 1),
            ("q2", "d3", 1, 0),
        ),
        {"rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "by_text.csv",
        table(
            ("query", "rank", "docid", "score"),
            (Q1, 1, "d1", 2.5),
            (Q1, 2, "d2", 1.5),
            (Q2, 1, "d3", 1),
        ),
        {"queries": {Q1, Q2}, "rankings": RUN},
    ),
    Specimen(
        DOCUMENTED,
        "german.csv",
        table(
            ("Query", "Position", "Product ID"), (Q1, 1, "d1"), (Q1, 2, "d2"), (Q2, 1, "d3"), by=";"
        ),
        {"queries": {Q1, Q2}, "rankings": RUN},
    ),
    Specimen(
        HOSTILE,
        "answers.jsonl",
        lines(
            {
                "question": Q1,
                "documents": ["A long text that is a passage.", "Another text that is one."],
            }
        ),
        {"queries": {Q1}},
    ),
    Specimen(HOSTILE, "nan.json", '{"q1": {"d1": NaN}}'),
    Specimen(HOSTILE, "deep.json", "[" * 3000 + "]" * 3000),
    Specimen(HOSTILE, "empty.json", {}),
    Specimen(
        HOSTILE,
        "no_hits.json",
        {"q1": search(), "q2": search()},
        {"rankings": "no query with a document"},
    ),
]
