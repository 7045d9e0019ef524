"""A path that does not exist is named as that first, and a folder of runs is a list of runs."""

import shutil
from pathlib import Path

import pytest

from labeler import evaluate, leaderboard
from labeler.cli import execute
from labeler.errors import FileProblem
from labeler.files.paths import did_you_mean

PAIRS = [(q, d) for q in range(1, 9) for d in (1, 2, 3)]
GRADED = "".join(f"q{q} 0 d{d} {q * d % 4}\n" for q, d in PAIRS)
OTHERS = "".join(f"q{q} 0 d{d} {(q + d) % 4}\n" for q, d in PAIRS)
RANKED = "".join(f"q{q} Q0 d{d} {d} {9 - d}.5 a\n" for q, d in PAIRS)
SECOND = "".join(f"q{q} Q0 d{4 - d} {d} {9 - d}.5 b\n" for q, d in PAIRS)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two qrels, a folder of two runs and a collection, where the commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.qrels").write_text(GRADED)
    (tmp_path / "b.qrels").write_text(OTHERS)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "first.trec").write_text(RANKED)
    (tmp_path / "runs" / "second.run").write_text(SECOND)
    (tmp_path / "coll" / "runs").mkdir(parents=True)
    (tmp_path / "coll" / "corpus.jsonl").write_text('{"_id": "d1", "text": "a cat"}\n')
    for run in (tmp_path / "runs").iterdir():
        shutil.copy(run, tmp_path / "coll" / "runs")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "evaluate coll-typo",
        "evaluate a.qrels coll-typo",
        "correct coll-typo b.qrels runs",
        "correct a.qrels b.qrels coll-typo",
        "lab leaderboard coll-typo a b",
        "lab leaderboard a.qrels b.qrels coll-typo",
        "power coll-typo",
        "power a.qrels coll-typo",
        "agree a.qrels coll-typo",
        "agree a.qrels b.qrels --run coll-typo",
        "runs fuse coll-typo runs/first.trec -o f.trec",
        "runs stats coll-typo",
        "runs validate coll-typo",
        "runs cut coll-typo --depth 2 -o f.trec",
        "qrels stats coll-typo",
        "qrels validate coll-typo",
        "qrels compare a.qrels coll-typo",
        "pool coll --run coll-typo",
        "people import coll-typo coll --as me",
        "corpus ingest coll-typo -o new",
        "trec-eval coll-typo runs/first.trec",
    ],
)
def test_a_path_that_does_not_exist_is_named_as_that_first(
    words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(words.split()) == 74
    assert "labeler: coll-typo: no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "judge COLL",
        "people sample COLL -o s.csv",
        "status COLL",
        "diff COLL a b",
        "explain COLL q d",
    ],
)
def test_a_collection_that_does_not_exist_is_named_with_the_one_that_was_meant(
    words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(words.replace("COLL", "col").split()) == 74
    expected = "labeler: col: no such collection directory; did you mean 'coll'?\n"
    assert capsys.readouterr().err == expected
    assert execute(words.replace("COLL", "a.qrels").split()) == 74
    shown = capsys.readouterr().err
    assert shown == (
        "labeler: a.qrels: a file, where a collection's directory belongs; labeler import takes "
        "it into one, and labeler evaluate scores runs by qrels alone\n"
    )


def test_a_sheet_and_a_collection_that_changed_places_are_seen(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["people", "import", "coll", "sheet.csv", "--as", "me"]) == 2
    assert capsys.readouterr().err == (
        "labeler: coll is a folder: the sheet comes first, "
        "as in: labeler people import SHEET.csv coll --as me\n"
    )


@pytest.mark.parametrize("folder", ["runs", "coll"])
@pytest.mark.parametrize(
    "words",
    [
        "evaluate a.qrels RUNS --json",
        "correct a.qrels b.qrels RUNS --json",
        "lab leaderboard a.qrels b.qrels RUNS --json",
        "power a.qrels RUNS --json",
        "agree a.qrels b.qrels --run RUNS --json",
        "runs stats RUNS --json",
        "runs validate RUNS",
        "runs fuse RUNS -o -",
    ],
)
def test_a_folder_of_runs_is_a_list_of_runs_in_every_command_that_takes_runs(
    words: str, folder: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(words.replace("RUNS", folder).split()) == 0
    shown = capsys.readouterr()
    files = f"{folder}/first.trec {folder}/second.run"
    if folder == "coll":
        files = "coll/runs/first.trec coll/runs/second.run"
    assert execute(words.replace("RUNS", files if "--run " not in words else folder).split()) == 0
    assert capsys.readouterr().out == shown.out


def test_a_file_among_runs_that_is_not_called_as_one_is_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "runs" / "notes.md").write_text("mine")
    assert execute(["evaluate", "a.qrels", "runs"]) == 0
    assert "not read as runs: runs/notes.md" in capsys.readouterr().err


def test_a_folder_without_a_run_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "empty").mkdir()
    assert execute(["evaluate", "a.qrels", "empty"]) == 74
    assert "labeler: empty: no run in it (*.trec, *.run" in capsys.readouterr().err


def test_the_functions_take_a_folder_of_runs_too(place: Path) -> None:
    files = [place / "runs" / "first.trec", place / "runs" / "second.run"]
    by_folder = evaluate(place / "a.qrels", place / "runs").as_json()
    assert by_folder == evaluate(place / "a.qrels", files).as_json()
    assert by_folder == evaluate(place / "a.qrels", [place / "runs"]).as_json()
    board = leaderboard(place / "a.qrels", place / "b.qrels", place / "runs")
    assert {system.run for system in board.systems} == {"first", "second"}
    with pytest.raises(FileProblem, match=r"did you mean '.*runs'"):
        evaluate(place / "a.qrels", place / "rnus")


def test_a_name_unlike_all_others_has_no_suggestion(place: Path) -> None:
    assert did_you_mean(place / "nothing-like-it.zip") == ""
    assert did_you_mean(place / "no" / "such" / "folder") == ""
    assert did_you_mean(Path("coll-typo")) == "; did you mean 'coll'?"
