"""The folder that BEIR's loader reads: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`."""

from __future__ import annotations

from labeler.exchange.export.content import Content, Export, Write, lost, write_json_lines
from labeler.exchange.written import BEIR_HEADER, write_table


def _files(content: Content) -> dict[str, Write]:
    documents = (
        {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
        for d in content.documents.values()
    )
    queries = (
        {"_id": q.id, "text": q.text, "metadata": dict(q.metadata)}
        for q in content.queries.values()
    )
    return {
        "corpus.jsonl": lambda path: write_json_lines(path, documents),
        "queries.jsonl": lambda path: write_json_lines(path, queries),
        "qrels/test.tsv": lambda path: write_table(path, BEIR_HEADER, content.grades(), "\t"),
    }


def _losses(content: Content) -> list[str]:
    alike = sum(query_id in content.documents for query_id in content.qrels)
    what = "the id of a document, which BEIR's evaluate drops unless ignore_identical_ids=False"
    return lost(alike, "query has", "queries have", what)


BEIR = Export(_files, _losses, 'GenericDataLoader("{}").load(split="test")')
