"""Queries with lists of documents each: sets of tests for RAG, and training sets for retrieval.

A row says what answers its query, and what a system retrieved for it. Texts without ids get a hash
of their text, the same in every file. What a training set calls negative was mostly mined and
judged by nobody: it gives documents, no grades.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from labeler.exchange.contents import (
    PARTS,
    Contents,
    as_queries,
    objects,
    ranked,
    rated,
    text_id,
    texts_in,
)
from labeler.exchange.fields import value_at
from labeler.exchange.responses import (
    HitDocument,
    beside_query,
    documents_of,
    hits_of,
    queries_of,
    query_in,
    ranking_of,
)
from labeler.exchange.tables import column_of, has_column
from labeler.files.jsonl import JsonObject, RowValues
from labeler.trec.values import QUERY_ID, key_of


class RowShape(NamedTuple):
    """What a tool calls the query of a row, the documents that answer it, and those retrieved."""

    kind: str
    query: str
    relevant: str
    retrieved: str
    answers: tuple[str, ...] = ()


_TESTS = (
    RowShape(
        "samples of ragas", "user_input", "reference_contexts", "retrieved_contexts", ("reference",)
    ),
    RowShape("samples of ragas", "question", "ground_truth_contexts", "contexts"),
    RowShape(
        "goldens of deepeval",
        "input",
        "context",
        "retrieval_context",
        ("expected_output", "actual_output"),
    ),
    RowShape("labelled examples of LlamaIndex", "query", "reference_contexts", "contexts"),
)
_REFERENCES = ("reference", "ground_truth", "expected_output", "expectedOutput")
_ASKED = ("query", "question", "input")
_JOINED = re.compile(r"\||;(?=\S)")
"""What deepeval writes between the contexts of a cell."""

_RELEVANT = (
    *("positivepassages", "positivectxs", "positives", "goldids", "goldpassages", "answerpids"),
    *("relevantdocs", "relevantids", "relevantdocids", "relevantpassages"),
)
_NEGATIVE = ("negativepassages", "negativectxs", "hardnegativectxs")

Hits = Sequence[HitDocument]


def _lists(
    kind: str,
    asked: Sequence[JsonObject],
    relevant: Iterable[Hits],
    retrieved: Iterable[Hits] = (),
    more: Iterable[HitDocument] = (),
) -> Contents:
    """Queries, each with the documents that answer it, of grade 1, and with those retrieved."""
    keys = [next(iter(query.values())) for query in asked]
    answers = list(relevant)
    lists = list(retrieved)
    by_text = not any("_id" in query for query in asked)
    pairs = dict.fromkeys(
        (query, hit.id, 1) for query, hits in zip(keys, answers, strict=True) for hit in hits
    )
    runs = [(query, ranking_of(hits)) for query, hits in zip(keys, lists, strict=False) if hits]
    return Contents(
        kind,
        documents_of(chain(*answers, *lists, more)),
        queries_of(asked),
        rated(f"qrels from {kind}", pairs, by_text=by_text) if pairs else None,
        ranked(f"a run from {kind}", dict(runs).items(), by_text=by_text) if runs else None,
    )


def tests_of_rag(value: Any) -> Contents | None:
    """Samples of ragas, goldens and test cases of deepeval, and LlamaIndex's labelled examples."""
    rows = objects(value_at(value, "examples", value)) or [{}]
    shape = next((each for each in _TESTS if _is_of(rows[0], each)), None)
    if shape is None:
        return None
    if not all(isinstance(row[shape.query], str) for row in rows):
        why = f"its samples are conversations; write one query a sample as {shape.query}"
        return Contents(shape.kind, lacks=dict.fromkeys(PARTS, why))
    asked = [{"text": row[shape.query], **_reference(row)} for row in rows]
    relevant, retrieved = (
        [_contexts(row, name) for row in rows] for name in (shape.relevant, shape.retrieved)
    )
    kind = f"{shape.kind} ({shape.relevant}, {shape.retrieved})"
    lacks = {
        "grades": f"no query has {shape.relevant}",
        "rankings": f"no query has {shape.retrieved}",
    }
    return _lists(kind, asked, relevant, retrieved)._replace(lacks=lacks)


def _is_of(row: RowValues, shape: RowShape) -> bool:
    """Whether a row has the query of a shape, and something that belongs to it."""
    lists = (shape.relevant, shape.retrieved, *shape.answers)
    return shape.query in row and has_column(row, list(map(key_of, lists)))


