"""Scores move through labels and through retrieval, which are told apart and add up."""

import hashlib
import math
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.corpus.ingest import ingest
from labeler.corpus.matching import Match
from labeler.corpus.rechunk import rechunk
from labeler.corpus.update import update
from labeler.errors import Misuse
from labeler.judging.judge import judge
from labeler.pools.pool import pool
from labeler.pools.shift import shift, translated


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    docs = tmp_path / "docs"
    docs.mkdir()
    for animal in ("cat", "dog", "cow", "hen"):
        text = " ".join(f"The {animal} has habit {n} near {animal} place {n}." for n in range(90))
        (docs / f"{animal}.md").write_text(f"# Of the {animal}\n\n{text}\n")
    (tmp_path / "q.txt").write_text("habit of the cat\nplaces of a cow\nhen habit 3\n")
    made = Collection(tmp_path / "coll")
    ingest(docs, made, tmp_path / "q.txt")
    pool(made)
    judge(made, model="similarity", name="a")
    return made


def test_the_two_parts_add_up_to_the_whole(collection: Collection) -> None:
    rechunk(collection, 60)
    pool(collection)
    judge(collection, model="similarity", name="a")
    result = shift(collection)
    assert result.runs
    assert result.holes == pytest.approx(0, abs=0.3)
    for run in result.runs:
        assert run.labels.value is not None
        assert run.retrieval.value is not None
        moved = run.labels.value + run.retrieval.value
        assert math.isclose(run.before + moved, run.now, abs_tol=1e-9)


def test_where_only_ids_changed_nothing_moved(collection: Collection) -> None:
    docs = collection.folder.parent / "docs"
    (docs / "cat.md").rename(docs / "tom.md")
    update(docs, collection)
    pool(collection)
    judge(collection, model="similarity", name="a")
    for run in shift(collection).runs:
        assert run.labels.value == pytest.approx(0, abs=1e-9)
        assert run.retrieval.value == pytest.approx(0, abs=0.05)  # ties are broken by ids


def test_a_ranking_is_translated_passage_by_passage() -> None:
    matches = {
        "a": Match("merged", ("x",)), "b": Match("split", ("y", "z")), "c": Match("merged", ("x",)),
        "d": Match("gone"),
    }  # fmt: skip
    run = {"q": {"d": 9.0, "b": 8.0, "a": 7.0, "c": 6.0, "unknown": 5.0}}
    assert list(translated(run, matches)["q"]) == ["y", "z", "x"]


def test_without_an_earlier_state_there_is_nothing_to_compare(collection: Collection) -> None:
    with pytest.raises(Misuse, match="has no earlier state"):
        shift(collection)


def test_the_command_shows_both_parts(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    rechunk(collection, 60)
    pool(collection)
    judge(collection, model="similarity", name="a")
    states = ["diff", str(collection.folder / "history" / "1"), str(collection.folder)]
    assert execute(states) == 0
    out = capsys.readouterr().out
    assert "through labels" in out
    assert "through retrieval" in out
    sources = collection.qrels("a").with_name("a.qrels.sources.tsv")
    digest = hashlib.sha256(collection.qrels("a").read_bytes()).hexdigest()
    sources.write_text(
        f"# sha256 {digest}\nquery_id\tdoc_id\tgrade\tsource\nq\td\t1\thuman\nq\te\t1\tm\n"
    )
    assert execute(states) == 0
    assert "a.qrels mixes grades: 1 of human, 1 of m" in capsys.readouterr().err
    with pytest.raises(Misuse, match="no state 7; there are 1"):
        shift(collection, state=7)
