"""Prompts are listed, copied and checked: by functions, and by `labeler prompts`."""

import json
from pathlib import Path

import pytest
from every_row import every_row

from labeler.cli import execute
from labeler.judging.judge import judge
from labeler.judging.relabel import relabel
from labeler.prompt import find_prompt, prompt_files, read_prompt
from labeler.prompt.check import check_prompt
from labeler.prompt.listing import calls_in_words, shipped_prompts, tokens_of
from labeler.prompt.read import copy_of
from labeler.testing import fake_model, small_collection


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_list_fits_80_columns_and_has_every_prompt_with_its_tokens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert execute(["prompts", "show"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert execute(["prompts", "show", "--json"]) == 0
    rows = {row["prompt"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == {read_prompt(path).id for path in prompt_files().values()}
    for prompt in shipped_prompts():
        assert prompt.id in shown
        assert rows[prompt.id]["tokens"] == tokens_of(prompt).inside > 20
        assert rows[prompt.id]["reply tokens"] == prompt.front.max_tokens


@every_row("name", prompt_files())
def test_a_copy_of_a_shipped_prompt_asks_the_same_and_says_where_it_is_from(name: str) -> None:
    original, path = find_prompt(name, kind=None), Path("mine.md")
    path.write_text(copy_of(original, "mine"))
    copy = read_prompt(path)
    assert copy.turns == original.turns
    assert (copy.front.based_on, copy.front.shown_with) == (original.id, "")
    assert check_prompt(path).problems == ()
    assert copy_of(copy, "next").count("based_on") == 1


def test_a_copy_is_never_written_over_a_file_nor_called_as_a_shipped_prompt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["prompts", "new", "mine", "--from", "basic"]) == 0
    assert "edit it, then: labeler prompts check mine.md" in capsys.readouterr().err
    before = Path("mine.md").read_text()
    assert execute(["prompts", "new", "mine"]) == 2
    assert "mine.md exists already; edit it, or give" in capsys.readouterr().err
    assert Path("mine.md").read_text() == before
    assert execute(["prompts", "new", "basic"]) == 2
    assert "a shipped prompt is called 'basic'; give another name" in capsys.readouterr().err
    assert execute(["prompts", "new", "../mine"]) == 2


def test_all_problems_of_a_file_are_lines_with_its_name_and_the_exit_code_is_65(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = copy_of(find_prompt("four-grades"), "mine")
    changed = text.replace("{query}", "{qery}").replace("max_tokens", "max_token")
    Path("mine.md").write_text(changed)
    assert execute(["prompts", "check", "mine.md"]) == 65
    shown = capsys.readouterr()
    lines = changed.split("\n")
    numbers = [6, lines.index("Query: {qery}") + 1]
    starts = [line.split(" ")[0] for line in shown.out.splitlines()]
    assert starts == [f"mine.md:{number}:" for number in numbers]
    assert shown.err == "labeler: mine.md: 2 errors, 0 warnings\n"
    assert execute(["prompts", "check", "mine.md", "--json"]) == 65
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [problem["line"] for problem in problems] == numbers


def test_a_scale_that_the_text_contradicts_is_an_error_of_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = copy_of(find_prompt("basic"), "mine").replace("from 0 to 3", "from 0 to 4")
    Path("mine.md").write_text(text)
    assert execute(["prompts", "check", "mine.md"]) == 65
    shown = capsys.readouterr().out
    assert 'the template says "0 to 4", and [scale] goes from 0 to 3' in shown
    assert "--- user\nHow useful is this passage" in shown


def test_a_prompt_is_copied_edited_checked_and_used() -> None:
    collection = small_collection("coll")
    judge(collection, model=fake_model('{"grade": 1}'), prompt="four-grades", name="first")
    assert execute(["prompts", "new", "mine", "--from", "four-grades"]) == 0
    text = Path("mine.md").read_text()
    Path("mine.md").write_text(text.replace("exact answer", "whole answer"))
    assert execute(["prompts", "check", "mine.md"]) == 0
    model = fake_model('{"grade": 2}')
    result = relabel(collection, "first", prompt="mine.md", model=model, name="second")
    assert len(result.changes.moved) == result.judging.judged > 0
    assert execute(["diff", "coll", "first", "second"]) == 0


def test_calls_are_counted_for_a_document_and_for_a_list_of_them() -> None:
    names = ("basic", "criteria", "list", "rubric")
    calls = {name: calls_in_words(find_prompt(name)) for name in names}
    assert calls == {"basic": "1", "criteria": "4", "list": "1/10", "rubric": "1 + 1/query"}


def test_a_check_shows_each_kind_of_request_in_the_form_in_which_it_is_sent() -> None:
    checks = {name: check_prompt(prompt_files()[name]) for name in ("few-shot", "list")}
    examples = {name: check.example[-1].content for name, check in checks.items()}
    assert 'Answer: {"grade": 1}' in examples["few-shot"]
    code = examples["list"].partition("--- passages ")[2][:12]
    assert f"[1 {code}]\n" in examples["list"]


SLIPS = {
    "is negative, which in qrels says that nobody judged the pair": ("terse", '0 = "', '-1 = "'),
    "of of [examples] is '../x'; it should match": ("few-shot", '"human"', '"../x"'),
    "cuts of [combine] is '5'; it should be a valid tuple": (
        *("criteria", "cuts = [5, 7, 10]", "cuts = '5'"),
    ),
    "it should be less than or equal to 1000000": (
        "terse",
        "max_tokens = 16",
        "max_tokens = 9999999",
    ),
}


@pytest.mark.parametrize("problem", SLIPS)
def test_a_slip_in_a_copy_is_said_before_any_call(problem: str) -> None:
    name, old, new = SLIPS[problem]
    text = prompt_files()[name].read_text()
    assert old in text
    Path("mine.md").write_text(text.replace(old, new, 1))
    assert any(problem in found.text for found in check_prompt("mine.md").problems)
