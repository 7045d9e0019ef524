"""Options without a value, which have no type to be shown in help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer


def without_types_of_flags(app: typer.Typer) -> Any:
    """The app's command, in whose help no option without a value has a type."""
    command: Any = typer.main.get_command(app)
    for each in (command, *_commands_in(command)):
        with typer.Context(each, help_option_names=["--help", "-h"]) as context:
            for option in each.get_params(context):
                if getattr(option, "is_flag", False):
                    option.metavar = ""
    return command


def _commands_in(command: Any) -> Iterator[Any]:
    for inner in getattr(command, "commands", {}).values():
        yield inner
        yield from _commands_in(inner)
