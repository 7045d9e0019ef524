"""`labeler help`: commands, words and pages found by words; commands described for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Annotated, Any

from labeler.cli.options import Destination, argument, parser_of, settings_of
from labeler.cli.output import said_to, show, show_json
from labeler.cli.overview import names_of, overview, overview_of
from labeler.cli.screen import say
from labeler.cli.table import COMMANDS, GROUPS, Command, named_by
from labeler.errors import Misuse
from labeler.files.paths import shipped
from labeler.report.table import Column, Table

GLOSSARY = "concepts.md"
"""The page of the manual whose table says what words mean."""

_LITERAL = re.compile(r"(?ms)^```.*?^```$")
"""What a page shows of files and terminals, where a `#` begins no heading."""


def command(
    words: Annotated[list[str] | None, argument("What is looked for.", "WORD...")] = None,
    *,
    to: Destination,
) -> None:
    """Find commands, the field's terms and pages of the manual by their words.

    A command's own name shows its help. With --json a program reads all commands and options.
    """
    words = words or []
    exact = named_by(words)
    commands = [exact] if exact else _commands_with(words)
    others = [] if exact or not words or words[0] in GROUPS else _tables_with(words)
    if not commands and not others:
        raise Misuse(f"nothing here says {' '.join(words)!r:.80}; see labeler --help")
    if to.form == "json":
        show_json([described(each) for each in commands], to)
    elif exact:
        parser_of(exact)(["--help"], prog_name=f"labeler {exact.name}", standalone_mode=False)
    elif words and words[0] not in GROUPS:
        rows = [[c.name, c.summary] for c in commands]
        tables = [_table("command", "what it does", rows), *others]
        show([table for table in tables if table.rows], to)
    else:
        with said_to(to):
            say(overview_of(words[0]) if words else overview())


def _commands_with(words: Sequence[str]) -> list[Command]:
    """The commands in whose names, summary, help or options all words stand, in this order."""
    texts = (lambda c: " ".join(names_of(c)), lambda c: c.summary, _whole_help)
    with_words = [c for text in texts for c in COMMANDS.values() if _stand_in(words, text(c))]
    return list(dict.fromkeys(with_words))


def _table(name: str, what: str, rows: Sequence[Sequence[str]]) -> Table:
    columns = [Column(name, align="left"), Column(what, align="left")]
    return Table(f"{name}s", columns, [[*row] for row in rows])


def _tables_with(words: Sequence[str]) -> list[Table]:
    """The glossary's words, and the pages of the manual by their headings, with these words."""
    folder = shipped("docs")
    meanings, headings = list[list[str]](), list[list[str]]()
    for path in sorted(folder.rglob("*.md")):
        lines = _LITERAL.sub("", path.read_text(encoding="utf-8")).splitlines()
        titles = [line.lstrip("# ") for line in lines if line.startswith("#")]
        headings += [[title, str(path)] for title in titles if _stand_in(words, title)][:1]
        if path.name == GLOSSARY:
            cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
            meanings += [row for row in cells if len(row) == 2 and _stand_in(words, row[0])]
    tables = _table("word", "what it means", meanings), _table("page", "where", headings)
    return [table for table in tables if table.rows]


def _stand_in(words: Sequence[str], text: str) -> bool:
    """Whether each word begins one of a text, but for its ending: `agreement` does `agree`."""
    beginnings = (word.casefold()[: max(5, len(word) - 4)].removesuffix("s") for word in words)
    return all(re.search(rf"(?<!\w){re.escape(b)}", text.casefold()) for b in beginnings)


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
