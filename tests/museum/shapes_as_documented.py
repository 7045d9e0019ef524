"""Variants that the tools' own documentation allows, and files that are nearly of a format."""

from typing import Any

from made_documents import workbook
from specimen import BY_TOOL, DOCUMENTED, HOSTILE, ROLES, Specimen, lines, table

from labeler.exchange.contents import text_id

RED, BLUE = "red shoes", "blue hat"
PARAGRAPH = "Red shoes are sold here."
QUESTIONS = [
    {"id": "a", "question": "What is sold?", "is_impossible": False},
    {"id": "b", "question": "Where are hats?", "is_impossible": True},
]
SQUAD = {"data": [{"title": "T", "paragraphs": [{"context": PARAGRAPH, "qas": QUESTIONS}]}]}
COLUMNS = "columns without names"
GRADES = [["query", "docid", "rating"], [RED, "d1", "3"], [BLUE, "d3", "1"]]
UNKNOWN_QUERY = "it does not say for which query"


def of_weaviate(**fields: Any) -> dict[str, Any]:
    hit = {**fields, "_additional": {"id": "d1", "score": "2"}}
    return {"data": {"Get": {"Doc": [hit]}}}


def of_azure(*hits: dict[str, Any]) -> dict[str, Any]:
    context = "https://x/indexes('docs')/$metadata#docs(*)"
    return {"@odata.context": context, "value": [{"@search.score": 2.0, **hit} for hit in hits]}


def of_solr(header: str) -> str:
    hits = "".join(
        f'<doc><str name="id">{id_}</str><arr name="title"><str>A red shoe</str></arr>'
        f'<float name="score">{score}</float></doc>\n'
        for id_, score in (("d1", 2.5), ("d2", 1.25))
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<response>\n<lst name="responseHeader">{header}'
        f'</lst>\n<result name="response" numFound="2" start="0">{hits}</result>\n</response>\n'
    )


