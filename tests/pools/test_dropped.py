"""A query or a document may leave a collection and return; no pair and no grade is lost."""

import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.dropped import drop_absent
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import read_pool, standing_pool, write_pool
from labeler.corpus.update import update
from labeler.data import Pair, Pooled
from labeler.judging.judge import judge
from labeler.judging.relabel import relabel
from labeler.judging.status import status
from labeler.judging.validate import validate
from labeler.models.session import Control
from labeler.pools.import_qrels import import_qrels
from labeler.pools.pool import pool
from labeler.testing import fake_model, small_collection
from labeler.trec.files import read_qrels

ONE = fake_model('{"grade": 1}')


@pytest.fixture
def judged(tmp_path: Path) -> Collection:
    collection = small_collection(tmp_path / "coll")
    judge(collection, model=ONE, name="llm")
    return collection


def remove_line(path: Path, number: int) -> str:
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    del lines[number - 1]
    path.write_text("".join(lines))
    return before


def files(collection: Collection) -> list[list[str]]:
    paths = (collection.judgements("llm"), collection.qrels("llm"))
    pairs = [str(entry.pair) for entry in read_pool(collection.pool)]
    return [sorted(pairs), *(sorted(path.read_text().splitlines()) for path in paths)]


@pytest.mark.parametrize("part", ["queries", "corpus"])
def test_what_returns_finds_its_pairs_and_grades_as_they_were(
    part: str, judged: Collection
) -> None:
    judge(pool(judged).pool.parent, model=ONE, name="llm")
    before = files(judged)
    path: Path = getattr(judged, part)
    text = remove_line(path, 2)
    result = pool(judged)
    assert (result.pairs, result.dropped and result.dropped.pairs) == (2, 2)
    assert judge(judged, model=ONE, name="llm").judged == 2
    assert sum(map(len, read_qrels(judged.qrels("llm")).values())) == 2
    assert len(judged.judgements("llm").read_text().splitlines()) == 4
    path.write_text(text)
    again = pool(judged).dropped
    assert again
    assert (again.pairs, again.returned) == (0, 2)
    assert judge(judged, model=ONE, name="llm").spent.calls == 0
    assert files(judged) == before
    assert not judged.dropped.exists()


def test_what_the_pool_knew_of_a_pair_returns_with_it(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    entries = [
        Pooled(Pair("q2", "fish"), ("mine",), 7, ("seed",)),
        Pooled(Pair("q1", "cats"), round=2),
    ]
    with locked(collection):
        write_pool(collection.pool, entries)
        text = remove_line(collection.queries, 2)
        assert drop_absent(collection)
        assert drop_absent(collection) is None
        assert list(standing_pool(collection.dropped)) == entries[:1]
        collection.queries.write_text(text)
        drop_absent(collection)
    assert sorted(read_pool(collection.pool), key=str) == sorted(entries, key=str)


def test_a_pair_that_a_kill_left_in_both_files_is_once_in_one(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    entries = list(read_pool(collection.pool))
    with locked(collection):
        write_pool(collection.dropped, entries[2:])
        drop_absent(collection)
        assert list(read_pool(collection.pool)) == entries
        write_pool(collection.dropped, entries[2:])
        remove_line(collection.queries, 2)
        drop_absent(collection)
    assert list(read_pool(collection.pool)) == entries[:2]
    assert list(standing_pool(collection.dropped)) == entries[2:]


def test_judge_and_validate_name_the_command_that_mends_the_pool(
    judged: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    remove_line(judged.queries, 2)
    folder = str(judged.folder)
    assert execute(["judge", folder, "--model", "similarity"]) == 65
    advice = f"the query 'q2' is not in the collection; next: labeler pool {folder}"
    assert f"{judged.pool}:3: {advice}" in capsys.readouterr().err
    assert execute(["validate", folder]) == 65
    assert advice in capsys.readouterr().out
    assert execute(["pool", folder, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["dropped"]["queries"] == ["q2"]
    assert "2 pairs left the pool, as the collection lacks 1 query (q2)" in err
    assert "their judgements stay, and the next judge leaves them out of the qrels" in err
    assert "left the pool, as dropped.jsonl says, and counts" in str(validate(judged).problems)
    judge(judged, model=ONE, name="llm")
    assert [p.level for p in validate(judged).problems] == ["warning"]
    assert [(each.tally.judged, each.left) for each in status(judged)] == [(2, 0)]


def test_grades_of_what_is_gone_are_not_judged_anew_and_are_counted_nowhere(
    judged: Collection,
) -> None:
    remove_line(judged.corpus, 2)
    assert import_qrels({"q1": {"cats": 1}}, judged).pool == 2
    assert relabel(judged, "llm", model=ONE, name="second", prompt="basic").judging.total == 2


def test_pairs_that_left_the_pool_follow_a_change_of_the_documents(tmp_path: Path) -> None:
    page = tmp_path / "cats.md"
    page.write_text("# Cats\n\nA cat sleeps anywhere.\n")
    (tmp_path / "q.txt").write_text("where do cats sleep\nfish eyes\n")
    assert execute(["corpus", "ingest", str(page), "-o", str(tmp_path / "coll"), "--queries-file",
                    str(tmp_path / "q.txt")]) == 0  # fmt: skip
    collection = Collection(tmp_path / "coll")
    doc_id = json.loads(collection.corpus.read_text())["_id"]
    with locked(collection):
        write_pool(collection.pool, [Pooled(Pair(query, doc_id)) for query in ("q1", "q2")])
    judge(collection, model=ONE, name="llm")
    remove_line(collection.queries, 2)
    pool(collection)
    page.write_text("# The cat\n\nA cat sleeps anywhere.\n")
    update(page, collection)
    (entry,) = standing_pool(collection.dropped)
    assert entry.pair == ("q2", next(iter(read_pool(collection.pool))).pair.doc_id)
    assert [p.level for p in validate(collection).problems if "edited" not in p.problem] == [
        "warning"
    ]


def test_a_run_pooled_while_a_query_was_missing_gains_it_when_it_is_back(tmp_path: Path) -> None:
    collection, mine = small_collection(tmp_path / "coll"), tmp_path / "mine.trec"
    mine.write_text("q1 Q0 cats 1 2 t\nq2 Q0 fish 1 2 t\n")
    text, notes = remove_line(collection.queries, 2), list[str]()
    pool(collection, runs=[mine], only=True, control=Control(notes.append))
    assert "1 query is not in the collection, left out: q2" in " ".join(notes)
    assert "q2" not in collection.run("mine").read_text()
    collection.queries.write_text(text)
    pool(collection, runs=[mine], only=True)
    assert collection.run("mine").read_text().split()[::6] == ["q1", "q2"]
    assert validate(collection).errors == 0
