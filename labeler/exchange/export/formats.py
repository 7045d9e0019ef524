"""The formats of other tools that a collection can be exported to, by the tools' names."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from labeler.data import Query
from labeler.exchange.export.content import (
    Content,
    Export,
    Files,
    FormatName,
    lost,
    refuse_equal_texts,
    write_json,
    write_text,
)
from labeler.exchange.written import BEIR_HEADER, write_parquet, write_table
from labeler.files.jsonl import write_rows
from labeler.messages import squeezed
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
        "corpus.jsonl": lambda path: write_rows(path, documents),
        "queries.jsonl": lambda path: write_rows(path, queries),
        "qrels/test.tsv": lambda path: write_table(path, BEIR_HEADER, content.grades(), "\t"),
    }


def _beir_losses(content: Content) -> list[str]:
    alike = sum(query_id in content.documents for query_id in content.qrels)
    what = "the id of a document, which BEIR's evaluate drops unless ignore_identical_ids=False"
    return lost(alike, "query has", "queries have", what)


# What OpenSearch takes in: documents for `_bulk`, a query set and judgements.


def _opensearch_files(content: Content) -> Files:
    refuse_equal_texts(content, "OpenSearch's search relevance workbench")

    named = {"name": content.name, "description": f"{content.name}, from its qrels"}
    texts = [{"queryText": query.text} for query in content.queries.values()]
    documents = (
        row
        for d in content.documents.values()
        for row in ({"index": {"_id": d.id}}, {"title": d.title, "text": d.text})
    )
    query_set = {**named, "sampling": "manual", "querySetQueries": texts}
    ratings = [
        {
            "query": content.queries[query_id].text,
            # the workbench has ratings as texts of decimal numbers
            "ratings": [{"docId": d, "rating": f"{g}.0"} for d, g in sorted(grades.items())],
        }
        for query_id, grades in sorted(content.qrels.items())
    ]
    judgements = {**named, "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}
    return {
        "documents.ndjson": lambda path: write_rows(path, documents),
        "queryset.json": lambda path: write_json(path, query_set),
        "judgments.json": lambda path: write_json(path, judgements),
    }


def _opensearch_losses(content: Content) -> list[str]:
    count = len(content.queries)
    return lost(count, "query is", "queries are", "known by the text alone, without an id")


# Tables: CSV, Quepid's ratings, and the Parquet folder that Hugging Face and MTEB load.

Rows = Iterable[Sequence[object]]


def _quepid_files(content: Content) -> Files:
    refuse_equal_texts(content, "Quepid")
    rows = ((content.queries[q].text, d, grade) for q, d, grade in content.grades())
    return {"ratings.csv": lambda path: write_table(path, ("query", "docid", "rating"), rows)}


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

    return {
        "corpus.parquet": lambda path: write_parquet(
            path, dict.fromkeys(("_id", "title", "text"), "string"), documents
        ),
        "queries.parquet": lambda path: write_parquet(
            path, dict.fromkeys(("_id", "text"), "string"), queries
        ),
        "qrels.parquet": lambda path: write_parquet(
            path,
            dict(zip(BEIR_HEADER, ("string", "string", "int32"), strict=True)),
            content.grades(),
        ),
        "README.md": lambda path: write_text(path, [_CARD]),
    }


# Files that TREC's own tools read.


def _trec_files(content: Content) -> Files:
    documents = (
        f"<DOC>\n{_marked(DOCNO=d.id, TITLE=d.title, TEXT=d.text)}</DOC>\n"
        for d in content.documents.values()
    )
    topics = (
        f"<top>\n<num> Number: {_escaped(q.id)}\n<title> {_escaped(squeezed(q.text))}\n"
        f"{''.join(_described(q))}</top>\n\n"
        for q in content.queries.values()
    )
    return {
        "documents.trec": lambda path: write_text(path, documents),
        "topics.trec": lambda path: write_text(path, topics),
        "qrels.txt": lambda path: write_qrels(path, content.qrels),
        **{
            f"runs/{name}.trec": partial(write_run, run=run, tag=name)
            for name, run in content.runs.items()
        },
    }


_MORE = (("desc", "Description", "description"), ("narr", "Narrative", "narrative"))


def _marked(**parts: str) -> str:
    return "".join(f"<{tag}>{_escaped(text)}</{tag}>\n" for tag, text in parts.items() if text)


def _described(query: Query) -> Iterator[str]:
    for tag, heading, key in _MORE:
        text = query.metadata.get(key)
        yield f"\n<{tag}> {heading}:\n{_escaped(text) if isinstance(text, str) else ''}\n"


_escaped = partial(html.escape, quote=False)


def _trec_losses(content: Content) -> list[str]:
    texts = (query.text for query in content.queries.values())
    changed = sum(squeezed(text) != text for text in texts)
    return lost(changed, "query's text is", "queries' texts are", "put on one line")


EXPORTS: dict[FormatName, Export] = {
    "beir": Export(_beir_files, 'GenericDataLoader("{}").load(split="test")', _beir_losses),
    "mteb": Export(
        _parquet_files,
        'mteb.abstasks.retrieval_dataset_loaders.RetrievalDatasetLoader("{}", None).load()',
    ),
    "trec": Export(
        _trec_files,
        "trec_eval -m all_trec {}/qrels.txt RUN",
        _trec_losses,
        takes_runs=True,
        keeps_negative=True,
    ),
    "hf": Export(_parquet_files, 'datasets.load_dataset("{}", "corpus")'),
    "quepid": Export(_quepid_files, "Quepid: a case, Import, Ratings, {}"),
    "opensearch": Export(
        _opensearch_files, "POST INDEX/_bulk with {}/documents.ndjson", _opensearch_losses
    ),
}
