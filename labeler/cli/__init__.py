"""The command line: it runs a command, says what went wrong, and ends with an exit code."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from labeler import __version__
from labeler.cli.completion import completed_command
from labeler.cli.options import option_names
from labeler.cli.registry import COMMANDS, summary_of
from labeler.cli.screen import complain, note
from labeler.cli.settings import defaults_of
from labeler.cli.shown_types import with_plain_types
from labeler.cli.signals import Terminated, end_by_signals, raise_signals
from labeler.cli.streams import prepare_streams
from labeler.errors import FileProblem, LabelerError, Misuse, SaysTooLittle
from labeler.exchange.shapes import told_what_files_are
from labeler.files.read import rereadable

__all__ = ["COMMANDS", "complain_of_file", "execute", "main", "make_app", "summary_of"]

INTERRUPTED = 130
TERMINATED = 143


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"labeler {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Build retrieval test collections with an LLM as the relevance assessor."""


def _without_options(summary: str) -> Callable[[], None]:
    """A command that says of itself what it is for, and is not run."""

    def command() -> None:
        raise NotImplementedError

    command.__doc__ = summary
    return command


def make_app(only: str | None = None) -> typer.Typer:
    """The Typer app of one command; or of all, to be listed and not to be run.

    Listing takes no options, and reading the options of all takes longer than most commands run.
    """
    app = typer.Typer(
        name="labeler",
        callback=_options,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    if only is None:
        for name, command in COMMANDS.items():
            app.command(name, rich_help_panel=command.panel)(_without_options(summary_of(command)))
        return app
    command = COMMANDS[only]
    runnable, panel, epilog = command.run, command.panel, f"Example: {command.example}"
    if isinstance(runnable, typer.Typer):
        app.add_typer(runnable, name=only, rich_help_panel=panel, epilog=epilog)
    else:
        app.command(only, rich_help_panel=panel, epilog=epilog)(runnable)
    return app


@cache
def _command_line(only: str | None) -> Any:
    """What `make_app` describes, made once in a process: it takes longer than many commands run."""
    return with_plain_types(make_app(only))


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; DESIGN.md lists them."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--"]:  # it ends the options of `labeler` itself, and there were none
        del words[0]
    try:
        _refuse_no_text(words)
        words = _spelled_today(words)
        first = completed_command(os.environ, COMMANDS) or (words[0] if words else "")
        command_line = _command_line(first if first in COMMANDS else None)
        with rereadable(), told_what_files_are(note):
            defaults = defaults_of(words[0] if words else "", words)
            how = {"prog_name": "labeler", "standalone_mode": False, "default_map": defaults}
            result = command_line(words or ["--help"], **how)
    except LabelerError as error:
        # its text alone: the error would hold this frame, and so each file that was being read
        problem = str(error.problem if isinstance(error, SaysTooLittle) else error)
        complain(f"{_option_of(error, words)}{problem}{_how_to_go_on(error, words)}")
        return error.exit_code
    except typer.TyperException as error:
        problem = error.format_message().replace("Value error, ", "").rstrip(".")
        complain(f"{problem or 'expected one of these commands'}; see {_help_of(error)}")
        return Misuse.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Terminated:
        complain("terminated; run the same command again to go on")
        return TERMINATED
    except OSError as error:
        return complain_of_file(error)
    except Exception as error:  # nobody expected it: a bug of ours
        from labeler.cli.bugs import report_bug

        return report_bug(error)
    if result == INTERRUPTED:
        complain("interrupted; run the same command again to go on")
    return result if isinstance(result, int) else 0


def _spelled_today(words: Sequence[str]) -> list[str]:
    """The words with the options that were renamed; `trec-eval` has names of its own."""
    if words[:1] == ["trec-eval"]:
        return list(words)
    options = words.index("--") if "--" in words else len(words)
    renamed = [re.sub(r"^--out(?==|$)", "--output", word) for word in words[:options]]
    return [*renamed, *words[options:]]


def _refuse_no_text(words: Sequence[str]) -> None:
    """`Misuse` of an argument that is not UTF-8, unless a file is called so."""
    for word in words:
        is_text = not any("\ud800" <= character <= "\udfff" for character in word)
        if not (is_text or os.path.lexists(word)):
            raise Misuse(f"the argument {word!r:.80} is not UTF-8")


def complain_of_file(error: OSError) -> int:
    """Print the one line of a file that could not be read or written; its exit code."""
    from labeler.files.paths import worded

    complain(worded(error, error.filename) if error.filename else str(error.strerror or error))
    return FileProblem.exit_code


def _option_of(error: LabelerError, arguments: Sequence[str]) -> str:
    """`--depth: ` where the error is about the parameter `depth` and the command has the option."""
    option = options_by_parameter(arguments).get(error.parameter)
    return f"{option}: " if option else ""


def options_by_parameter(arguments: Sequence[str]) -> dict[str, str]:
    """The options of the command that was given, by the names of its parameters."""
    if not arguments or arguments[0] not in COMMANDS:
        return {}
    command = _command_line(arguments[0])
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return option_names(command)


def _how_to_go_on(error: LabelerError, arguments: Sequence[str]) -> str:
    """The command that goes on after an error; addresses in it hold no secret."""
    if isinstance(error, SaysTooLittle):
        own = options_by_parameter(arguments)
        takes_meanings = "grade_map" in own  # other commands have options of such names, too
        if takes_meanings and error.parameters.keys() <= own.keys():
            return f"; for example: {shlex.join(words_of(error.parameters, own))}"
        words = words_of(error.parameters, options_by_parameter(["qrels", "map"]))
        command = ["labeler", "qrels", "map", str(error.path), "-o", "NEW.qrels", *words]
        return f"; this makes qrels of it: {shlex.join(command)}"
    if error.again is None:
        return ""
    from labeler.wire.addresses import HIDDEN, identity

    words = [identity(word) if "://" in word else word for word in arguments]
    more = words_of(error.again, options_by_parameter(arguments))
    new = [word for word in more if word not in words]
    is_hidden = any(HIDDEN in word for word in words)
    where = ", with what is hidden of the address" if is_hidden else ""
    return f"; to go on{where}: {shlex.join(['labeler', *words, *new])}"


def words_of(parameters: Mapping[str, object], options: Mapping[str, str]) -> list[str]:
    """Parameters as the words of a command that has them; of one that is true, the option alone."""
    return [
        word
        for name, value in parameters.items()
        if name in options
        for word in ((options[name],) if value is True else (options[name], str(value)))
    ]


def _help_of(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'labeler'} --help"


def main() -> None:
    """Run the command line for the process' life, with signals that end a command in good order."""
    # Starting OpenBLAS' threads takes more CPU than most commands do, and none of them needs two.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Typer needs pydantic, and looking for pydantic's plugins takes as long as scoring a run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    streams = prepare_streams()
    try:
        raise_signals()
        code = execute()
    except KeyboardInterrupt:  # once more, while the first was being answered
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    end_by_signals()
    try:
        code = streams.ended(code)
    except OSError as error:
        code = code or complain_of_file(error)
    sys.exit(code)
