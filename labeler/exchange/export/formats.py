"""The formats of other tools that a collection can be exported to, by the tools' names."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from labeler.data import Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.export.content import (
    Content,
    Export,
    FormatName,
    Write,
    lost,
    nothing_lost,
    passage,
    refuse_equal_texts,
    write_json,
    write_json_lines,
)
from labeler.exchange.written import BEIR_HEADER, write_parquet, write_table
from labeler.files.atomic import replacing
from labeler.trec.runs import ranking
from labeler.trec.write import write_qrels, write_run

# The folder that BEIR's loader reads: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.


def _beir_files(content: Content) -> dict[str, Write]:
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


def _opensearch_files(content: Content) -> dict[str, Write]:
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


def _bulk(content: Content) -> Iterator[dict[str, Any]]:
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


def _quepid_files(content: Content) -> dict[str, Write]:
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


def _parquet_files(content: Content) -> dict[str, Write]:
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
    written: dict[str, Write] = {name: partial(_write_parquet, *t) for name, t in tables.items()}
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


def _trec_files(content: Content) -> dict[str, Write]:
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
            f"runs/{name}.trec": partial(_write_trec_run, run, name)
            for name, run in content.runs.items()
        },
    }


def _write_trec_run(run: Run, name: str, path: Path) -> None:
    write_run(path, run, name)


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


# Test cases of tools for RAG: a query, its relevant texts, and what a run retrieved.


class _Case(NamedTuple):
    """A query with the ids and texts of its relevant and, of a run, its retrieved documents."""

    query_id: str
    text: str
    relevant: list[str]
    references: list[str]
    retrieved: list[str] | None
    contexts: list[str] | None


def _cases(content: Content) -> list[_Case]:
    if len(content.runs) > 1:
        raise Misuse("these test cases hold the documents of one run", parameter="runs")
    run = next(iter(content.runs.values()), None)
    cases = []
    for query_id, grades in sorted(content.qrels.items()):
        best = sorted(grades, key=lambda doc_id: (-grades[doc_id], doc_id))
        relevant = [doc_id for doc_id in best if grades[doc_id] >= content.relevant]
        if relevant:
            ranked = None if run is None else ranking(run.get(query_id, {}))[: content.depth]
            contexts = None if ranked is None else _texts(content, ranked)
            text = content.queries[query_id].text
            references = _texts(content, relevant)
            cases.append(_Case(query_id, text, relevant, references, ranked, contexts))
    if not cases:
        problem = f"no query has a document of grade {content.relevant} or above"
        raise BadInput(f"{content.name}: {problem}", parameter="relevant")
    return cases


def _texts(content: Content, doc_ids: list[str]) -> list[str]:
    if missing := next((doc_id for doc_id in doc_ids if doc_id not in content.documents), None):
        raise BadInput(f"{content.name}: the run's document {missing!r} is not in the collection")
    return [passage(content.documents[doc_id]) for doc_id in doc_ids]


def _case_losses(content: Content) -> list[str]:
    without = len(content.qrels) - len(_cases(content))
    grades = len({grade for _, _, grade in content.grades()})
    of_queries = lost(without, "query has", "queries have", "no relevant document: left out")
    if grades <= 2:  # nothing but relevant or not
        return of_queries
    at = f"become relevant or not, from {content.relevant} on"
    return [*of_queries, f"the {grades} grades {at}"]


def _ragas_files(content: Content) -> dict[str, Write]:
    samples = [*map(_sample, _cases(content))]
    return {"ragas.jsonl": lambda path: write_json_lines(path, samples, is_ascii=True)}


def _sample(case: _Case) -> dict[str, Any]:
    row: dict[str, Any] = {
        "user_input": case.text,
        "reference_contexts": case.references,
        "reference_context_ids": case.relevant,
    }
    if case.retrieved is not None:
        row |= {"retrieved_contexts": case.contexts, "retrieved_context_ids": case.retrieved}
    return row


RAGAS = Export(
    _ragas_files, _case_losses, 'ragas.EvaluationDataset.from_jsonl("{}")', takes_runs=True
)


def _promptfoo_files(content: Content) -> dict[str, Write]:
    tests = [
        {
            "description": case.query_id,
            "vars": {"query": case.text, "context": "\n\n".join(case.contexts or case.references)},
            "metadata": {"query_id": case.query_id, "relevant": case.relevant},
        }
        for case in _cases(content)
    ]
    return {"promptfoo.json": lambda path: write_json(path, tests)}


def _promptfoo_losses(content: Content) -> list[str]:
    cases = _cases(content)
    texts = [text for case in cases for text in (case.text, *(case.contexts or case.references))]
    templates = sum(any(mark in text for mark in ("{{", "{%", "{#")) for text in texts)
    files = sum(text.startswith("file://") for text in texts)
    return [
        *_case_losses(content),
        *lost(templates, "text holds", "texts hold", "{{, {% or {#, which promptfoo executes"),
        *lost(files, "text begins", "texts begin", "with file://, which promptfoo opens"),
    ]


PROMPTFOO = Export(
    _promptfoo_files, _promptfoo_losses, "tests: file://{} in promptfooconfig.yaml", takes_runs=True
)


EXPORTS: dict[FormatName, Export] = {
    "beir": BEIR,
    "mteb": MTEB,
    "trec": TREC,
    "hf": HUGGING_FACE,
    "quepid": QUEPID,
    "opensearch": OPENSEARCH,
    "ragas": RAGAS,
    "promptfoo": PROMPTFOO,
}
