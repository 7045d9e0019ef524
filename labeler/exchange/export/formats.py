"""The formats of other tools that a collection can be exported to, by the tools' names."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from labeler.exchange.export.content import (
    Content,
    Export,
    Files,
    FormatName,
    lost,
    nothing_lost,
    refuse_equal_texts,
    write_json,
    write_json_lines,
)
from labeler.exchange.written import BEIR_HEADER, write_parquet, write_table
from labeler.files.atomic import replacing
from labeler.files.jsonl import JsonObject
from labeler.trec.write import write_qrels, write_run

# The folder that BEIR's loader reads: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.


def _beir_files(content: Content) -> Files:
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


def _beir_losses(content: Content) -> list[str]:
    alike = sum(query_id in content.documents for query_id in content.qrels)
    what = "the id of a document, which BEIR's evaluate drops unless ignore_identical_ids=False"
    return lost(alike, "query has", "queries have", what)


BEIR = Export(_beir_files, _beir_losses, 'GenericDataLoader("{}").load(split="test")')


# What OpenSearch takes in: documents for `_bulk`, a query set and judgements.


def _opensearch_files(content: Content) -> Files:
    refuse_equal_texts(content, "OpenSearch's search relevance workbench")

    named = {"name": content.name, "description": f"{content.name}, from its qrels"}
    texts = [{"queryText": query.text} for query in content.queries.values()]
    query_set = {**named, "sampling": "manual", "querySetQueries": texts}
    ratings = [
        {"query": content.queries[query_id].text, "ratings": _ratings(grades)}
        for query_id, grades in sorted(content.qrels.items())
    ]
    judgements = {**named, "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}
    return {
        "documents.ndjson": lambda path: write_json_lines(path, _bulk(content)),
        "queryset.json": lambda path: write_json(path, query_set),
        "judgments.json": lambda path: write_json(path, judgements),
    }


def _bulk(content: Content) -> Iterator[JsonObject]:
    for document in content.documents.values():
        yield {"index": {"_id": document.id}}
        yield {"title": document.title, "text": document.text}


def _ratings(grades: Mapping[str, int]) -> list[dict[str, str]]:
    """The workbench has ratings as texts of decimal numbers."""
    return [{"docId": doc, "rating": f"{grade}.0"} for doc, grade in sorted(grades.items())]


def _opensearch_losses(content: Content) -> list[str]:
    count = len(content.queries)
    return lost(count, "query is", "queries are", "known by the text alone, without an id")


OPENSEARCH = Export(
    _opensearch_files, _opensearch_losses, "POST INDEX/_bulk with {}/documents.ndjson"
)


# Tables: CSV, Quepid's ratings, and the Parquet folder that Hugging Face and MTEB load.

Rows = Iterable[Sequence[object]]


def _quepid_files(content: Content) -> Files:
    refuse_equal_texts(content, "Quepid")
    rows = ((content.queries[q].text, d, grade) for q, d, grade in content.grades())
    return {"ratings.csv": lambda path: write_table(path, ("query", "docid", "rating"), rows)}


QUEPID = Export(_quepid_files, nothing_lost, "Quepid: a case, Import, Ratings, {}")

_CARD = """---
configs:
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus.parquet
- config_name: queries
  data_files:
  - split: queries
    path: queries.parquet
- config_name: default
  default: true
  data_files:
  - split: test
    path: qrels.parquet
task_categories:
- text-retrieval
---
A test collection for retrieval: `corpus` and `queries` with `_id` and `text`, and their grades.
"""


def _parquet_files(content: Content) -> Files:
    documents = ((d.id, d.title, d.text) for d in content.documents.values())
    queries = ((q.id, q.text) for q in content.queries.values())

    def card(path: Path) -> None:
        with replacing(path) as out:
            out.write(_CARD)

    tables: dict[str, tuple[Sequence[str], Rows]] = {
        "corpus.parquet": (("_id", "title", "text"), documents),
        "queries.parquet": (("_id", "text"), queries),
        "qrels.parquet": (("query-id", "corpus-id", "score"), content.grades()),
    }
    written: Files = {name: partial(_write_parquet, *t) for name, t in tables.items()}
    return {**written, "README.md": card}


def _write_parquet(columns: Sequence[str], rows: Rows, path: Path) -> None:
    """Write texts, and the one column of grades as integers."""
    types = {name: "int32" if name == "score" else "string" for name in columns}
    write_parquet(path, types, rows)


HUGGING_FACE = Export(_parquet_files, nothing_lost, 'datasets.load_dataset("{}", "corpus")')
MTEB = Export(
    _parquet_files,
    nothing_lost,
    'mteb.abstasks.retrieval_dataset_loaders.RetrievalDatasetLoader("{}", None).load()',
)


# Files that TREC's own tools read.


def _trec_files(content: Content) -> Files:
    def documents(path: Path) -> None:
        with replacing(path) as out:
            for document in content.documents.values():
                parts = [("DOCNO", document.id), ("TITLE", document.title), ("TEXT", document.text)]
                marked = (f"<{tag}>{_escaped(text)}</{tag}>\n" for tag, text in parts if text)
                out.write(f"<DOC>\n{''.join(marked)}</DOC>\n")

    def topics(path: Path) -> None:
        with replacing(path) as out:
            for query in content.queries.values():
                title = _escaped(_in_one_line(query.text))
                out.write(f"<top>\n<num> Number: {_escaped(query.id)}\n<title> {title}\n")
                for tag, heading, key in _MORE:
                    text = query.metadata.get(key)
                    shown = _escaped(text) if isinstance(text, str) else ""
                    out.write(f"\n<{tag}> {heading}:\n{shown}\n")
                out.write("</top>\n\n")

    return {
        "documents.trec": documents,
        "topics.trec": topics,
        "qrels.txt": lambda path: write_qrels(path, content.qrels),
        **{
            f"runs/{name}.trec": partial(write_run, run=run, tag=name)
            for name, run in content.runs.items()
        },
    }


_MORE = (("desc", "Description", "description"), ("narr", "Narrative", "narrative"))


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _trec_losses(content: Content) -> list[str]:
    texts = (query.text for query in content.queries.values())
    changed = sum(_in_one_line(text) != text for text in texts)
    return lost(changed, "query's text is", "queries' texts are", "put on one line")


TREC = Export(
    _trec_files,
    _trec_losses,
    "trec_eval -m all_trec {}/qrels.txt RUN",
    takes_runs=True,
    keeps_negative=True,
)


EXPORTS: dict[FormatName, Export] = {
    "beir": BEIR,
    "mteb": MTEB,
    "trec": TREC,
    "hf": HUGGING_FACE,
    "quepid": QUEPID,
    "opensearch": OPENSEARCH,
}
