"""Pools of a given size, and draws of a fixed size whose chances are known."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.cli import execute
from labeler.collection.pool import read_pool
from labeler.data import Run
from labeler.pools.pool import depth_within, pool_runs
from labeler.stats.estimates import inclusions, systematic
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


@given(st.integers(1, 40), st.floats(0, 1))
@steadily(60)
def test_chances_add_up_to_the_draws_and_none_is_above_1(size: int, part: float) -> None:
    chances = inclusions(np.arange(1, size + 1) ** -0.5, part * size)
    assert chances.sum() == pytest.approx(part * size)
    assert chances.max() <= 1


def test_every_pair_is_drawn_as_often_as_its_inclusion_says() -> None:
    chances = np.array([0.9, 0.05, 0.5, 1.0, 0.3, 0.25])
    starts = (np.arange(1000) + 0.5) / 1000
    drawn = Counter(i for start in starts for i in systematic(chances, float(start)))
    assert [drawn[i] / 1000 for i in range(6)] == pytest.approx(chances.tolist(), abs=0.0011)


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


def test_a_pool_by_budget_is_written_and_kept(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pool", str(many), "--run", str(many.parent / "mine.trec"), "--only"]
    assert execute([*words, "--max-pairs", "12"]) == 0
    assert "the pool reaches depth 4 for every query" in capsys.readouterr().err
    assert len(read_pool(many / "pool.jsonl")) == 12
    before = (many / "pool.jsonl").read_bytes()
    assert execute([*words, "--max-pairs", "12"]) == 0
    assert (many / "pool.jsonl").read_bytes() == before
