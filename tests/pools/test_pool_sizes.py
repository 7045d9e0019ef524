"""Pools of a given size, random samples beyond them, and what the pools missed."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.cli import execute
from labeler.collection.pool import merge_pools, read_pool
from labeler.data import Pair, Pooled, Run
from labeler.errors import BadInput, Misuse
from labeler.pools.missed import estimate_missed, missed, weighted_count_interval
from labeler.pools.pool import PoolSize, beyond, depth_within, pool, pool_runs
from labeler.stats.estimates import equal_shares, inclusions, systematic
from labeler.testing import small_collection


def run_of(queries: int, documents: str, depth: int) -> Run:
    return {f"q{q}": {f"{documents}{d}": float(-d) for d in range(depth)} for q in range(queries)}


RUNS = {"one": run_of(6, "a", 30), "two": run_of(6, "b", 30), "short": run_of(2, "c", 2)}


@pytest.mark.parametrize("most", [12, 20, 61, 300, 10_000])
def test_a_pool_of_a_size_is_as_deep_as_it_can_be_for_all_queries(most: int) -> None:
    depth = depth_within(RUNS, 30, (), most)
    assert len(list(pool_runs(RUNS, depth))) <= most
    assert depth == 30 or len(list(pool_runs(RUNS, depth + 1))) > most


def test_old_pairs_count_and_the_same_size_again_adds_nothing() -> None:
    old = {entry.pair for entry in pool_runs(RUNS, 3)}
    assert depth_within(RUNS, 30, old, 40 - len(old)) == 3
    assert depth_within(RUNS, 30, old, 12) == 4


def test_a_sample_has_its_size_equal_shares_and_nothing_of_the_pool() -> None:
    pooled = {entry.pair for entry in pool_runs(RUNS, 5)}
    drawn, total = beyond(RUNS, pooled, 90)
    assert total == 6 * 60 + 4 - len(pooled)
    assert len(drawn) in {89, 90, 91}
    assert not {entry.pair for entry in drawn} & pooled
    assert set(Counter(entry.pair.query_id for entry in drawn).values()) <= {14, 15, 16}
    assert all(0 < (entry.inclusion or 0) <= 1 for entry in drawn)
    assert beyond(RUNS, pooled, 90) == (drawn, total)
    assert beyond(RUNS, pooled, 90, seed=1)[0] != drawn


def test_a_sample_of_everything_is_certain() -> None:
    drawn, total = beyond(RUNS, set(), 10_000)
    assert len(drawn) == total
    assert {entry.inclusion for entry in drawn} == {1.0}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 60))
@steadily(60)
def test_shares_add_up_and_no_query_gives_more_than_it_has(sizes: list[int], count: int) -> None:
    shares = equal_shares(sizes, count)
    assert sum(shares) == pytest.approx(min(count, sum(sizes)))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    for size, share in zip(sizes, shares, strict=True):
        chances = inclusions(np.arange(1, size + 1) ** -0.5, share)
        assert chances.sum() == pytest.approx(share)
        assert chances.max() <= 1


def test_every_pair_is_drawn_as_often_as_its_inclusion_says() -> None:
    chances = np.array([0.9, 0.05, 0.5, 1.0, 0.3, 0.25])
    starts = (np.arange(1000) + 0.5) / 1000
    drawn = Counter(i for start in starts for i in systematic(chances, float(start)))
    assert [drawn[i] / 1000 for i in range(6)] == pytest.approx(chances.tolist(), abs=0.0011)


def test_the_estimate_is_right_in_the_mean_and_its_interval_holds_the_truth() -> None:
    """Samples of a world that is known; 95 % is what the interval claims."""
    rng = np.random.default_rng(100)
    chances = inclusions(np.arange(11, 411) ** -0.5, 40)
    relevant = rng.random(400) < 6 / np.arange(11, 411)
    grades = {"q": {str(i): int(relevant[i]) for i in range(400)}}
    totals, covered = [], 0
    for number in range(4000):
        order = rng.permutation(400)
        drawn = order[systematic(chances[order], float(rng.random()))]
        totals.append((relevant[drawn] / chances[drawn]).sum())
        if number < 300:
            entries = [Pooled(Pair("q", str(i)), (), None, float(chances[i])) for i in drawn]
            result = estimate_missed(entries, grades)
            assert result.missed == pytest.approx(totals[-1])
            covered += result.missed_low <= relevant.sum() <= result.missed_high
    assert abs(np.mean(totals) - relevant.sum()) < 3 * np.std(totals) / 4000**0.5
    assert covered >= 285


def test_none_found_does_not_mean_none_missed_unless_all_were_looked_at() -> None:
    weights, nothing = np.full(100, 5.0), np.zeros(100, dtype=np.bool_)
    low, high = weighted_count_interval(weights, nothing)
    assert low == 0
    assert high == pytest.approx(5 * 3.69, rel=0.02)  # half of chi-square's 97.5 % point, 2 degrees
    assert weighted_count_interval(np.ones(100), nothing) == (0, 0)


def test_an_interval_is_that_of_a_poisson_count_where_all_weigh_the_same() -> None:
    hits = np.arange(1000) < 10
    low, high = weighted_count_interval(np.full(1000, 20.0), hits)
    assert (low / 20, high / 20) == pytest.approx((4.795, 18.39), rel=0.02)  # Garwood (1936)


def test_sampled_pairs_without_a_grade_are_made_up_for_by_the_others() -> None:
    entries = [Pooled(Pair("q", str(i)), (), None, 0.1) for i in range(10)]
    grades = {"q": {str(i): int(i < 2) for i in range(5)}}
    result = estimate_missed(entries, grades)
    assert (result.judged, result.sampled, result.missed) == (5, 10, pytest.approx(40))
    with pytest.raises(Misuse, match="none of the pairs sampled beyond the pool is judged"):
        estimate_missed(entries, {})


def test_a_sampled_pair_that_is_pooled_later_leaves_the_sample() -> None:
    pair = Pair("q", "d")
    old = [Pooled(pair, ("a",), 40, 0.25)]
    assert list(merge_pools(old, [Pooled(pair, ("b",), 3)])) == [Pooled(pair, ("a", "b"), 3)]


@pytest.mark.parametrize("value", [0, -0.1, 1.5, "0.5", True, "NaN"])
def test_an_inclusion_that_is_no_probability_is_refused(tmp_path: Path, value: object) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(json.dumps({"query_id": "q", "doc_id": "d", "inclusion": value}) + "\n")
    with pytest.raises(BadInput, match=r"pool.jsonl:1: expected 'inclusion' to be a probability"):
        read_pool(path)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A collection of 40 documents and three queries, with a run of them all."""
    folder = tmp_path / "coll"
    small_collection(folder).pool.unlink()
    ids = [f"d{n:02}" for n in range(40)]
    rows = [{"_id": i, "title": "", "text": f"words of {i}"} for i in ids]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": f"q{n}", "text": f"words {n}"} for n in range(3)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    lines = (f"q{q} Q0 {i} {n + 1} {40 - n} mine" for q in range(3) for n, i in enumerate(ids))
    (tmp_path / "mine.trec").write_text("\n".join(lines) + "\n")
    return folder


