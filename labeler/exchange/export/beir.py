"""The folder that BEIR's loader reads: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from labeler.exchange.export.content import Content, Export, Write, lost, write_json_lines
from labeler.files.atomic import replacing

# BEIR's qrels: a header, then a query's id, a document's id and a grade, with tabs between.

HEADER = ("query-id", "corpus-id", "score")


def write_beir_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> int:
    """Write qrels as BEIR's loader reads them, sorted; how many pairs there are."""
    pairs = [(q, d, grade) for q, grades in qrels.items() for d, grade in grades.items()]
    with replacing(path) as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n")
        rows.writerow(HEADER)
        rows.writerows(sorted(pairs))
    return len(pairs)


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
        "qrels/test.tsv": lambda path: write_beir_qrels(path, content.qrels),
    }


def _losses(content: Content) -> list[str]:
    alike = sum(query_id in content.documents for query_id in content.qrels)
    what = "the id of a document, which BEIR's evaluate drops unless ignore_identical_ids=False"
    return lost(alike, "query has", "queries have", what)


BEIR = Export(_files, _losses, 'GenericDataLoader("{}").load(split="test")')
