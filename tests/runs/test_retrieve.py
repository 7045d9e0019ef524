"""The built-in retrievers, against the obvious slow way."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.collection.search import Searched, bm25_run, dense_run
from labeler.data import Document, Query
from labeler.messages import Advance
from labeler.text.terms import K1, B, TermStatistics, embedded_encoder, encode, terms
from labeler.trec.files import best, ranking

DOCUMENTS = [
    Document("d1", "the cat sat on the mat", "Cats"),
    Document("d2", "dogs chase cats around the house"),
    Document("d10", "a treatise on the tides of the moon", "Tides > Moon"),
    Document("007", "cat cat cat"),
]
SEARCHED = Searched.of(DOCUMENTS)
QUERIES = [Query("q1", "cat on a mat"), Query("q2", "moon"), Query("q3", "zebra")]


def slow_bm25(query: str, document: list[str], statistics: TermStatistics) -> float:
    norm = K1 * (1 - B + B * len(document) / statistics.mean_length)
    counts = {t: document.count(t) for t in terms(query)}
    return sum(
        statistics.idf(t) * counts[t] / (counts[t] + norm) for t in terms(query) if counts[t]
    )


def test_bm25_scores_are_the_formula_s() -> None:
    run = bm25_run(SEARCHED, QUERIES, 10)
    texts = {d.id: terms(f"{d.title} {d.text}") for d in DOCUMENTS}
    statistics = TermStatistics.of(texts.values())
    for query in QUERIES:
        expected = {i: slow_bm25(query.text, text, statistics) for i, text in texts.items()}
        matched = {i: score for i, score in expected.items() if score > 0}
        assert run[query.id] == pytest.approx(matched, rel=1e-5)


def test_a_query_without_a_known_term_finds_nothing() -> None:
    assert bm25_run(SEARCHED, QUERIES, 10)["q3"] == {}


def test_an_empty_corpus_is_no_error() -> None:
    nothing = Searched.of([])
    assert bm25_run(nothing, QUERIES, 10) == {"q1": {}, "q2": {}, "q3": {}}
    assert dense_run(nothing, QUERIES, embedded_encoder(), 10) == {"q1": {}, "q2": {}, "q3": {}}


def test_dense_scores_are_cosines_of_all_documents() -> None:
    told: list[tuple[str, int, int]] = []

    @contextmanager
    def progress(step: str) -> Iterator[Advance]:
        yield lambda done, total: told.append((step, done, total))

    run = dense_run(SEARCHED, QUERIES, embedded_encoder(), 10, progress)
    assert told == [("encoding", 4, 4)]
    vectors = encode([f"{d.title}\n{d.text}" if d.title else d.text for d in DOCUMENTS])
    (wanted,) = encode(["moon"])
    expected = {d.id: float(v @ wanted) for d, v in zip(DOCUMENTS, vectors, strict=True)}
    assert run["q2"] == pytest.approx(expected, abs=1e-6)
    assert ranking(run["q2"])[0] == "d10"


@steadily()
@given(
    st.lists(st.sampled_from([0.0, 0.5, 0.25, 1.5, -math.inf]), min_size=1, max_size=30),
    st.integers(1, 40),
)
def test_the_best_are_those_of_a_full_sort_ties_by_id(scores: list[float], depth: int) -> None:
    ids = [f"d{i}" for i in range(len(scores))]
    found = best(np.array(scores, dtype=np.float32), ids, depth)
    finite = {i: s for i, s in zip(ids, scores, strict=True) if math.isfinite(s)}
    assert list(found) == ranking(finite)[:depth]
