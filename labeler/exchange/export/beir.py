"""The folder that BEIR's loader reads: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`."""

from __future__ import annotations

from pathlib import Path

from labeler.exchange.beir import write_beir_qrels
from labeler.exchange.export.content import Content, Export, Write, lost, write_json_lines


def _files(content: Content) -> dict[str, Write]:
    def corpus(path: Path) -> None:
        documents = content.documents.values()
        rows = (
            {"_id": d.id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)}
            for d in documents
        )
        write_json_lines(path, rows)

    def queries(path: Path) -> None:
        rows = content.queries.values()
        write_json_lines(
            path, ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in rows)
        )

    def qrels(path: Path) -> None:
        write_beir_qrels(path, content.qrels)

    return {"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels/test.tsv": qrels}


def _losses(content: Content) -> list[str]:
    alike = sum(query_id in content.documents for query_id in content.qrels)
    what = "the id of a document, which BEIR's evaluate drops unless ignore_identical_ids=False"
    return lost(alike, "query has", "queries have", what)


BEIR = Export(_files, _losses, 'GenericDataLoader("{}").load(split="test")')
