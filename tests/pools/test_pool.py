import pytest

from labeler.collection.pool import merge_pools
from labeler.data import Pair, Pooled, Run
from labeler.pools.pool import pool_runs

RUNS: dict[str, Run] = {
    "one": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}},
    "two": {"q1": {"b": 9.0, "d": 9.0}, "q2": {"a": 1.0}},
}


def test_a_pool_says_who_found_a_pair_and_at_what_best_rank() -> None:
    assert {p.pair: (p.runs, p.best_rank) for p in pool_runs(RUNS, depth=2)} == {
        ("q1", "a"): (("one",), 1),
        ("q1", "b"): (("one", "two"), 2),
        ("q1", "d"): (("two",), 1),
        ("q2", "a"): (("two",), 1),
    }


def test_ties_are_broken_as_trec_eval_does_by_id_descending() -> None:
    assert [p.pair.doc_id for p in pool_runs({"two": RUNS["two"]}, depth=1)] == ["d", "a"]


def test_merging_drops_no_pair_and_keeps_the_better_rank() -> None:
    old = [Pooled(Pair("q9", "x")), Pooled(Pair("q1", "b"), ("mine",), 7)]
    merged = merge_pools(old, pool_runs(RUNS, depth=2))
    assert [p.pair for p in merged][:2] == [("q9", "x"), ("q1", "b")]
    assert merged[1] == Pooled(Pair("q1", "b"), ("mine", "one", "two"), 2)
    assert len(merged) == 5


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_merging_the_same_again_changes_nothing(depth: int) -> None:
    once = merge_pools([], pool_runs(RUNS, depth))
    assert merge_pools(once, pool_runs(RUNS, depth)) == once
