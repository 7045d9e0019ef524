"""What help shows of the type of an option: a word for what is meant, and none where none is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

WORDS = {"path": "PATH", "list[path]": "PATH", "str": "TEXT", "list[str]": "TEXT"}
"""What stands in help for a type of Python; choices are shown as they are."""


def with_plain_types(app: typer.Typer, *, is_whole: bool = False) -> Any:
    """The app's command, whose help has words of users for types, and none where they say nothing.

    An option without a value has no type, and an argument is called after what it is already. The
    rare options are shown where `is_whole`.
    """
    command: Any = typer.main.get_command(app)
    for each in (command, *_commands_in(command)):
        with typer.Context(each, help_option_names=["--help", "-h"]) as context:
            for parameter in each.get_params(context):
                _show_plainly(parameter, context)
                if is_whole and getattr(parameter, "hidden", False):
                    parameter.hidden = False
    return command


def _show_plainly(parameter: Any, context: Any) -> None:
    if parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: None
    elif getattr(parameter, "is_flag", False):
        parameter.metavar = ""
    elif parameter.metavar is None:
        shown = re.sub(r"^<(.*)>$", r"\1", parameter.display_type_rich(ctx=context) or "")
        # words apart, so that a line breaks between two choices and not within one
        parameter.metavar = WORDS.get(shown.casefold(), shown.replace("|", " | "))


def _commands_in(command: Any) -> Iterator[Any]:
    for inner in getattr(command, "commands", {}).values():
        yield inner
        yield from _commands_in(inner)
