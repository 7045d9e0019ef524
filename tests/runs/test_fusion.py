"""Fusion of runs."""

from labeler.runs.fuse import rrf
from labeler.trec.files import ranking


def test_ties_go_to_the_greater_document_id() -> None:
    assert ranking({"a": 1.0, "c": 1.0, "b": 2.0}) == ["b", "c", "a"]


def test_reciprocal_rank_fusion_adds_one_over_k_plus_rank() -> None:
    first = {"q": {"a": 9.0, "b": 8.0}}
    second = {"q": {"b": 0.2, "c": 0.1}, "r": {"x": 1.0}}
    fused = rrf([first, second])
    assert fused == {
        "q": {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62},
        "r": {"x": 1 / 61},
    }
    assert list(fused["q"]) == ["b", "a", "c"]


def test_fusion_keeps_at_most_the_depth() -> None:
    assert list(rrf([{"q": {"a": 1.0, "b": 2.0, "c": 3.0}}], depth=2)["q"]) == ["c", "b"]
