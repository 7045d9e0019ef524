"""The pairs that people judged can be judged: from a BEIR folder to an agreement."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import labeler
from labeler.cli import execute
from labeler.collection.pool import read_pool
from labeler.errors import BadInput, Misuse
from labeler.testing import fake_model, small_collection

DOCUMENTS = {"1": "cats sleep on the piano", "002": "fish do not close eyes", "1e5": "ü\tb"}
QUERIES = {"1": "where do cats sleep", "q2": "do fish close their eyes"}
JUDGED = [("1", "1", 1), ("1", "002", 0), ("q2", "002", 1), ("q2", "1e5", 0)]


def beir_folder(folder: Path, rows: list[tuple[str, str, Any]] | None = None) -> Path:
    """A data set as BEIR has it: ids that look like numbers, a query called as a document."""
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": i, "text": text}) + "\n" for i, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    lines = ["\t".join(map(str, row)) + "\n" for row in (rows or JUDGED)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


def test_agreement_with_ones_own_labels_is_three_commands_from_a_beir_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(beir_folder(tmp_path / "beir"))
    assert execute(["import", f"{folder}/qrels/test.tsv", "--into", folder, "--as", "human"]) == 0
    assert execute(["judge", folder, "--model", "similarity", "--as", "llm"]) == 0
    assert execute(["agree", folder, "human", "llm"]) == 0
    assert "human and llm: 4 pairs of 2 queries that both graded" in capsys.readouterr().out
    assert {entry.pair for entry in read_pool(Path(folder, "pool.jsonl"))} == {
        (query, document) for query, document, _ in JUDGED
    }


def test_the_same_from_python(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "beir")
    assert labeler.import_qrels(folder / "qrels" / "test.tsv", folder).pairs == len(JUDGED)
    judged = labeler.judge(folder, model=fake_model('{"grade": 1}'), name="llm")
    assert judged.tally.judged == len(JUDGED)
    kept = labeler.read_qrels(folder / "qrels" / "human.qrels")
    assert [(q, d, g) for q, grades in kept.items() for d, g in grades.items()] == sorted(JUDGED)


@pytest.mark.parametrize(
    "source",
    [
        {"q1": {"cats": 2, "fish": 0}},
        [("q1", "cats", 2), ("q1", "fish", 0.0)],
        pd.DataFrame({"qid": ["q1", "q1"], "docno": ["cats", "fish"], "label": [2, 0]}),
    ],
)
def test_what_a_program_holds_can_be_imported(source: Any) -> None:
    collection = small_collection()
    labeler.import_qrels(source, collection, name="ours")
    assert labeler.read_qrels(collection.qrels("ours")) == {"q1": {"cats": 2, "fish": 0}}


def test_ids_that_a_collection_has_not_are_left_out_listed_and_counted(tmp_path: Path) -> None:
    rows = [*JUDGED, ("q9", "1", 1), *(("q2", f"x{n}", 1) for n in range(7))]
    folder = beir_folder(tmp_path / "beir", rows)
    warnings: list[str] = []
    imported = labeler.import_qrels(folder / "qrels" / "test.tsv", folder, warn=warnings.append)
    assert (imported.pairs, imported.left_out) == (4, 8)
    assert imported.unknown_queries == ("q9",)
    assert imported.unknown_documents == tuple(f"x{n}" for n in range(7))
    assert warnings == [
        f"{folder}/qrels/test.tsv: 8 pairs are left out; not in the collection: 1 query (q9);"
        " 7 documents (x0, x1, x2, x3, x4, … and 2 more)"
    ]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("q9", "1", 1)], "share no query"),
        ([("q2", "d1", 1)], "none of its documents is in .*; they differ in a prefix or suffix"),
        ([("q2", "1", "1.5")], r"test.tsv:2: ratings that are no grades"),
        (
            [("q2", "1", "yes")],
            r"no grades \(yes\); say what they mean, as grade_map='yes:1'",
        ),
        ([("q2", "1", 1), ("q2", "1", 2)], "test.tsv:3: q2 1 has 1 and 2"),
        ([("q2", "1", "1\t2")], "test.tsv:2: expected 3 columns as in the first row, found 4"),
        ([(" ", "1", 1)], "test.tsv:2: expected a query id"),
        ([("q9", "1", 1), ("1", "x", 1)], "no pair of which the collection has both"),
        ([], "no pair in it"),
    ],
)
def test_qrels_that_cannot_be_the_collections_are_refused(
    tmp_path: Path, rows: list[tuple[str, str, Any]], problem: str
) -> None:
    folder = beir_folder(tmp_path / "beir")
    lines = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    path = folder / "qrels" / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n" + lines)
    with pytest.raises(BadInput, match=problem):
        labeler.import_qrels(path, folder)
    assert not (folder / "pool.jsonl").exists()
    assert not (folder / "qrels" / "human.qrels").exists()


def test_what_somebody_else_wrote_under_the_name_is_not_replaced(tmp_path: Path) -> None:
    collection = small_collection()
    labeler.judge(collection, model=fake_model('{"grade": 1}'), name="llm")
    with pytest.raises(Misuse, match="holds judgements of that name"):
        labeler.import_qrels({"q1": {"cats": 2}}, collection, name="llm")
    collection.qrels("mine").write_text("q1 0 cats 1\n")
    with pytest.raises(Misuse, match="was not written by this command"):
        labeler.import_qrels({"q1": {"cats": 2}}, collection, name="mine")
    labeler.import_qrels({"q1": {"cats": 2}}, collection, name="mine", force=True)
    labeler.import_qrels({"q1": {"cats": 3}}, collection, name="mine")
    assert labeler.read_qrels(collection.qrels("mine")) == {"q1": {"cats": 3}}


def test_qrels_that_stand_in_the_collection_already_stay_as_they_are(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "beir")
    path = folder / "qrels" / "human.qrels"
    path.write_text("# mine\nq2 0 002 1\n")
    assert labeler.import_qrels(path, folder).new == 1
    assert path.read_text() == "# mine\nq2 0 002 1\n"


def test_a_pair_of_a_negative_grade_was_not_judged_and_is_not_pooled() -> None:
    collection = small_collection()
    collection.pool.unlink()
    warnings: list[str] = []
    source = {"q1": {"cats": 2, "fish": -1}}
    imported = labeler.import_qrels(source, collection, warn=warnings.append)
    assert (imported.pairs, imported.pool) == (2, 1)
    assert warnings == ["human: 1 pair has a negative grade, which is none; not pooled"]


def test_judging_without_a_pool_says_in_one_line_what_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(beir_folder(tmp_path / "beir"))
    for more in ([], ["--dry-run"]):
        assert execute(["judge", folder, "--model", "similarity", *more]) == 74
        *_, line = capsys.readouterr().err.splitlines()
        how = f"labeler pool {folder} (or labeler import, to judge the pairs that people judged)"
        assert line == f"labeler: {folder}/pool.jsonl: no such file; next: {how}"
