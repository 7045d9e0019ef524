"""Spreadsheets: a grade sheet is qrels, a ranking a run, and what is written is read back."""

import json
from pathlib import Path

import pytest
from made_documents import workbook

from labeler.cli import execute
from labeler.errors import BadInput
from labeler.exchange.qrels import read_qrels
from labeler.exchange.queries import read_query_list
from labeler.exchange.runs import read_run

GRADES = [
    ["Query", "Doc ID", "Grade", "Note"],
    ["red shoes", "d1", "2", "ok"],
    ["red shoes", "d2", "0"],
]
PAIR = ["qid", "docno", "grade"]


def made(folder: Path, sheets: dict[str, list[list[str]]]) -> Path:
    path = folder / "a.xlsx"
    path.write_bytes(workbook(sheets))
    return path


def test_a_sheet_of_grades_is_qrels_and_queries(tmp_path: Path) -> None:
    path = made(tmp_path, {"Read me": [["How to grade"]], "Grades": GRADES})
    queries = {"q1": "red shoes"}
    assert read_qrels(path, queries=queries).as_dict() == {"q1": {"d1": 2, "d2": 0}}
    assert [query.text for query in read_query_list(path).values()] == ["red shoes"]


def test_a_sheet_of_ranks_is_a_run(tmp_path: Path) -> None:
    rows = [["qid", "docno", "rank"], ["q1", "d2", "1"], ["q1", "d1", "2"]]
    run = read_run(made(tmp_path, {"s": rows})).as_dict()
    assert sorted(run["q1"], key=run["q1"].__getitem__, reverse=True) == ["d2", "d1"]


@pytest.mark.parametrize(
    ("sheets", "problem"),
    [
        ({"a": GRADES, "b": GRADES}, r"2 sheets hold rows \(a, b\); keep the one to read"),
        ({"a": []}, r"0 sheets hold rows \(none\)"),
        (
            {"a": [["qid", "docno", "grade"], ["q1", "d1", "2", "x"]]},
            r"a\.xlsx:2: expected 3 columns",
        ),
        (
            {"a": [["qid", "docno", "grade"], ["q1", "d1", "good"]]},
            r"a\.xlsx:2: ratings that are no grades \(good\)",
        ),
        ({"a": [["qid", "docno", "grade"], ["", "d1", "2"]]}, r"a\.xlsx:2: expected a query id"),
        ({"a": [["qid", "grade", "grade"], ["q1", "1", "2"]]}, r"a\.xlsx:1: two columns"),
        ({"a": [["x", "y"], ["q1", "1"]]}, "the sheet 'a' of a workbook with the columns x, y"),
    ],
)
def test_another_sheet_is_refused(
    sheets: dict[str, list[list[str]]], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=problem):
        read_qrels(made(tmp_path, sheets))


def test_what_is_written_as_a_sheet_is_read_back(tmp_path: Path) -> None:
    grades = {"q 1": {"007": 2, "a<b>&": 0, "x\ty": 1}}
    source, sheet = tmp_path / "a.json", tmp_path / "b.xlsx"
    source.write_text(json.dumps(grades))
    assert execute(["qrels", "convert", str(source), "-o", str(sheet)]) == 0
    assert read_qrels(sheet).as_dict() == read_qrels(source).as_dict()
    run, back = tmp_path / "run.json", tmp_path / "run.xlsx"
    run.write_text(json.dumps({"q1": {"d1": 1.5, "d2": 0.1}}))
    assert execute(["runs", "convert", str(run), "-o", str(back)]) == 0
    assert read_run(back).as_dict() == {"q1": {"d1": 1.5, "d2": 0.1}}