def _reference(row: RowValues) -> JsonObject:
    """The answer that a person or a model wrote, where a row has one."""
    name = next((name for name in _REFERENCES if row.get(name)), None)
    return {"reference": row[name]} if name else {}


def _contexts(row: RowValues, name: str) -> list[HitDocument]:
    """Contexts with their ids, as ragas has them, else with hashes; of ids alone without texts."""
    cell = row.get(column_of(row, (key_of(name),)) or "")
    ids = row.get(f"{name.removesuffix('s')}_ids")
    texts = (
        list(filter(None, map(str.strip, _JOINED.split(cell))))
        if isinstance(cell, str)
        else texts_in(cell)
    )
    if not isinstance(ids, list) or len(ids) != len(texts or ids):
        ids = []
    return [_passage(text, id_) for id_, text in zip_longest(ids, texts, fillvalue="")]


def _passage(text: str, id_: Any = "") -> HitDocument:
    """A text as a document, by an id or by a hash of it."""
    id_ = str(id_) or text_id(text)
    return HitDocument(id_, None, {"_id": id_, "text": text} if text else {})


def candidate_lists(value: Any) -> Contents | None:
    """Training sets, as of Tevatron, MIRACL, BRIGHT and LoTTE; None of other rows."""
    rows = objects(value) or [{}]
    relevant = column_of(rows[0], _RELEVANT)
    if relevant is None or not isinstance(rows[0][relevant], list):
        return None
    names = [relevant, *(name for name in rows[0] if key_of(name) in _NEGATIVE)]
    lists = [[hits_of(row.get(name) or []) for row in rows] for name in names]
    asked = [query_in(row, (*QUERY_ID, "id")) or {} for row in rows]
    if not all("text" in query for query in asked) or any(None in each for each in lists):
        return None
    answers, *mined = ([hits or [] for hits in each] for each in lists)
    retrieved = [each.hits if (each := beside_query(row)) else [] for row in rows]
    kind = f"queries with documents each ({', '.join(names)})"
    return _lists(kind, asked, answers, retrieved, chain(*chain(*mined)))


def promptfoo(value: Any) -> Contents | None:
    """The queries of promptfoo's tests, or of its results; it keeps no documents."""
    lists = (value, *(value_at(value, at) for at in ("tests", "results", "results.results")))
    rows = next(filter(None, (objects(each, "vars") for each in lists)), None)
    if rows is None:
        return None
    tests = [row["vars"] if isinstance(row["vars"], Mapping) else {} for row in rows]
    names = [column_of(test, _ASKED) or ("".join(test) if len(test) == 1 else "") for test in tests]
    named = (test.get(name) for test, name in zip(tests, names, strict=True))
    texts = [text for text in named if isinstance(text, str)]
    queries = as_queries(texts) if len(texts) == len(tests) else None
    lacks = {"queries": "no variable of them is called query, question or input"}
    return Contents("tests of promptfoo", queries=queries, lacks=lacks)


def llama_index(value: Any) -> Contents | None:
    """Pairs of LlamaIndex for retrieval (`relevant_docs`)."""
    names = ("queries", "corpus", "relevant_docs")
    queries, corpus, relevant = (value_at(value, name) for name in names)
    if not all(isinstance(each, Mapping) for each in (queries, corpus, relevant)):
        return None
    passages = {
        id_: HitDocument(id_, None, {"_id": id_, "text": text}) for id_, text in corpus.items()
    }
    lists = [
        [passages.get(d, HitDocument(d, None, {})) for d in relevant.get(q, ())] for q in queries
    ]
    asked = [{"_id": id_, "text": text} for id_, text in queries.items()]
    kind = "a retrieval dataset of LlamaIndex (relevant_docs)"
    return _lists(kind, asked, lists, more=passages.values())


def squad(value: Any) -> Contents | None:
    """Questions of SQuAD, each with the paragraph that it was asked about."""
    articles = objects(value_at(value, "data"), "paragraphs")
    if articles is None:
        return None
    paragraphs = [each for article in articles for each in article["paragraphs"]]
    pairs = [(each, _passage(of["context"])) for of in paragraphs for each in of["qas"]]
    asked = [{"_id": each["id"], "text": each["question"]} for each, _ in pairs]
    answers = ([] if each.get("is_impossible") else [passage] for each, passage in pairs)
    return _lists("SQuAD", asked, answers, more=(passage for _, passage in pairs))
