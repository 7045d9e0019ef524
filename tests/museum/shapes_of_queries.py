"""Queries and documents: lists, tables, topics, responses, and sets of tests for RAG."""

from typing import Any

from specimen import BY_TOOL, DOCUMENTED, HOSTILE, Specimen, lines, table

Q1, Q2 = "red shoes", "Where do cats sleep?"
QUERIES = {Q1, Q2}
TEXTS = ["A red shoe is red all over.", "A cat sleeps wherever it likes.", "A hat is blue now."]
DOCS = [{"_id": f"d{n}", "title": f"T{n}", "text": text} for n, text in enumerate(TEXTS, 1)]
IDS = {"d1", "d2", "d3"}


def text_ids(*texts: str) -> list[str]:
    """The ids that contexts get, by their definition: a hash of the words."""
    import hashlib

    return [f"d{hashlib.sha256(text.encode()).hexdigest()[:12]}" for text in texts]


A, B, C = text_ids(*TEXTS)
GRADED = {"q1": {A: 1}, "q2": {B: 1}}
RANKED = {"q1": [A, C], "q2": [C]}
WHOLE = {"queries": QUERIES, "documents": {A, B, C}, "grades": GRADED, "rankings": RANKED}
NO_RANKING = {"queries": QUERIES, "documents": {A, B}, "grades": GRADED}


def ragas(**names: str) -> list[dict[str, Any]]:
    rows = [
        {
            "user_input": Q1,
            "reference_contexts": [TEXTS[0]],
            "retrieved_contexts": [TEXTS[0], TEXTS[2]],
        },
        {"user_input": Q2, "reference_contexts": [TEXTS[1]], "retrieved_contexts": [TEXTS[2]]},
    ]
    return [
        {names.get(k, k): v for k, v in {**row, "reference": "x", "response": "y"}.items()}
        for row in rows
    ]


