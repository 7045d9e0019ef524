"""Requests that begin alike follow one another, and what a server had ready of them is counted."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from made import make_collection

from labeler.collection.layout import locked
from labeler.collection.pool import Pairs, read_pool, write_pool
from labeler.data import Pair
from labeler.judging.judge import judge
from labeler.models.server.answers import cached_tokens
from labeler.testing import fake_model


def test_pairs_of_a_query_are_asked_about_one_after_another_however_the_pool_lies(
    tmp_path: Path,
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=4)
    with locked(collection):
        mixed = sorted(read_pool(collection.pool), key=lambda entry: entry.pair.doc_id)
        write_pool(collection.pool, mixed)
    assert [pair.query_id for pair in read_pool(collection.pool).pairs][:3] == ["q0", "q1", "q2"]
    asked: list[str] = []
    model = fake_model(lambda request: asked.append(request.inputs["query"]) or '{"grade": 1}')  # type: ignore[func-returns-value]  # it is None
    judge(collection, model=model, name="a", concurrency=1)
    assert [query for query, _ in groupby(asked)] == list(dict.fromkeys(asked))
    assert len(asked) == 12


def test_pairs_by_query_stay_in_their_order_and_are_the_same_pairs() -> None:
    rows = [("b", "2"), ("a", "1"), ("b", "1"), ("c", "2"), ("a", "2")]
    pairs = Pairs.of(Pair(*row) for row in rows)
    assert list(pairs) == [Pair(*row) for row in rows]
    assert list(pairs.by_query()) == [
        *(Pair("b", "2"), Pair("b", "1"), Pair("a", "1"), Pair("a", "2"), Pair("c", "2"))
    ]
    assert list(pairs.by_query().by_query()) == list(pairs.by_query())
    assert list(Pairs.of([]).by_query()) == []


USAGES: list[tuple[dict[str, Any], int]] = [
    ({"prompt_tokens_details": {"cached_tokens": 64}}, 64),
    ({"input_tokens_details": {"cached_tokens": 64}}, 64),
    ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 3}, 64),
    ({"prompt_tokens_details": None}, 0),
    ({"prompt_tokens_details": {"cached_tokens": None, "audio_tokens": 3}}, 0),
    ({"prompt_tokens_details": {"cached_tokens": -5}}, 0),
    ({"prompt_tokens_details": {"cached_tokens": "many"}}, 0),
    ({}, 0),
]


@pytest.mark.parametrize(("usage", "tokens"), USAGES)
def test_tokens_from_a_servers_cache_are_read_where_it_says_them(
    usage: dict[str, Any], tokens: int
) -> None:
    assert cached_tokens(usage) == tokens
