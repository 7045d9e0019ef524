"""What a shell is told while a command line is being typed."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from labeler.cli import execute


@pytest.fixture
def completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], str]:
    """What a shell is told of a line that is being typed."""

    def told(shell: str, line: str) -> str:
        monkeypatch.setenv("_LABELER_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        with pytest.raises(SystemExit, match=r"^0$"):
            execute([])
        return capsys.readouterr().out

    return told


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_commands_options_and_their_values_are_completed(
    shell: str, completed: Callable[[str, str], str]
) -> None:
    assert "judge" in completed(shell, "labeler ju")
    assert "--max-cost" in completed(shell, "labeler judge coll/ --max")
    assert "latex" in completed(shell, "labeler evaluate --format ")
    assert "convert" in completed(shell, "labeler runs co")


def test_the_program_itself_completes() -> None:
    asked = {"_LABELER_COMPLETE": "complete_bash", "COMP_WORDS": "labeler ju", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "labeler"]
    done = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "judge\n"


def test_the_script_of_a_shell_can_be_shown() -> None:
    command = [sys.executable, "-m", "labeler", "--show-completion", "bash"]
    named = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # not the parent's
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=named)
    assert "_LABELER_COMPLETE=complete_bash" in done.stdout, done.stderr
