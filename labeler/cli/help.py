"""`labeler help`: commands found by words, and described for programs."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Annotated, Any

import typer

from labeler.cli.options import OutputFlags, parser_of, settings_of
from labeler.cli.output import said_to, show, show_json
from labeler.cli.overview import names_of, overview, overview_of
from labeler.cli.screen import say
from labeler.cli.table import COMMANDS, GROUPS, Command, named_by
from labeler.errors import Misuse
from labeler.report.table import Column, Table


def command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD...", help="What is looked for.")
    ] = None,
    *,
    output: OutputFlags,
) -> None:
    """Find commands by words of their names, help and options.

    A command's own name shows its help. With --json a program reads all commands and options.
    """
    words, to = words or [], output.made_from()
    exact = named_by(words)
    commands = [exact] if exact else _commands_with(words)
    if output.format == "json":
        show_json([described(each) for each in commands], to)
    elif exact:
        parser_of(exact)(["--help"], prog_name=f"labeler {exact.name}", standalone_mode=False)
    elif words and words[0] not in GROUPS:
        columns = [Column("command", align="left"), Column("what it does", align="left")]
        show(
            [Table("commands", columns, [[c.name, c.summary] for c in commands])], output.format, to
        )
    else:
        with said_to(to):
            say(overview_of(words[0]) if words else overview())


def _commands_with(words: Sequence[str]) -> list[Command]:
    """The commands in whose names, summary, help or options all words stand, in this order.

    `Misuse` where there is none.
    """
    texts = (lambda c: " ".join(names_of(c)), lambda c: c.summary, _whole_help)
    with_words = [c for text in texts for c in COMMANDS.values() if _stand_in(words, text(c))]
    if not with_words:
        raise Misuse(f"no command says {' '.join(words)!r:.80} of itself; see labeler --help")
    return list(dict.fromkeys(with_words))


def _stand_in(words: Sequence[str], text: str) -> bool:
    """Whether each word stands in a text, but for its ending: `agreement` does in `agree`."""
    beginnings = (word.casefold()[: max(5, len(word) - 4)] for word in words)
    return all(beginning in text.casefold() for beginning in beginnings)


def _whole_help(command: Command) -> str:
    about = described(command)
    parts = [part for each in about["options"] for part in (*each["names"], each["help"])]
    return " ".join([about["help"], *(each["help"] for each in about["arguments"]), *parts])


def described(command: Command) -> dict[str, Any]:
    """A command with its arguments and options, as a program reads it."""
    parser = parser_of(command, is_whole=True)
    parameters = [p for p in parser.params if not p.hidden and p.name != "help"]
    by_kind: dict[str, list[dict[str, Any]]] = {"argument": [], "option": []}
    for parameter in parameters:
        by_kind[parameter.param_type_name].append(_described_parameter(parameter))
    return {
        "name": command.name,
        "group": command.group,
        "summary": command.summary,
        "help": cleandoc(command.load().__doc__ or command.summary),
        "example": command.example,
        "arguments": by_kind["argument"],
        "options": by_kind["option"],
        "settings": [*settings_of(parser)],
    }


def _described_parameter(parameter: Any) -> dict[str, Any]:
    """An argument or option: its names, what it takes, its default where that is a plain one."""
    is_argument = parameter.param_type_name == "argument"
    default = parameter.default
    return {
        "names": [parameter.metavar or parameter.name] if is_argument else [*parameter.opts],
        "help": parameter.help or "",
        "takes": "" if is_argument else parameter.metavar or "",
        "required": parameter.required,
        "repeatable": parameter.multiple or parameter.nargs == -1,
        "default": default if isinstance(default, str | int | float) else None,
    }
