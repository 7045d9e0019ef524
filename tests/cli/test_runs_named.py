"""Runs are named by their files, by folders where files are called alike, or as NAME=FILE."""

import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.testing import small_collection

RUN = "q1 Q0 cats 1 2 t\nq2 Q0 fish 1 2 t\n"


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.chdir(tmp_path)
    collection = small_collection(tmp_path / "coll")
    collection.qrels("human").parent.mkdir(exist_ok=True)
    collection.qrels("human").write_text("q1 0 cats 1\nq2 0 fish 1\n")
    collection.run("own").parent.mkdir(exist_ok=True)
    collection.run("own").write_text(RUN)
    for folder in ("prod", "exp"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "results.trec").write_text(RUN)
    return collection


def names(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]]


EXPECTED = {
    "human.qrels prod/results.trec exp/results.trec": ["prod/results", "exp/results"],
    "human.qrels old=prod/results.trec new=exp/results.trec": ["old", "new"],
    "coll exp/results.trec": ["results"],
    "coll own new=exp/results.trec": ["own", "new"],
    "coll": ["own"],
}


@pytest.mark.parametrize("words", EXPECTED)
def test_runs_are_called_so_that_nobody_takes_one_for_another(
    collection: Collection, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    Path("human.qrels").write_text(collection.qrels("human").read_text())
    assert execute(["evaluate", *words.split(), "--json"]) == 0
    assert names(capsys) == EXPECTED[words]


def test_a_run_keyed_by_text_is_scored_in_its_collection(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = map(json.loads, collection.queries.read_text().splitlines())
    by_text = {query["text"].upper(): {"cats": 1.0} for query in queries}
    Path("new.json").write_text(json.dumps({**by_text, "nobody asked": {"cats": 1.0}}))
    assert execute(["evaluate", "coll", "new.json", "--json"]) == 0
    assert names(capsys) == ["new"]
    assert execute(["pool", "coll", "--run", "new.json", "--only"]) == 0
    assert Path("coll/runs/new.trec").read_text().startswith("q1 Q0 cats 1 1.0")
    told = capsys.readouterr().err
    assert "1 query is not in the collection, left out: nobody␠asked" in told
