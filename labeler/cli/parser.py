"""The parser of one command, made of its function; and that of all of them, for shells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer

from labeler.cli.options import HELP_ALL, option_names, settings_help, settings_of, unfolded
from labeler.cli.screen import say
from labeler.cli.table import COMMANDS, GROUPS, Command, named_by
from labeler.errors import Misuse

HELP = {"help_option_names": ["--help", "-h"]}
LINES = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
"""The line that was typed so far, as the scripts of the shells hand it over."""


@cache
def parser_of(command: Command, *, is_whole: bool = False) -> Any:
    """The parser of one command, made once in a process: it takes longer than many commands run.

    Its help shows the rare options and the settings, too, where `is_whole`.
    """
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings=HELP,
    )
    app.command(command.name, epilog=f"Example: {command.example}")(unfolded(command.load()))
    parser: Any = typer.main.get_command(app)
    with typer.Context(parser, help_option_names=HELP["help_option_names"]) as context:
        for parameter in parser.get_params(context):
            _show_plainly(parameter, context)
            parameter.hidden = getattr(parameter, "hidden", False) and not is_whole
    return parser


WORDS = {"path": "PATH", "list[path]": "PATH", "str": "TEXT", "list[str]": "TEXT"}
"""What stands in help for a type of Python; choices are shown as they are."""


def _show_plainly(parameter: Any, context: Any) -> None:
    """A word of users for a parameter's type, and none where it says nothing.

    An option without a value has no type, and an argument is called after what it is already.
    """
    if parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: None
    elif getattr(parameter, "is_flag", False):
        parameter.metavar = ""
    elif parameter.metavar is None:
        shown = re.sub(r"^<(.*)>$", r"\1", parameter.display_type_rich(ctx=context) or "")
        # words apart, so that a line breaks between two choices and not within one
        parameter.metavar = WORDS.get(shown.casefold(), shown.replace("|", " | "))


def run(command: Command, words: Sequence[str]) -> object:
    """Run a command with the words after its name; an exit code where it ended with one.

    Raises `Misuse` where the words are none of its arguments and options.
    """
    name = f"labeler {command.name}"
    how = {"prog_name": name, "standalone_mode": False}
    is_whole = HELP_ALL in words[: words.index("--") if "--" in words else None]
    try:
        parser = parser_of(command, is_whole=is_whole)
        if not is_whole:
            return parser([*words], **how)
        parser(["--help"], **how)
        if settings := settings_of(parser):
            say(settings_help(settings))
        return 0
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:
        problem = error.format_message().replace("Value error, ", "").rstrip(".")
        option = getattr(error, "option_name", "")
        if setting := _setting_called(command, option):
            problem = f"{option} is a setting: --set {setting}=VALUE, or in labeler.toml"
        raise Misuse(f"{problem}; see {name} --help") from None


def _setting_called(command: Command, option: str) -> str:
    """The setting of a command that an option which it lacks names; empty where there is none."""
    key = option.lstrip("-").replace("-", "_")
    settings = settings_of(parser_of(command))
    return next((name for name in settings if key and name.endswith(f".{key}")), "")


def options_of(command: Command) -> dict[str, str]:
    """A command's options in their longest spelling, by the names of their parameters."""
    return option_names(parser_of(command))


def answer_shell(words: Sequence[str]) -> object:
    """Install or show the script of a shell, or answer what it asks while a line is typed."""
    how = {"prog_name": "labeler", "standalone_mode": False}
    return typer.main.get_command(_all_commands(_line_so_far()))([*words], **how)


def _line_so_far() -> list[str]:
    line = next((os.environ[name] for name in LINES if name in os.environ), "")
    return line.split()[1:]


def _all_commands(line: Sequence[str]) -> typer.Typer:
    """All commands by their names; of the one that the line names, its options too."""
    root = typer.Typer(name="labeler", context_settings=HELP)
    root.callback()(_nothing("Build retrieval test collections."))
    groups = {name: typer.Typer(help=text) for name, text in GROUPS.items()}
    for command in COMMANDS.values():
        first, _, name = command.name.partition(" ")
        is_typed = command == named_by(line)
        function = unfolded(command.load()) if is_typed else _nothing(command.summary)
        groups.get(first, root).command(name or first)(function)
    for name, group in groups.items():
        root.add_typer(group, name=name)
    return root


def _nothing(summary: str) -> Callable[[], None]:
    """A command that says of itself what it is for, and is not run."""

    def command() -> None:
        raise NotImplementedError

    command.__doc__ = summary
    return command