def in_cells(rows: list[dict[str, Any]]) -> str:
    """As pandas writes lists into the cells of a CSV file."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


GOLDENS = [
    {
        "input": Q1,
        "expected_output": "x",
        "context": [TEXTS[0]],
        "retrieval_context": [TEXTS[0], TEXTS[2]],
    },
    {"input": Q2, "expected_output": "y", "context": [TEXTS[1]], "retrieval_context": [TEXTS[2]]},
]
TOPICS = (
    f"<top>\n<num> Number: 1\n<title> {Q1}\n<desc> Description:\nshoes\n</top>\n"
    f"<top>\n<num> Number: 2\n<title> {Q2}\n</top>\n"
)
LLAMA = {
    "queries": {"q1": Q1, "q2": Q2},
    "corpus": {"d1": TEXTS[0], "d2": TEXTS[1]},
    "relevant_docs": {"q1": ["d1"], "q2": ["d2"]},
    "mode": "text",
}
EXAMPLES = [
    {"query": q, "query_by": {"type": "ai"}, "reference_contexts": [c], "reference_answer": "x"}
    for q, c in zip((Q1, Q2), TEXTS, strict=False)
]
PROMPTFOO = {
    "results": {
        "version": 3,
        "results": [
            {"vars": {"query": Q1}, "success": True},
            {"vars": {"query": Q2}, "success": True},
        ],
    }
}
BULK = lines(
    *(
        row
        for doc in DOCS
        for row in (
            {"index": {"_index": "x", "_id": doc["_id"]}},
            {"title": doc["title"], "text": doc["text"]},
        )
    )
)
LIST = f"{Q1}\n{Q2}\n"

SPECIMENS = [
    Specimen(DOCUMENTED, "lines.query", LIST, {"queries": QUERIES}),
    Specimen(DOCUMENTED, "topics_colon.query", f"301:{Q1}\n302: {Q2}\n", {"queries": QUERIES}),
    Specimen(DOCUMENTED, "lines_crlf.query", LIST.replace("\n", "\r\n"), {"queries": QUERIES}),
    *(
        Specimen(DOCUMENTED, f"lines_{e}.query", LIST.encode(e), {"queries": QUERIES})
        for e in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")
    ),
    Specimen(
        DOCUMENTED,
        "windows.query",
        "caf\u00e9 \u201eA\u201c\nna\u00efve\n".encode("cp1252"),
        {"queries": {"café „A“", "naïve"}},
    ),
    Specimen(
        HOSTILE,
        "mixed.query",
        "caf\u00e9\n".encode() + "caf\u00e9 na\u00efve \u20ac\n".encode("cp1252") + b"\x81\n",
        {"queries": "not UTF-8"},
    ),
    Specimen(
        DOCUMENTED,
        "list.md",
        f"# Questions\n\n1. {Q1}\n2. {Q2}\n",
        {"queries": QUERIES, "documents": {"list.md:*"}},
    ),
    Specimen(
        DOCUMENTED,
        "bullets.md",
        f"- {Q1}\n- {Q2}\n",
        {"queries": QUERIES, "documents": {"bullets.md:*"}},
    ),
    Specimen(
        HOSTILE,
        "prose.md",
        f"# Questions\n\nWe ask:\n\n- {Q1}\n",
        {"queries": "no item, among lines", "documents": {"prose.md:*"}},
    ),
    Specimen(DOCUMENTED, "list.yaml", f"- {Q1}\n- '{Q2}'\n", {"queries": QUERIES}),
    Specimen(DOCUMENTED, "keyed.yaml", f'- query: {Q1}\n- query: "{Q2}"\n', {"queries": QUERIES}),
    Specimen(
        HOSTILE,
        "objects.yaml",
        f"- id: 1\n  query: {Q1}\n- id: 2\n  query: {Q2}\n",
        {"queries": "no item, among lines"},
    ),
    Specimen(
        HOSTILE, "queries.docx", b"PK\x03\x04" + b"\0" * 40, {"queries": "a ZIP file or a workbook"}
    ),
    Specimen(HOSTILE, "zeros.query", b"\0" * 64),
    Specimen(
        DOCUMENTED,
        "queries.csv",
        table(("id", "query"), ("q1", Q1), ("q2", Q2)),
        {"queries": QUERIES},
    ),
    Specimen(
        DOCUMENTED,
        "semicolons_of_queries.csv",
        table(("id", "query"), ("q1", Q1), ("q2", Q2), by=";"),
        {"queries": QUERIES},
    ),
    Specimen(
        DOCUMENTED,
        "msmarco_queries.tsv",
        table(("1", Q1), ("2", Q2), by="\t"),
        {"queries": QUERIES, "documents": "queries or documents?"},
    ),
    Specimen(
        DOCUMENTED,
        "beir_queries.jsonl",
        lines({"_id": "q1", "text": Q1}, {"_id": "q2", "text": Q2}),
        {"queries": QUERIES, "documents": "queries by its name"},
    ),
    Specimen(
        DOCUMENTED,
        "by_id_texts.json",
        {"q1": Q1, "q2": Q2},
        {"queries": QUERIES, "documents": {"q1", "q2"}},
    ),
    Specimen(DOCUMENTED, "array.json", [Q1, Q2], {"queries": QUERIES}),
    Specimen(DOCUMENTED, "topics.trec", TOPICS, {"queries": QUERIES}),
    Specimen(
        DOCUMENTED,
        "query_set.json",
        {
            "name": "s",
            "sampling": "manual",
            "querySetQueries": [{"queryText": Q1}, {"queryText": Q2}],
        },
        {"queries": QUERIES},
    ),
    Specimen(
        HOSTILE,
        "other_columns.csv",
        table(("name", "price"), ("a thing", 1), ("b thing", 2)),
        {"queries": "which", "documents": {"other_columns.csv:*"}},
    ),
    Specimen(DOCUMENTED, "corpus.jsonl", lines(*DOCS), {"documents": IDS, "queries": set(TEXTS)}),
    Specimen(
        DOCUMENTED,
        "catalogue.csv",
        table(
            ("sku", "id", "name", "description"),
            ("1", "SKU 12", "Shoe", "red shoe"),
            ("2", "SKU 13", "Hat", "blue hat"),
        ),
        {"documents": {"SKU\u242012", "SKU\u242013"}},
    ),
    Specimen(DOCUMENTED, "bulk.ndjson", BULK, {"documents": IDS, "queries": set(TEXTS)}),
    Specimen(BY_TOOL, "ragas.jsonl", lines(*ragas()), WHOLE),
    Specimen(BY_TOOL, "ragas.json", ragas(), WHOLE),
    Specimen(BY_TOOL, "ragas.csv", in_cells(ragas()), WHOLE),
    Specimen(
        BY_TOOL,
        "ragas_before_0.2.json",
        ragas(
            user_input="question",
            retrieved_contexts="contexts",
            reference_contexts="ground_truth_contexts",
            reference="ground_truth",
        ),
        WHOLE,
    ),
    Specimen(
        HOSTILE,
        "ragas_talks.json",
        [{"user_input": [{"content": Q1, "type": "human"}], "reference": "x"}],
        dict.fromkeys(("queries", "documents", "grades", "rankings"), "conversations"),
    ),
    Specimen(BY_TOOL, "goldens.json", GOLDENS, WHOLE),
    Specimen(
        BY_TOOL,
        "goldens_camel.json",
        [
            {
                "input": g["input"],
                "expectedOutput": "x",
                "context": g["context"],
                "retrievalContext": g["retrieval_context"],
            }
            for g in GOLDENS
        ],
        WHOLE,
    ),
    Specimen(BY_TOOL, "goldens.jsonl", lines(*GOLDENS), WHOLE),
    Specimen(BY_TOOL, "goldens.csv", in_cells(GOLDENS), WHOLE),
    Specimen(BY_TOOL, "promptfoo_results.json", PROMPTFOO, {"queries": QUERIES}),
    Specimen(
        DOCUMENTED,
        "promptfoo_tests.json",
        [{"vars": {"question": Q1}, "assert": []}, {"vars": {"question": Q2}}],
        {"queries": QUERIES},
    ),
    Specimen(
        HOSTILE,
        "promptfoo_other.json",
        [{"vars": {"a": Q1, "b": "x"}}],
        {"queries": "no variable of them is called query"},
    ),
    Specimen(
        BY_TOOL,
        "llama_index.json",
        LLAMA,
        {
            "queries": QUERIES,
            "documents": {"d1", "d2"},
            "grades": {"q1": {"d1": 1}, "q2": {"d2": 1}},
        },
    ),
    Specimen(BY_TOOL, "llama_examples.json", {"examples": EXAMPLES}, NO_RANKING),
]
