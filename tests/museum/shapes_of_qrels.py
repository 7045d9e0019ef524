"""Grades as people's tools have them: tables, JSON, books of judgements, and broken ones."""

import json
from pathlib import Path

from specimen import BY_TOOL, DOCUMENTED, HOSTILE, PACKERS, Specimen, lines, table

Q1, Q2 = "red shoes", "Where do cats sleep?"
GRADES = {"q1": {"d1": 3, "d2": 0}, "q2": {"d3": 1}}
ROWS = [("q1", "d1", 3), ("q1", "d2", 0), ("q2", "d3", 1)]
TEXT_ROWS = [(Q1, "d1", 3), (Q1, "d2", 0), (Q2, "d3", 1)]
BOTH = {"queries": {Q1, Q2}, "grades": GRADES}
TREC = "".join(f"{q} 0 {d} {g}\n" for q, d, g in ROWS)


def parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"query-id": ["q1", "q1", "q2"], "corpus-id": ["d1", "d2", "d3"], "score": [3, 0, 1]}
    pq.write_table(pa.table(columns), path)


def arrow(path: Path) -> None:
    import pyarrow as pa

    columns = pa.table({"qid": ["q1", "q1", "q2"], "docno": ["d1", "d2", "d3"], "label": [3, 0, 1]})
    with pa.ipc.new_file(str(path), columns.schema) as writer:
        writer.write_table(columns)


WORKBENCH = {
    "name": "judgments",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {"query": Q1, "ratings": [{"docId": "d1", "rating": "3"}, {"docId": "d2", "rating": "0"}]},
        {"query": Q2, "ratings": [{"docId": "d3", "rating": "1"}]},
    ],
}
BOOK = {
    "name": "a book",
    "query_doc_pairs": [
        {"query_text": q, "doc_id": d, "judgements": [{"rating": float(g)}]}
        for q, d, g in TEXT_ROWS
    ],
}
RRE = {
    "index": "shoes",
    "id_field": "id",
    "topics": [
        {
            "description": "shoes",
            "query_groups": [
                {
                    "name": "red",
                    "queries": [{"template": "a.json", "placeholders": {"$query": Q1}}],
                    "relevant_documents": {"d1": {"gain": 3}, "d2": {"gain": 0}},
                },
                {
                    "name": "cats",
                    "queries": [{"template": "a.json", "placeholders": {"$query": Q2}}],
                    "relevant_documents": {"1": ["d3"]},
                },
            ],
        }
    ],
}
RRE_FLAT = {
    "id_field": "id",
    "index": "shoes",
    "template": "t.json",
    "queries": [
        {"placeholders": {"$query": Q1}, "relevant_documents": {"3": ["d1"], "0": ["d2"]}},
        {"placeholders": {"$query": Q2}, "relevant_documents": {"1": ["d3"]}},
    ],
}
RANK_EVAL = {
    "requests": [
        {
            "id": q,
            "request": {},
            "ratings": [{"_index": "p", "_id": d, "rating": g} for d, g in r.items()],
        }
        for q, r in GRADES.items()
    ]
}
NO_NAMES = "names no columns of a query and a document"