def test_a_pool_by_budget_and_a_sample_are_written_and_kept(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pool", str(many), "--run", str(many.parent / "mine.trec"), "--only"]
    assert execute([*words, "--max-pairs", "12", "--beyond", "30"]) == 0
    error = capsys.readouterr().err
    assert "the pool reaches depth 4 for every query" in error
    assert "30 of 108 pairs beyond it drawn at random" in error
    entries = read_pool(many / "pool.jsonl")
    assert [e.inclusion is None for e in entries].count(True) == 12
    before = (many / "pool.jsonl").read_bytes()
    assert execute([*words, "--max-pairs", "12", "--beyond", "30"]) == 0
    assert "has a random sample already, of 30 pairs" in capsys.readouterr().err
    assert (many / "pool.jsonl").read_bytes() == before


def judged(folder: Path, grade: Callable[[Pooled], int]) -> None:
    """Qrels of all pairs of the pool."""
    (folder / "qrels").mkdir(exist_ok=True)
    lines = (
        f"{e.pair.query_id} 0 {e.pair.doc_id} {grade(e)}" for e in read_pool(folder / "pool.jsonl")
    )
    (folder / "qrels" / "llm.qrels").write_text("\n".join(sorted(lines)) + "\n")


def test_what_a_pool_missed_is_said_in_words_and_as_json(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool(many, runs=[many.parent / "mine.trec"], only=True, depth=5, size=PoolSize(beyond=30))
    judged(many, lambda entry: int((entry.best_rank or 0) % 10 < 2))
    result = missed(many, "llm")
    assert (result.sampled, result.judged, result.relevant_in_pool) == (30, 30, 3)
    assert result.missed_low <= result.missed <= result.missed_high
    capsys.readouterr()
    assert execute(["evaluate", str(many), "--missed"]) == 0
    words = capsys.readouterr().out
    assert "of 30 pairs sampled beyond the pool" in words
    assert "the pool has 3 relevant documents and missed about" in words
    assert execute(["evaluate", str(many), "--missed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missed"] == result.missed


def test_without_a_sample_nothing_is_estimated(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool(many, runs=[many.parent / "mine.trec"], only=True, depth=5)
    judged(many, lambda _entry: 1)
    assert execute(["evaluate", str(many), "--missed"]) == 2
    words = capsys.readouterr().err
    assert "labeler: the pool has no random sample beyond it; next: labeler pool " in words
    assert " --beyond 100, then labeler judge " in words
    assert execute(["evaluate", str(many), "--missed", "--qrels", "nope"]) == 2
    assert "--qrels: " in capsys.readouterr().err
