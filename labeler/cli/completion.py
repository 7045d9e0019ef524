"""What a shell asks while a command line is being typed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

ASKED = "_LABELER_COMPLETE"
"""Set by the shell's script, which `--install-completion` installs."""

LINES = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
"""The line that was typed so far, as the scripts of the shells hand it over."""


def completed_command(environment: Mapping[str, str], commands: Collection[str]) -> str | None:
    """The command whose options or values are to be completed; None while it is being typed."""
    if ASKED not in environment:
        return None
    for name in LINES:
        line = environment.get(name, "")
        words = line.split()
        if words[1:2] and words[1] in commands and (len(words) > 2 or line[-1:].isspace()):
            return words[1]
    return None