SPECIMENS = [
    Specimen(
        DOCUMENTED,
        "weaviate_graphql.json",
        of_weaviate(title="A red shoe"),
        {"documents": {"d1"}, "rankings": UNKNOWN_QUERY},
    ),
    Specimen(
        DOCUMENTED,
        "weaviate_by_query.jsonl",
        lines({"query_id": "q1", "response": of_weaviate()}),
        {"rankings": {"q1": ["d1"]}},
    ),
    Specimen(
        DOCUMENTED,
        "azure_search.json",
        of_azure({"id": "d1", "title": "A red shoe"}),
        {"documents": {"d1"}, "rankings": UNKNOWN_QUERY},
    ),
    Specimen(
        DOCUMENTED,
        "azure_by_query.json",
        {"q1": of_azure({"id": "d1"}), "q3": of_azure()},
        {"rankings": {"q1": ["d1"]}},
    ),
    Specimen(
        DOCUMENTED,
        "azure_another_key.json",
        of_azure({"sku": "d1", "title": "A red shoe"}),
        dict.fromkeys(ROLES, "rename their key to id"),
    ),
    Specimen(
        DOCUMENTED,
        "algolia_one_without_hits.json",
        {
            "results": [
                {"hits": [{"objectID": "d1"}, {"objectID": "d2"}], "query": RED, "nbHits": 2},
                {"hits": [], "query": BLUE, "nbHits": 0},
            ]
        },
        {"queries": {RED, BLUE}, "rankings": {"q1": ["d1", "d2"]}},
    ),
    Specimen(
        DOCUMENTED,
        "typesense_one_without_hits.json",
        {
            "results": [
                {
                    "found": 1,
                    "hits": [{"document": {"id": "d1", "title": "A red shoe"}, "text_match": 5}],
                    "request_params": {"q": RED},
                },
                {"found": 0, "hits": [], "request_params": {"q": BLUE}},
            ]
        },
        {"queries": {RED, BLUE}, "documents": {"d1"}, "rankings": {"q1": ["d1"]}},
    ),
    Specimen(
        DOCUMENTED,
        "opensearch_fields.json",
        {
            "hits": {
                "hits": [{"_index": "i", "_id": "d1", "_score": 2, "fields": {"title": ["A b"]}}]
            }
        },
        {"documents": {"d1"}, "rankings": UNKNOWN_QUERY},
    ),
    Specimen(
        DOCUMENTED,
        "msearch_with_an_error.json",
        {
            "responses": [
                {"hits": {"hits": [{"_index": "i", "_id": "d1", "_score": 1}]}},
                {"error": {"type": "index_not_found_exception"}, "status": 404},
            ]
        },
    ),
    Specimen(
        DOCUMENTED,
        "quepid_case.json",
        {
            "case_id": 1,
            "queries": [
                {"query_text": RED, "ratings": [{"doc_id": "d1", "rating": 3}]},
                {"query_text": BLUE, "ratings": [{"doc_id": "d3", "rating": 1}]},
                {"query_text": "other words", "ratings": []},
            ],
        },
        {"queries": {RED, BLUE, "other words"}, "grades": {"q1": {"d1": 3}, "q3": {"d3": 1}}},
    ),
    Specimen(
        DOCUMENTED,
        "quepid_case_by_id.json",
        {"queries": [{"query_text": RED, "ratings": {"d1": "3", "d2": "0"}}]},
        {"queries": {RED}, "grades": {"q1": {"d1": 3, "d2": 0}}},
    ),
    Specimen(
        DOCUMENTED,
        "squad.json",
        SQUAD,
        {
            "queries": {"What is sold?", "Where are hats?"},
            "documents": {text_id(PARAGRAPH)},
            "grades": {"a": {text_id(PARAGRAPH): 1}},
        },
    ),
    Specimen(
        DOCUMENTED,
        "ragas_ids_alone.jsonl",
        lines(
            {
                "user_input": RED,
                "reference": "x",
                "reference_context_ids": ["d1"],
                "retrieved_context_ids": ["d2", "d1"],
            }
        ),
        {"queries": {RED}, "grades": {"q1": {"d1": 1}}, "rankings": {"q1": ["d2", "d1"]}},
    ),
    Specimen(
        DOCUMENTED,
        "ragas_ids_and_texts.jsonl",
        lines(
            {
                "user_input": RED,
                "reference_contexts": ["A red shoe."],
                "reference_context_ids": ["d1"],
            }
        ),
        {"queries": {RED}, "documents": {"d1"}, "grades": {"q1": {"d1": 1}}},
    ),
    Specimen(
        DOCUMENTED,
        "letor.txt",
        "3 qid:1 1:0.5 2:0.1 # d1\n0 qid:1 1:0.2 2:0.1 # d2\n",
        {"queries": COLUMNS, "documents": COLUMNS},
    ),
    Specimen(
        DOCUMENTED,
        "letor_with_ids.txt",
        "3 qid:q1 1:0.5 2:0.1 # docid = d1\n0 qid:q1 1:0.2 2:0.1 #docid = d2 inc = 1 prob = 0.2\n",
        {"queries": COLUMNS, "documents": COLUMNS, "grades": {"q1": {"d1": 3, "d2": 0}}},
    ),
    Specimen(
        HOSTILE,
        "letor_with_an_id_missing.txt",
        "3 qid:q1 1:0.5 # docid = d1\n0 qid:q1 1:0.2\n",
        {"queries": COLUMNS, "documents": COLUMNS, "grades": "expected a grade, qid:QUERY"},
    ),
    Specimen(
        DOCUMENTED,
        "solr.xml",
        of_solr(f'<lst name="params"><str name="q">{RED}</str><str name="wt">xml</str></lst>'),
        {"queries": {RED}, "rankings": {"q1": ["d1", "d2"]}, "documents": {"d1", "d2"}},
    ),
    Specimen(
        DOCUMENTED,
        "solr_without_its_query.xml",
        of_solr('<int name="status">0</int>'),
        {"documents": {"d1", "d2"}, "rankings": UNKNOWN_QUERY},
    ),
    Specimen(HOSTILE, "solr_cut_off.xml", of_solr("")[:-30]),
    Specimen(
        HOSTILE, "solr_with_entities.xml", of_solr("").replace("<resp", '<!ENTITY a "b"><resp', 1)
    ),
    Specimen(
        HOSTILE,
        "a_run_of_five_columns.txt",
        "q1 d1 1 2.5 me\nq1 d2 2 1.5 me\n",
        {"queries": COLUMNS, "documents": COLUMNS},
    ),
    Specimen(
        HOSTILE,
        "queries_and_counts.tsv",
        table(("1", RED, 5), ("2", BLUE, 7), by="\t"),
        {"grades": "names no columns", "rankings": "names no columns"},
    ),
    Specimen(
        HOSTILE,
        "grades_of_three_columns.tsv",
        table(("q1", "d1", 2), ("q1", "d2", 0), by="\t"),
        {"grades": "expected 4 columns", "rankings": "are these grades?"},
    ),
    Specimen(
        HOSTILE,
        "settings.toml",
        'queries = ["red shoes"]\ndepth = 10\n',
        {"queries": "a setting, and no query"},
    ),
    Specimen(HOSTILE, "null.json", "null\n", {"queries": "no array and no object of JSON"}),
    Specimen(HOSTILE, "a_text.json", '"red shoes"\n', {"queries": "no array and no object"}),
    Specimen(
        DOCUMENTED,
        "one_hit.jsonl",
        lines({"_index": "i", "_id": "d1", "_score": 1, "_source": {"title": "A red shoe"}}),
        {"documents": {"d1"}},
    ),
    Specimen(
        BY_TOOL,
        "grade_sheet.xlsx",
        workbook({"How to": [["Grade each."]], "Grades": GRADES}),
        {
            "queries": {RED, BLUE},
            "grades": {"q1": {"d1": 3}, "q3": {"d3": 1}},
            "documents": {"grade_sheet.xlsx:*"},
        },
    ),
    Specimen(
        BY_TOOL,
        "two_sheets.xlsx",
        workbook({"Ann": GRADES, "Bob": GRADES}),
        {
            "queries": "2 sheets hold rows (Ann, Bob)",
            "grades": "keep the one to read",
            "rankings": "keep the one to read",
            "documents": {"two_sheets.xlsx:*"},
        },
    ),
]
