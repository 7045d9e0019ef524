"""What a shell is told while a command line is being typed."""

import os
import subprocess
import sys

import pytest


def completed(shell: str, line: str) -> str:
    words = line.split(" ")
    asked = {
        "_LABELER_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-m", "labeler"]
    environment = {**os.environ, **asked}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_commands_options_and_their_values_are_completed(shell: str) -> None:
    assert "judge" in completed(shell, "labeler ju")
    assert "--max-cost" in completed(shell, "labeler judge coll/ --max")
    assert "latex" in completed(shell, "labeler evaluate --format ")
    assert "convert" in completed(shell, "labeler run co")


def test_the_script_of_a_shell_can_be_shown() -> None:
    command = [sys.executable, "-m", "labeler", "--show-completion", "bash"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "_LABELER_COMPLETE=complete_bash" in done.stdout
