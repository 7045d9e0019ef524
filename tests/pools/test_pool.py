import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import read_corpus
from labeler.collection.pool import merge_pools, read_pool
from labeler.collection.queries import read_queries
from labeler.data import Pair, Pooled, Run
from labeler.errors import Misuse
from labeler.pools.pool import pool, pool_runs
from labeler.testing import small_collection

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
    merged = list(merge_pools(old, pool_runs(RUNS, depth=2)))
    assert [p.pair for p in merged][:2] == [("q9", "x"), ("q1", "b")]
    assert merged[1] == Pooled(Pair("q1", "b"), ("mine", "one", "two"), 2)
    assert len(merged) == 5


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_merging_the_same_again_changes_nothing(depth: int) -> None:
    once = merge_pools([], pool_runs(RUNS, depth))
    assert list(merge_pools(once, pool_runs(RUNS, depth))) == list(once)


def test_a_run_that_was_retrieved_for_the_collection_is_pooled_by_itself(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    coll = str(small_collection(tmp_path / "coll").folder)
    assert execute(["retrieve", coll, "--as", "mine", "--engine", "bm25", "--depth", "1"]) == 0
    capsys.readouterr()
    assert execute(["pool", coll, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "mine" in json.loads(out)["runs"]
    assert "pooled too, as it was retrieved for this collection: mine.trec" in err
    assert any("mine" in row.runs for row in read_pool(tmp_path / "coll" / "pool.jsonl"))
    assert execute(["pool", coll]) == 0
    assert "pooled too" not in capsys.readouterr().err


def test_runs_of_another_encoder_are_named_as_they_are_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "coll")
    assert execute(["pool", str(collection.folder)]) == 0
    assert "are replaced" not in capsys.readouterr().err
    made = card_section(read_card(collection), "pool", "runs")["dense"]
    card = collection.card.read_text(encoding="utf-8")
    collection.card.write_text(card.replace(json.dumps(made), '"an earlier one"'), encoding="utf-8")
    assert execute(["pool", str(collection.folder), "--force"]) == 0
    said = capsys.readouterr().err
    assert "the runs dense and hybrid were made with an earlier one, and are replaced" in said


def test_a_run_that_somebody_put_there_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "coll")
    (collection.folder / "runs").mkdir()
    (collection.folder / "runs" / "other.trec").write_text("q1 Q0 fish 1 1 t\n")
    assert execute(["pool", str(collection.folder)]) == 0
    assert "in no pool until it is named: other.trec" in capsys.readouterr().err
    assert not any("other" in row.runs for row in read_pool(collection.pool))


def test_a_retrieved_run_whose_documents_are_gone_is_said_not_to_be_pooled(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "coll")
    coll = str(collection.folder)
    assert execute(["retrieve", coll, "--as", "mine", "--engine", "bm25"]) == 0
    run = collection.run("mine")
    run.write_text(run.read_text().replace(" cats ", " gone "))
    assert execute(["pool", coll]) == 0
    assert "not pooled, though it was retrieved" in capsys.readouterr().err


def test_a_run_that_has_a_query_which_is_gone_is_still_the_same_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "coll")
    coll, mine = str(collection.folder), tmp_path / "mine.trec"
    mine.write_text("q1 Q0 cats 1 2 t\nq2 Q0 fish 1 2 t\n")
    assert execute(["retrieve", coll, "--as", "words", "--engine", "bm25"]) == 0
    assert execute(["pool", coll, "--run", str(mine)]) == 0
    first, _ = collection.queries.read_text().splitlines()
    collection.queries.write_text(first + "\n")
    capsys.readouterr()
    assert execute(["pool", coll, "--run", str(mine), "--json"]) == 0
    out, err = capsys.readouterr()
    assert {"mine", "words"} <= set(json.loads(out)["runs"])
    assert "words.trec: 1 query is not in the collection, left out: q2" in err
    mine.write_text("q1 Q0 fish 1 2 t\n")
    assert execute(["pool", coll, "--run", str(mine)]) == 2
    assert "is another run of that name; rename the file" in capsys.readouterr().err


@pytest.mark.parametrize("depth", [0, -1, "ten", 1.5])
def test_a_depth_that_pools_nothing_is_refused(depth: object, tmp_path: Path) -> None:
    collection = small_collection(tmp_path)
    with pytest.raises(Misuse, match="expected 1 to"):
        pool(collection, depth=depth)  # type: ignore[arg-type]


def test_a_single_run_needs_no_list(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    collection.pool.unlink()
    doc_id = next(iter(read_corpus(collection.corpus)))
    query_id = next(iter(read_queries(collection.queries)))
    run = tmp_path / "mine.trec"
    run.write_text(f"{query_id} Q0 {doc_id} 1 1.0 mine\n")
    assert pool(collection, runs=str(run), only=True).pairs == 1
