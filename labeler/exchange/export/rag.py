"""Test cases for tools that evaluate RAG: ragas, DeepEval and promptfoo.

They know no grades: a document is a reference of its query, or it is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from labeler.errors import BadInput, Misuse
from labeler.exchange.export.content import (
    Content,
    Export,
    Write,
    lost,
    passage,
    write_json,
    write_json_lines,
)
from labeler.trec.runs import ranking


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


def _losses(content: Content) -> list[str]:
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


RAGAS = Export(_ragas_files, _losses, 'ragas.EvaluationDataset.from_jsonl("{}")', takes_runs=True)


def _deepeval_files(content: Content) -> dict[str, Write]:
    goldens = [
        {
            "input": case.text,
            "context": case.references,
            "retrieval_context": case.contexts,
            "name": case.query_id,
            "additional_metadata": {"query_id": case.query_id, "relevant": case.relevant},
        }
        for case in _cases(content)
    ]
    return {"deepeval.json": lambda path: write_json(path, goldens)}


DEEPEVAL = Export(
    _deepeval_files,
    _losses,
    'deepeval.dataset.EvaluationDataset().add_goldens_from_json_file("{}")',
    takes_runs=True,
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
        *_losses(content),
        *lost(templates, "text holds", "texts hold", "{{, {% or {#, which promptfoo executes"),
        *lost(files, "text begins", "texts begin", "with file://, which promptfoo opens"),
    ]


PROMPTFOO = Export(
    _promptfoo_files, _promptfoo_losses, "tests: file://{} in promptfooconfig.yaml", takes_runs=True
)
