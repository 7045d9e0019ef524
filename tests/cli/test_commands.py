"""The command line as a whole: help, usage errors, exit codes."""

import re
import subprocess
import sys

import pytest

from labeler.cli import COMMANDS, execute


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_s_help_shows_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([name, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Example: {COMMANDS[name].example}" in shown


def test_a_command_after_two_dashes_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["--", "prompts"]) == 0
    assert "umbrela@" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"\b{name}\b", shown) for name in COMMANDS)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from labeler.cli import execute; execute(['--help']); "
        "print(sorted({'numpy', 'pandas', 'openai', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["judeg"], 2, "judeg"),
        (["judge"], 2, "COLL"),
        (["judge", "nowhere/"], 74, "nowhere: no such collection"),
        (["evaluate", "nowhere.qrels", "x.run"], 74, "nowhere.qrels"),
        (["prompts", "show", "nothing"], 2, "known: answered, basic, by-topic"),
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
        (["prompts", "show", "umbrella"], "umbrela"),
    ],
)
def test_what_a_newcomer_mistypes_is_answered_with_what_was_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert re.search(rf"(did you mean|possible options).*{meant}", shown, re.IGNORECASE)


@pytest.mark.parametrize("name", ["judge", "build", "generate", "evaluate", "sample"])
def test_the_types_of_options_take_less_room_than_their_texts(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert execute([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "range" not in shown
    assert max(map(len, shown.splitlines())) <= 80
