"""What became of grades, as a matrix and as the pairs that moved."""

import csv
import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.judged_set import JudgedSet, judged_in
from labeler.collection.layout import Collection
from labeler.data import Pair, State, judged
from labeler.judging.changes import changes_of
from labeler.judging.judge import judge
from labeler.report.render import rendered_all
from labeler.testing import fake_model, small_collection
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels

REFUSED = State(None, "refused")
BEFORE = {Pair("q", "a"): judged(2), Pair("q", "b"): judged(0), Pair("q", "c"): REFUSED}
AFTER = {Pair("q", "a"): judged(0), Pair("q", "b"): judged(0), Pair("q", "c"): judged(2)}


def set_of(states: dict[Pair, State]) -> JudgedSet:
    """What a set says of some pairs of one query."""
    return JudgedSet(PairColumns.of_pairs(states))


def set_in(path: Path, grade: int, reason: str) -> JudgedSet:
    """What a file says of one pair."""
    row = {"query_id": "q", "doc_id": "a", "grade": grade, "status": "judged", "reason": reason}
    path.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    return judged_in(path)


CHANGES = changes_of(set_of(BEFORE), set_of(AFTER))


def test_the_matrix_counts_every_pair_and_the_list_names_those_that_moved() -> None:
    assert rendered_all([CHANGES.matrix_table("old", "new")]).splitlines() == [
        "old \\ new  0  2  refused  all",
        "0          1  0        0    1",
        "2          1  0        0    1",
        "refused    0  1        0    1",
    ]
    assert rendered_all([CHANGES.moved_table("old", "new")]).splitlines() == [
        "query  document      old  new",
        "q      c         refused    2",
        "q      a               2    0",
    ]


def test_a_notebook_gets_a_frame_of_the_pairs_that_moved_and_a_table() -> None:
    assert CHANGES.frame().to_dict("records") == [
        {"query_id": "q", "doc_id": "c", "before": "refused", "after": "2"},
        {"query_id": "q", "doc_id": "a", "before": "2", "after": "0"},
    ]
    assert CHANGES._repr_html_().startswith("<table>")
    assert repr(CHANGES) == "Transitions(2 of 3 moved)"


def test_a_pair_that_moved_is_listed_with_its_query_and_both_reasons(
    tmp_path: Path,
) -> None:
    query = "where do cats\x1b[31m sleep"
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    sets = set_in(old, 2, "it says so"), set_in(new, 0, "dogs " * 20)
    changes = changes_of(*sets, {"q": query})
    assert changes.listing("old", "new").splitlines() == [
        "q a  2 -> 0",
        "    query: where do cats\\x1b[31m sleep",
        "    old: it says so",
        f"    new: {('dogs ' * 20).strip()}",
    ]
    assert changes.listing("old", "new", limit=0) == ""
    assert changes.frame().to_dict("records") == [
        {
            "query_id": "q",
            "doc_id": "a",
            "before": "2",
            "after": "0",
            "query": query,
            "reason_before": "it says so",
            "reason_after": "dogs " * 20,
        }
    ]


def collection_of_two(folder: Path) -> Collection:
    """A collection in which two sets of judgements differ, with reasons."""
    collection = small_collection(folder)
    for name, grade in (("mild", 2), ("strict", 0)):
        reply = json.dumps({"reason": f"a {name} reason", "grade": grade})
        judge(collection, prompt="basic", model=fake_model(reply, name), name=name)
    return collection


def test_a_diff_shows_texts_and_reasons_in_every_form_and_where_to_ask_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = collection_of_two(tmp_path / "c")
    asked = ["diff", str(collection.folder), "mild", "strict"]
    assert execute(asked) == 0
    shown = capsys.readouterr()
    assert "    query: where do cats sleep\n    mild: a mild reason\n" in shown.out
    assert f"labeler people sample {collection.folder} --from strict -o sheet.csv" in shown.err
    write_qrels(collection.qrels("human"), {"q1": {"cats": 2}})
    assert execute([*asked, "--json"]) == 0
    shown = capsys.readouterr()
    (row, *_) = json.loads(shown.out)["moves"]
    assert (row["query"], row["reason_after"]) == ("where do cats sleep", "a strict reason")
    assert f"labeler agree {collection.folder} human mild strict" in shown.err
    assert execute([*asked, "--format", "csv", "--output", str(tmp_path / "moved.csv")]) == 0
    with (tmp_path / "moved.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 4
    assert {row["reason_before"] for row in rows} == {"a mild reason"}
    capsys.readouterr()
    assert execute(["diff", str(collection.folder), "mild", "human"]) == 0
    assert "closer" not in capsys.readouterr().err


def test_relabel_points_to_the_agreement_with_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = collection_of_two(tmp_path / "c")
    write_qrels(collection.qrels("human"), {"q1": {"cats": 2}})
    asked = ["--from", "mild", "--prompt", "four-grades", "--model", "similarity", "--as", "third"]
    assert execute(["relabel", str(collection.folder), *asked]) == 0
    assert f"labeler agree {collection.folder} human mild third" in capsys.readouterr().err