SPECIMENS = [
    Specimen(DOCUMENTED, "trec.qrels", TREC, {"grades": GRADES}),
    Specimen(DOCUMENTED, "trec_tabs.qrels", TREC.replace(" ", "\t"), {"grades": GRADES}),
    Specimen(DOCUMENTED, "trec_crlf.qrels", TREC.replace("\n", "\r\n"), {"grades": GRADES}),
    Specimen(DOCUMENTED, "trec_comment.qrels", "# made by us\n" + TREC, {"grades": GRADES}),
    Specimen(DOCUMENTED, "trec_mark.qrels", "\ufeff" + TREC, {"grades": GRADES}),
    *(
        Specimen(DOCUMENTED, f"trec_{encoding}.qrels", TREC.encode(encoding), {"grades": GRADES})
        for encoding in ("utf-16", "utf-16-le", "utf-16-be")
    ),
    *(
        Specimen(DOCUMENTED, f"trec.qrels.{name}", pack(TREC.encode()), {"grades": GRADES})
        for name, pack in PACKERS.items()
    ),
    Specimen(
        DOCUMENTED,
        "beir.tsv",
        table(("query-id", "corpus-id", "score"), *ROWS, by="\t"),
        {"grades": GRADES, "rankings": {"q1": ["d1", "d2"], "q2": ["d3"]}},
    ),
    Specimen(
        DOCUMENTED,
        "pandas.csv",
        table(("query_id", "doc_id", "relevance"), *((q, d, float(g)) for q, d, g in ROWS)),
        {"grades": GRADES},
    ),
    Specimen(
        DOCUMENTED,
        "pyterrier.csv.qrels",
        table(("qid", "docno", "label"), *ROWS),
        {"grades": GRADES},
    ),
    Specimen(
        DOCUMENTED,
        "semicolons.csv",
        table(("Query ID", "Doc ID", "Rating"), *ROWS, by=";"),
        {"grades": GRADES},
    ),
    Specimen(DOCUMENTED, "quepid.csv", table(("query", "docid", "rating"), *TEXT_ROWS), BOTH),
    Specimen(
        DOCUMENTED,
        "excel_utf16.csv",
        table(("query", "docid", "rating"), *TEXT_ROWS, by="\t").encode("utf-16"),
        BOTH,
    ),
    Specimen(
        DOCUMENTED,
        "rows.jsonl",
        lines(*({"qid": q, "docno": d, "grade": g} for q, d, g in ROWS)),
        {"grades": GRADES},
    ),
    Specimen(
        DOCUMENTED,
        "rows.json",
        [{"qid": q, "docno": d, "label": g} for q, d, g in ROWS],
        {"grades": GRADES},
    ),
    Specimen(
        BY_TOOL,
        "ranx_qrels.json",
        GRADES,
        {"grades": GRADES, "rankings": {"q1": ["d1", "d2"], "q2": ["d3"]}},
    ),
    Specimen(
        BY_TOOL,
        "hub.parquet",
        parquet,
        {"grades": GRADES, "rankings": {"q1": ["d1", "d2"], "q2": ["d3"]}},
    ),
    Specimen(BY_TOOL, "feather.arrow", arrow, {"grades": GRADES}),
    Specimen(DOCUMENTED, "workbench.json", WORKBENCH, BOTH),
    Specimen(
        DOCUMENTED,
        "workbench_index.json",
        {
            "hits": {
                "hits": [
                    {"_id": "1", "_source": {"judgementRatings": WORKBENCH["judgmentRatings"]}}
                ]
            }
        },
        BOTH,
    ),
    Specimen(DOCUMENTED, "book.json", BOOK, BOTH),
    Specimen(DOCUMENTED, "rre.json", RRE, BOTH),
    Specimen(DOCUMENTED, "rre_flat.json", RRE_FLAT, BOTH),
    Specimen(DOCUMENTED, "rank_eval.json", RANK_EVAL, {"grades": GRADES}),
    Specimen(
        HOSTILE,
        "fractions.csv",
        table(("query_id", "doc_id", "grade"), ("q1", "d1", 0.5)),
        {"grades": "ratings that are no grades"},
    ),
    Specimen(
        HOSTILE,
        "esci.csv",
        table(
            ("query_id", "doc_id", "rating"),
            ("q1", "d1", 100),
            ("q1", "d2", 10),
            ("q1", "d3", 1),
            ("q1", "d4", 0),
        ),
        {"grades": "grade_map='0:0,1:1,10:2,100:3'"},
    ),
    Specimen(
        HOSTILE,
        "letters.csv",
        table(("query_id", "doc_id", "label"), ("q1", "d1", "E")),
        {"grades": r"ratings that are no grades (e); say what they mean, as grade_map='e:3'"},
    ),
    Specimen(
        HOSTILE,
        "two_grades.csv",
        table(("query_id", "doc_id", "grade"), ("q1", "d1", 1), ("q1", "d1", 2)),
        {"grades": "two grades for one pair"},
    ),
    Specimen(HOSTILE, "no_header.csv", table(*ROWS), {"grades": NO_NAMES, "rankings": NO_NAMES}),
    Specimen(
        HOSTILE,
        "ragged.csv",
        "query_id,doc_id,grade\nq1,d1,1\nq1,d2\n",
        {"grades": "expected 3 columns"},
    ),
    Specimen(HOSTILE, "nul.qrels", b"q1 0 d\x001 1\n", {"grades": "NUL"}),
    Specimen(HOSTILE, "cut.json", json.dumps(GRADES)[:-5]),
    Specimen(HOSTILE, "twice.json", '{"q1": {"d1": 1, "d1": 2}}'),
    Specimen(
        HOSTILE, "cut.qrels.gz", PACKERS["gz"](TREC.encode())[:-9], {"grades": "damaged gzip file"}
    ),
    Specimen(HOSTILE, "empty.qrels", b""),
    Specimen(HOSTILE, "header_alone.csv", "query_id,doc_id,grade\n", {"grades": "no pair in it"}),
    Specimen(
        HOSTILE, "latin1.qrels", "q1 0 caf\u00e9 1\n".encode("latin-1"), {"grades": "not UTF-8"}
    ),
    Specimen(HOSTILE, "utf32.qrels", TREC.encode("utf-32"), {"grades": "UTF-32"}),
    Specimen(
        HOSTILE,
        "page.qrels",
        "<!doctype html><html><body>404</body></html>",
        {"grades": "XML or HTML"},
    ),
    Specimen(HOSTILE, "sheet.xlsx", b"PK\x03\x04" + b"\0" * 40, {"grades": "save a sheet as CSV"}),
    Specimen(
        HOSTILE, "base.sqlite", b"SQLite format 3\0" + b"\0" * 40, {"grades": "an SQLite database"}
    ),
    Specimen(HOSTILE, "paper.pdf.qrels", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", {"grades": "a PDF"}),
]
