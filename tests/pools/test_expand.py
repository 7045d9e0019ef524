"""Pools that grow by the neighbors of relevant documents, and what stays right about them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from labeler.collection.pool import Pool, read_pool
from labeler.collection.search import Searched
from labeler.data import Document, Pair, Pooled
from labeler.errors import BadInput
from labeler.pools.reuse import Finders
from labeler.runs.retrieve import neighbors
from labeler.testing import Answer, Call, FakeServer, embeddings
from labeler.testing.fake_server import texts_in

CHAIN = ("ant bee", "bee cow", "cow dog", "dog elk", "elk fox", "fox gnu", "gnu hen", "hen ibis")
"""Each text shares a word with the next, so that BM25 finds the one before and the one after."""


@contextmanager
def encoder_apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that gives each text a direction of its own, so that terms alone make neighbors."""
    numbers: dict[str, int] = {}

    def apart(call: Call) -> Answer:
        texts = texts_in(call)
        answer = embeddings(texts)
        for row, text in zip(answer["data"], texts, strict=True):
            row["embedding"] = [0.0] * 64
            row["embedding"][numbers.setdefault(text, len(numbers))] = 1.0
        return Answer(answer)

    with FakeServer() as server:
        server.encode = apart
        monkeypatch.setenv("LABELER_ENCODER", "apart")
        monkeypatch.setenv("LABELER_EMBEDDINGS_URL", server.base_url)
        yield


def entry(doc_id: str, *seeds: str, number: int | None = None) -> Pooled:
    return Pooled(Pair("q", doc_id), seeds=seeds, round=number)


def gone(entries: list[Pooled], found: dict[str, str], *family: str) -> set[str]:
    """The documents that would not be in a pool without some runs; `found` says which have each."""
    names, pool = ("one", "two"), Pool.of(entries)
    runs = [[name in found.get(e.pair.doc_id, "") for name in names] for e in entries]
    counts = np.array([e.pair.doc_id in found for e in entries])
    finders = Finders(pool, names, np.array(runs), counts)
    return {doc_id for _, doc_id in pool.pairs.keep(finders.brought_alone(set(family)))}


def test_a_run_that_is_left_out_takes_with_it_what_its_documents_alone_led_to() -> None:
    found = {"a": "one", "b": "two", "c": "", "d": "", "e": "", "f": "one"}
    entries = [
        entry("a"),
        entry("b"),
        entry("c", "a", number=1),
        entry("d", "a", "b", number=1),
        entry("e", "c", number=2),
        entry("f", "d"),
        entry("people"),
    ]
    assert gone(entries, found, "one") == {"a", "c", "e"}
    assert gone(entries, found, "two") == {"b"}
    assert gone(entries, found, "one", "two") == set("abcdef")


def test_documents_that_led_to_one_another_alone_do_not_hold_each_other() -> None:
    entries = [entry("a", "b"), entry("b", "a", number=1)]
    assert gone(entries, {"a": "one", "b": ""}, "one") == {"a", "b"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"seeds": "d1"}, "expected 'seeds' to be a list of names"),
        ({"seeds": [1]}, "expected 'seeds' to be a list of names"),
        ({"round": 0}, "expected 'round' to count from 1"),
        ({"round": "1"}, "expected 'round' to count from 1"),
    ],
)
def test_rows_that_say_something_else_are_refused(
    tmp_path: Path, row: dict[str, object], problem: str
) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(json.dumps({"query_id": "q", "doc_id": "d", **row}) + "\n")
    with pytest.raises(BadInput, match=f"pool.jsonl:1: {problem}"):
        read_pool(path)


def test_neighbors_are_nearest_first_and_never_the_document_itself() -> None:
    documents = [Document(f"d{n}", text) for n, text in enumerate(CHAIN)]
    near = neighbors(Searched.of(documents), documents, 5)
    for first, second in pairwise(documents):
        assert second.id in near[first.id]
        assert first.id in near[second.id]
    assert all(len(others) <= 2 and seed not in others for seed, others in near.items())
