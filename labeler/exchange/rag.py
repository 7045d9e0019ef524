"""Sets of tests for RAG: ragas, deepeval, promptfoo and LlamaIndex.

Their contexts are texts without ids: each gets a hash of its text, the same in every file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labeler.exchange.contents import (
    Contents,
    as_queries,
    lacking,
    objects,
    rated,
    text_id,
    texts_in,
)
from labeler.exchange.fields import value_at
from labeler.files.jsonl import JsonObject, RowValues

_CONTEXTS = ("reference_contexts", "retrieved_contexts")
_REFERENCES = ("reference", "ground_truth", "expected_output", "expectedOutput")


def _asked(
    kind: str, rows: Sequence[RowValues], query: str, relevant: str, retrieved: str
) -> Contents:
    """Rows of a query, the contexts that answer it, and those that a system retrieved."""
    contexts = [pair for row in rows for of in (relevant, retrieved) for pair in _pairs(row, of)]
    documents = [{"_id": id_, "text": text} for id_, text in dict(contexts).items() if text]
    answers = ((row[query], [(id_, None) for id_, _ in _pairs(row, relevant)]) for row in rows)
    by_query = {row[query]: dict.fromkeys(dict(_pairs(row, retrieved))) for row in rows}
    return Contents(
        f"{kind} ({relevant}, {retrieved})",
        documents or None,
        [*_queries(rows, query)],
        lacks={"grades": f"no query has {relevant}", "rankings": f"no query has {retrieved}"},
    ).with_lists(answers, ((q, [*hits.items()]) for q, hits in by_query.items()))


def _pairs(row: RowValues, contexts: str) -> list[tuple[str, str]]:
    """Contexts with their ids, as ragas has them, else with hashes; of ids alone without texts."""
    texts, ids = texts_in(row.get(contexts)), row.get(f"{contexts.removesuffix('s')}_ids")
    if not isinstance(ids, list) or len(ids) != len(texts or ids):
        ids = [*map(text_id, texts)]
    return list(zip(map(str, ids), texts or [""] * len(ids), strict=True))


def _queries(rows: Sequence[RowValues], query: str) -> Iterator[JsonObject]:
    """Each query once, with its reference answer."""
    first: dict[str, RowValues] = {}
    for row in rows:
        first.setdefault(row[query], row)
    for text, row in first.items():
        reference = next((row[name] for name in _REFERENCES if row.get(name)), None)
        yield {"text": text} if reference is None else {"text": text, "reference": reference}


def ragas(value: Any) -> Contents | None:
    """Samples of ragas, by their names of today or by those before 0.2."""
    rows = objects(value, "user_input")
    if rows is not None and any(name in rows[0] for name in (*_CONTEXTS, "reference")):
        if all(isinstance(row["user_input"], str) for row in rows):
            return _asked("samples of ragas", rows, "user_input", *_CONTEXTS)
        why = "its samples are conversations; write one query a sample as user_input"
        return lacking("samples of ragas", why)
    rows = objects(value, "question", "contexts")
    if rows is not None and ("ground_truth" in rows[0] or "answer" in rows[0]):
        return _asked("samples of ragas", rows, "question", "ground_truth_contexts", "contexts")
    return None


def deepeval(value: Any) -> Contents | None:
    """Goldens and test cases of deepeval: `context` answers, `retrieval_context` was retrieved."""
    rows = objects(value, "input")
    if rows is None:
        return None
    camel = "expectedOutput" in rows[0] or "retrievalContext" in rows[0]
    names = ("context", "retrievalContext" if camel else "retrieval_context")
    others = ("expected_output", "expectedOutput", "actual_output", "actualOutput", *names)
    if not any(name in rows[0] for name in others):
        return None
    return _asked("goldens of deepeval", rows, "input", *names)


def promptfoo(value: Any) -> Contents | None:
    """The queries of promptfoo's tests, or of its results; it keeps no documents."""
    lists = (value, *(value_at(value, at) for at in ("tests", "results", "results.results")))
    rows = next(filter(None, (objects(each, "vars") for each in lists)), None)
    if rows is None:
        return None
    texts = [_variable(row["vars"]) for row in rows]
    if None in texts:
        return Contents(
            "tests of promptfoo",
            lacks={"queries": "no variable of them is called query, question or input"},
        )
    return Contents("tests of promptfoo", queries=as_queries(filter(None, texts)))


def _variable(variables: Any) -> str | None:
    """The query among the variables of a test: by its name, or the only one."""
    named = variables if isinstance(variables, Mapping) else {}
    text = next((named[n] for n in ("query", "question", "input") if n in named), None)
    if text is None and len(named) == 1:
        (text,) = named.values()
    return text if isinstance(text, str) else None


def llama_index(value: Any) -> Contents | None:
    """Pairs of LlamaIndex for retrieval (`relevant_docs`), or its labelled examples for RAG."""
    parts = ("queries", "corpus", "relevant_docs")
    if all(isinstance(value_at(value, name), Mapping) for name in parts):
        pairs = [(q, d, 1) for q, ids in value["relevant_docs"].items() for d in texts_in(ids)]
        kind = "a retrieval dataset of LlamaIndex"
        return Contents(
            kind,
            [{"_id": id_, "text": text} for id_, text in value["corpus"].items()],
            [{"_id": id_, "text": text} for id_, text in value["queries"].items()],
            rated(f"qrels from {kind} (relevant_docs)", pairs),
        )
    rows = objects(value_at(value, "examples"), "query", "reference_contexts")
    if rows is None:
        return None
    return _asked(
        "labelled examples of LlamaIndex", rows, "query", "reference_contexts", "contexts"
    )


def squad(value: Any) -> Contents | None:
    """Questions of SQuAD, each with the paragraph that it was asked about."""
    articles = objects(value_at(value, "data"), "paragraphs")
    if articles is None:
        return None
    paragraphs = [each for article in articles for each in article["paragraphs"]]
    asked = [(question, each["context"]) for each in paragraphs for question in each["qas"]]
    contexts = dict.fromkeys(each["context"] for each in paragraphs)
    pairs = [(q["id"], text_id(text), 1) for q, text in asked if not q.get("is_impossible")]
    return Contents(
        "SQuAD",
        [{"_id": text_id(text), "text": text} for text in contexts],
        [{"_id": question["id"], "text": question["question"]} for question, _ in asked],
        rated("qrels from SQuAD (a question's own paragraph)", pairs) if pairs else None,
    )
