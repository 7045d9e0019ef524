"""A sheet opens as it is in a spreadsheet and in pandas, and its raters are told what to do."""

from pathlib import Path

import pandas as pd
import pytest
from every_row import every_row

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection.people import read_people
from labeler.people.sheet import id_cell, id_in, instructions, meanings_in
from labeler.prompt import find_prompt
from labeler.testing import small_collection

SCALE = "0 = irrelevant; 1 = related; 2 = highly relevant; 3 = perfectly relevant"


def sampled(folder: Path, *more: str) -> tuple[Collection, Path, int]:
    collection, sheet = small_collection(folder / "coll"), folder / "sheet.csv"
    options = ["people", "sample", str(collection.folder), "-o", str(sheet), *more]
    return collection, sheet, execute(options)


def test_a_sheet_in_pandas_has_plain_ids_plain_names_and_the_scale_in_words(tmp_path: Path) -> None:
    collection, sheet, code = sampled(tmp_path)
    assert code == 0
    frame = pd.read_csv(sheet)
    shown = "sample row query_id query doc_id title text grade scale assessor time comment"
    assert list(frame.columns) == shown.split()
    assert set(frame["query_id"]) == {"q1", "q2"}
    assert set(frame["scale"]) == {SCALE}
    assert frame["grade"].isna().all()
    frame["grade"] = 2
    frame.to_csv(sheet, index=False)
    taken = ["people", "import", str(sheet), str(collection.folder), "--as", "human"]
    assert execute(taken) == 0
    rows = read_people(collection.folder / "people" / "human.jsonl")
    assert {row.grade for row in rows} == {2}


@pytest.mark.parametrize(
    "plain", ["q102", "d7", "p7", "1004745", "0", "docs/a.md#3", "7c2f-ab", "MARCO_D12x", "March"]
)
def test_an_id_that_no_spreadsheet_changes_stands_as_it_is(plain: str) -> None:
    assert id_cell(plain) == plain


@every_row(
    "risky",
    ["007", "1e5", "1-2", "3/4", "MARCH1", "sep2", "12:30", "5pm", "TRUE", "1.10", "'x", "50%"],
)
def test_an_id_that_a_spreadsheet_would_change_carries_an_apostrophe_and_comes_back(
    risky: str,
) -> None:
    cell = id_cell(risky)
    assert cell == f"'{risky}"
    assert id_in(cell.removeprefix("'"), risky)
    assert not id_in("other", risky)
    assert id_cell("12345678901234567890").startswith("'")


def test_an_id_as_earlier_sheets_wrote_it_is_still_read() -> None:
    assert all(id_in(cell, name) for name, cell in (("q1", "q1"), ("=1", "=1"), ("a;=1", "a;'=1")))


def test_instructions_stand_beside_a_sheet_with_the_words_of_the_scale_and_the_prompt(
    tmp_path: Path,
) -> None:
    assert sampled(tmp_path)[2] == 0
    text = (tmp_path / "INSTRUCTIONS.md").read_text()
    assert "| 3 | perfectly relevant | the passage is about the query and holds the exact" in text
    for part in ("empty where you cannot tell", "take the lower one", "Grade alone", "CSV (UTF-8)"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 50


def test_instructions_of_a_scale_of_ones_own_word_no_other_prompt() -> None:
    text = instructions({0: "no", 1: "<b>yes</b>|"})
    assert "| 0 | no |  |" in text
    assert r"| 1 | \<b>yes\</b>\| |  |" in text


@pytest.mark.parametrize("name", ["four-grades", "basic"])
def test_the_words_of_each_grade_come_from_the_prompt_s_own_lines(name: str) -> None:
    prompt = find_prompt(name)
    meanings = meanings_in(prompt, dict.fromkeys(prompt.grades, ""))
    assert sorted(meanings) == [0, 1, 2, 3]
    assert len(set(meanings.values())) == 4
    assert meanings_in(prompt, {0: "", 9: ""}) == {}


def test_instructions_that_somebody_wrote_stay_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "INSTRUCTIONS.md"
    page.write_text("# mine\n")
    assert sampled(tmp_path)[2] == 0
    assert page.read_text() == "# mine\n"
    assert f"{page} is there already, and stays" in capsys.readouterr().err
    assert (
        execute(
            ["people", "sample", str(tmp_path / "coll"), "-o", str(tmp_path / "s.csv"), "--force"]
        )
        == 0
    )
    assert page.read_text().startswith("# How to grade")
    assert execute(["people", "sample", str(tmp_path / "coll"), "-o", str(tmp_path / "t.csv")]) == 0
    assert "stays" not in capsys.readouterr().err


def test_a_sheet_into_a_pipe_has_no_page_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    collection = small_collection(tmp_path / "coll")
    assert execute(["people", "sample", str(collection.folder), "-o", "-"]) == 0
    assert not (tmp_path / "INSTRUCTIONS.md").exists()


def test_a_formula_in_a_text_or_a_scale_is_text_on_the_sheet(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    text = collection.queries.read_text().replace("where do", "=1+1 where do")
    collection.queries.write_text(text)
    sheet = tmp_path / "s.csv"
    asked = ["people", "sample", str(collection.folder), "-o", str(sheet), "--scale=-1:1"]
    assert execute(asked) == 0
    row = pd.read_csv(sheet, dtype=str).iloc[0]
    assert row["query_id"] == "q1"
    assert row["query"] == "'=1+1 where do cats sleep"
    assert row["scale"] == "'-1; 0; 1"


def test_where_there_are_fewer_pairs_than_a_sample_has_by_default_all_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sampled(tmp_path)[2] == 0
    assert "4 pairs of 2 queries" in capsys.readouterr().out
    assert sampled(tmp_path, "--pairs", "9")[2] == 2
    assert "cannot draw 9 pairs; these 2 queries have 4" in capsys.readouterr().err
