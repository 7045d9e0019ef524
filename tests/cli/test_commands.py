"""The command line as a whole: help, usage errors, exit codes."""

import gc
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.cli import COMMANDS, execute


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_s_help_shows_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*name.split(), "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Example: {COMMANDS[name].example}" in shown


def test_a_command_after_two_dashes_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["--", "prompts", "show"]) == 0
    assert "four-grades@" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"\b{name.split()[-1]}\b", shown) for name in COMMANDS)


RARE = "aiohttp asyncio email http importlib.metadata openai pandas pydantic rich sqlite3 starlette"
"""What takes long to load, and is loaded where it is needed alone."""


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ("--help", f"{RARE} inspect numpy shutil traceback typer"),
        ("evaluate -m P@5 human.qrels missing.trec", f"{RARE} numpy"),
        (
            "evaluate human.qrels bm25.trec",
            f"{RARE} labeler.collection.stale labeler.collection.whose labeler.pools",
        ),
        ("trec-eval human.qrels bm25.trec", RARE),
    ],
)
def test_nothing_is_loaded_that_a_command_does_not_need(
    words: str, heavy: str, tmp_path: Path
) -> None:
    (tmp_path / "human.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d2 0\n")
    (tmp_path / "bm25.trec").write_text("q1 Q0 d1 1 2 bm25\nq2 Q0 d2 1 1 bm25\n")
    code = (
        f"import sys; from labeler.cli import execute; code = execute({words.split()}); "
        f"print(code, sorted(set({heavy.split()}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == f"{74 if 'missing' in words else 0} []"


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["judeg"], 2, "judeg"),
        (["judge"], 2, "COLL"),
        (["judge", "nowhere/"], 74, "nowhere: no such collection"),
        (["evaluate", "nowhere.qrels", "x.run"], 74, "nowhere.qrels"),
        (["prompts", "show", "nothing"], 2, "known: basic, binary"),
        (["pool", ".", "--depth", "0"], 2, "depth"),
        (["agree", "a.qrels"], 2, ""),
    ],
)
def test_a_usage_error_is_one_line_and_its_exit_code(
    arguments: list[str], code: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(arguments) == code
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("labeler: ")
    assert problem in shown.err


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    from labeler import __version__

    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == f"labeler {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["judg", "coll"], "judge"),
        (["qrels", "stat", "a.qrels"], "stats"),
        (["judge", "coll", "--promt", "basic"], "--prompt"),
        (["prompts", "show", "four-grade"], "four-grades"),
    ],
)
def test_what_a_newcomer_mistypes_is_answered_with_what_was_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert re.search(rf"(did you mean|possible options).*{meant}", shown, re.IGNORECASE)


@pytest.mark.parametrize("name", ["judge", "build", "generate", "evaluate", "people sample"])
def test_the_types_of_options_take_less_room_than_their_texts(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert execute([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert "range" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux lists open files so")
@pytest.mark.parametrize("words", ["qrels stats bad.qrels", "runs stats bad.trec"])
def test_a_file_with_an_error_is_closed_before_the_command_ends(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.qrels").write_text("q1 0 d1 1\nq1 0 d2 x\nq1 0 d3 1\n")
    (tmp_path / "bad.trec").write_text("q1 Q0 d1 1 x r\nq1 Q0 d2 1 1 r\n")
    gc.disable()
    try:
        assert execute(words.split()) == 65
        names = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    finally:
        gc.enable()
    assert not [name for name in names if name.startswith(str(tmp_path))]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("panel", "lab panel"),
        ("balance", "people sample"),
        ("reciprocal rank fusion", "runs fuse"),
        ("most say", "judge"),
    ],
)
def test_help_finds_a_command_by_words_of_its_names_its_help_and_its_options(
    word: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["help", *word.split(), "--json"]) == 0
    assert name in [command["name"] for command in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("was", "name"),
    [
        ("ingest", "corpus ingest"),
        ("run", "runs"),
        ("sample", "people sample"),
        ("leaderboard", "lab leaderboard"),
    ],
)
def test_a_command_that_moved_is_answered_with_its_new_name(
    was: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([was]) == 2
    assert f"did you mean 'labeler {name}'" in capsys.readouterr().err


def test_a_program_reads_every_command_with_its_arguments_and_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["help", "--json"]) == 0
    commands = {command["name"]: command for command in json.loads(capsys.readouterr().out)}
    assert commands.keys() == COMMANDS.keys()
    assert {"--depth"} in [set(option["names"]) for option in commands["pool"]["options"]]


def test_help_of_all_commands_fits_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 48
    assert max(map(len, lines)) <= 80


def test_an_option_that_is_a_setting_now_is_told_with_the_words_that_set_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["judge", "coll", "--rpm", "5"]) == 2
    assert "--rpm is a setting: --set model.rpm=VALUE" in capsys.readouterr().err


def test_help_finds_a_command_by_another_form_of_its_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["help", "agreement"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("agree ")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("holes", ["hole  a retrieved document without a grade", "docs/methods/scores.md"]),
        ("ollama", ["Ollama, vLLM, Azure, and what they cost", "docs/how-to/servers.md"]),
        ("drift", ["lab control", "word   what it means", "docs/how-to/decide.md"]),
    ],
)
def test_help_finds_terms_of_the_glossary_and_pages_of_the_manual(
    words: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["help", words]) == 0
    shown = capsys.readouterr().out
    assert all(line in shown for line in lines)
    assert "whole" not in shown


def test_help_says_where_nothing_has_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["help", "xyzzy"]) == 2
    assert "nothing here says 'xyzzy'" in capsys.readouterr().err
