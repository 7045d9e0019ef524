"""What columns of qrels and runs are usually called, in files and in DataFrames."""

from __future__ import annotations

QUERY_ID = ("queryid", "qid", "topicid", "topic", "querynumber")
DOCUMENT_ID = (
    *("docid", "docno", "corpusid", "documentid", "passageid", "pid", "did"),
    *("productid", "itemid", "document", "doc", "passage"),
)
GRADE = ("relevance", "label", "grade", "rating", "judgement", "judgment", "rel", "gain")
SCORE = ("score", "similarity", "sim", "retrievalscore")
"""Names as `key_of` spells them, the usual ones first."""


def key_of(name: str) -> str:
    """A column's name in one spelling: `Query Text`, `query-text` and `queryText` are one."""
    plain = "".join(c if c.isalnum() else "_" for c in name.strip().lstrip("_"))
    return plain.casefold().replace("_", "")
