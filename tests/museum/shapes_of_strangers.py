"""Files as people have them who never read this project's pages: each was misread once."""

from typing import Any

from shapes_of_runs import search
from specimen import BY_TOOL, DOCUMENTED, HOSTILE, Specimen, lines, table

Q1, Q3 = "red shoes", "blue hat"
LATE = search("d3", "d1") | {"query": Q3, "timed_out": True}
PARTIAL = search("d3") | {"query": Q3, "_shards": {"total": 5, "successful": 4, "failed": 1}}
DEGRADED = {
    "query": Q1,
    "root": {
        "coverage": {"coverage": 40, "degraded": {"timeout": True}, "full": False},
        "children": [{"id": "id:shop:product::d1", "relevance": 0.9, "fields": {}}],
    },
}
BELOW = "the names of columns, below other lines"
BY_COLUMN = dict.fromkeys(("queries", "documents", "grades", "rankings"), "a table by columns")


def columns(**lists: Any) -> dict[str, Any]:
    """Queries and what belongs to each, as columns of one length."""
    return {"queries": [Q1, Q3], **lists}


SPECIMENS = [
    Specimen(
        DOCUMENTED,
        "response_with_its_query.jsonl",
        lines(search("d1", "d3") | {"query": Q1}, search("d3") | {"query": Q3}),
        {"queries": {Q1, Q3}, "rankings": {"q1": ["d1", "d3"], "q3": ["d3"]}},
    ),
    *(
        Specimen(
            DOCUMENTED,
            f"not_whole_{name}.jsonl",
            lines(*rows),
            {"queries": {row["query"] for row in rows}, "rankings": "not whole: "},
        )
        for name, rows in (
            ("late", [search("d1") | {"query": Q1}, LATE]),
            ("partial", [search("d1") | {"query": Q1}, PARTIAL]),
            ("degraded", [DEGRADED]),
        )
    ),
    Specimen(
        HOSTILE,
        "report_above_a_table.csv",
        "Report of November\n\nquery_id,doc_id,score\nq1,d1,2.0\n",
        {"queries": BELOW},
    ),
    Specimen(
        DOCUMENTED,
        "analytics_export.csv",
        "# Site search\n# 20261001\nSearch term,Event count\nred shoes,120\n",
        {"queries": BELOW},
    ),
    Specimen(
        DOCUMENTED, "three_numbers", "1 184 2\n1 29 2\n1 31 -1\n", {"queries": "without names"}
    ),
    Specimen(
        DOCUMENTED,
        "triples_of_training.tsv",
        table(
            (Q1, "red running shoes for women", "a hat of blue wool"),
            (Q3, "a hat of blue wool", "cats sleep in warm places"),
            by="\t",
        ),
        {"documents": "expected the names of the columns"},
    ),
    Specimen(
        BY_TOOL,
        "survey_export.csv",
        'Timestamp,"How relevant is d1 to this query?"\n2026/11/01 10:00,3\n',
        {"documents": "expected the names of the columns"},
    ),
    *(
        Specimen(
            HOSTILE,
            f"lines_{encoding}.txt",
            "красные туфли для женщин\nгде спят кошки\n".encode(encoding),
            {"queries": "save the file as UTF-8", "documents": "save the file as UTF-8"},
        )
        for encoding in ("cp1251", "koi8_r")
    ),
    Specimen(
        DOCUMENTED,
        "haystack_truth.json",
        columns(ground_truth_documents=[["d1"], ["d3"]]),
        BY_COLUMN,
    ),
    Specimen(
        BY_TOOL,
        "faiss_answer.json",
        columns(ids=[["d1"], ["d3"]], distances=[[0.1], [0.2]]),
        BY_COLUMN,
    ),
    Specimen(
        HOSTILE,
        "rank_before_document.trec",
        "q1 Q0 1 d1 9.5 x\nq1 Q0 2 d3 8.5 x\n",
        {"rankings": "a rank (1) where TREC's runs have the document"},
    ),
    Specimen(
        BY_TOOL,
        "merged_cells_saved_as.csv",
        "query,doc_id,grade\nred shoes,d1,3\n,d3,0\n",
        {"grades": "merged_cells_saved_as.csv:3: expected a query id, found ''"},
    ),
    Specimen(
        BY_TOOL,
        "objects_of_jq.json",
        '{"query": "red shoes",\n "hits": ["d1"]}\n{"query": "blue hat",\n "hits": ["d3"]}\n',
        dict.fromkeys(("queries", "documents", "grades", "rankings"), "jq -c . FILE"),
    ),
]
