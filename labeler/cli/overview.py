"""What help says of all commands at once, from their table; nothing that runs is loaded for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from labeler.cli.screen import terminal_width
from labeler.cli.table import COMMANDS, GROUPS, MORE, SHOWN, Command, commands_of

LEAST, MOST = 60, 100
"""The columns that a line of help has at least and at most."""

CLOSE = 0.7
"""How much of a word must be the same as of a name for it to be a slip of the fingers."""

SEVERAL = 3

ABOUT = "Build retrieval test collections with an LLM as the relevance assessor."
USAGE = "Usage: labeler COMMAND ...    labeler COMMAND --help    labeler help WORD"
OWN_OPTIONS = "options: --version, --help, --install-completion, --show-completion"


def overview() -> str:
    """What `labeler --help` shows: shown commands one a line, groups by the names of theirs."""
    lines = [USAGE, "", ABOUT]
    for group in SHOWN:
        lines += ["", f"{group}:", *in_columns([(c.name, c.summary) for c in commands_of(group)])]
    names = [(group, " ".join(_last(c) for c in commands_of(group))) for group in GROUPS]
    names.append(("more", " ".join(command.name for command in commands_of(MORE))))
    return "\n".join(
        [*lines, "", "groups (labeler GROUP --help):", *in_columns(names), OWN_OPTIONS]
    )


def overview_of(group: str) -> str:
    """What `labeler GROUP --help` shows."""
    rows = in_columns([(_last(command), command.summary) for command in commands_of(group)])
    usage = f"Usage: labeler {group} COMMAND ...    labeler {group} COMMAND --help"
    return "\n".join([usage, "", GROUPS[group], "", *rows])


def _last(command: Command) -> str:
    return command.name.rpartition(" ")[2]


def in_columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names and texts in two columns, as wide as the screen."""
    rows = list(rows)
    indent = max(len(name) for name, _ in rows) + 4
    width = min(max(terminal_width(), LEAST), MOST)
    return [
        line
        for name, text in rows
        for line in wrap(
            text,
            width,
            initial_indent=f"  {name:{indent - 2}}",
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
    ]


def unknown(words: Sequence[str]) -> str:
    """What to say of words that name no command: which command they may mean."""
    is_inside = words[0] in GROUPS
    typed = " ".join(words[: 1 + is_inside])
    meant = [repr(f"labeler {name}") for name in _meant_by(words[is_inside], words[:is_inside])]
    if meant:
        return f"no command {typed!r:.80}; did you mean {' or '.join(meant[:SEVERAL])}?"
    return f"no command {typed!r:.80}; see labeler {f'{words[0]} ' if is_inside else ''}--help"


def _meant_by(name: str, group: Sequence[str]) -> list[str]:
    """The commands and groups that have a name or one like it; inside a group if given."""
    from difflib import get_close_matches

    commands = list(commands_of(group[0]) if group else COMMANDS.values())
    exact = [command.name for command in commands if name in names_of(command)]
    if exact:
        return exact
    meant = {} if group else {each: each for each in GROUPS}
    for command in commands:
        meant |= {each: command.name for each in names_of(command) if each not in meant}
    return list(
        dict.fromkeys(meant[each] for each in get_close_matches(name, meant, SEVERAL, CLOSE))
    )


def names_of(command: Command) -> list[str]:
    """What a command is called, and words by which it is looked for."""
    return [command.name, *command.name.split(), *command.words.split()]
