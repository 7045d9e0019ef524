"""The command line: it runs a command, says what went wrong, and ends with an exit code."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from labeler.cli.process import (
    Terminated,
    end_by_signals,
    ended,
    prepare_streams,
    raise_signals,
)
from labeler.cli.screen import complain, note, say
from labeler.cli.table import COMMANDS, GROUPS, Command, named_by
from labeler.errors import FileProblem, LabelerError, Misuse, SaysTooLittle
from labeler.messages import command_line, told_what_files_are

__all__ = ["COMMANDS", "complain_of_file", "execute", "main"]

INTERRUPTED = 130
TERMINATED = 143
SHELLS = ("--install-completion", "--show-completion")
COMPLETING = "_LABELER_COMPLETE"
"""Set by the script that `--install-completion` gives a shell, which asks what may follow."""


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; DESIGN.md lists them."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--"]:  # it ends the options of `labeler` itself, and there were none
        del words[0]
    try:
        _refuse_no_text(words)
        result = _answer(words)
    except LabelerError as error:
        # its text alone: the error would hold this frame, and so each file that was being read
        problem = str(error.problem if isinstance(error, SaysTooLittle) else error)
        option = options_by_parameter(words).get(error.parameter) if error.parameter else None
        where = f"{option.removesuffix('=')}: " if option else ""
        complain(f"{where}{problem}{_how_to_go_on(error, words)}")
        return error.exit_code
    except KeyboardInterrupt:
        result = INTERRUPTED
    except Terminated:
        complain("terminated; run the same command again to go on")
        return TERMINATED
    except OSError as error:
        return complain_of_file(error)
    except Exception as error:  # nobody expected it: a bug of ours
        from labeler.cli.process import report_bug

        return report_bug(error)
    if result == INTERRUPTED:
        complain("interrupted; run the same command again to go on")
    return result if isinstance(result, int) else 0


def _answer(words: Sequence[str]) -> object:
    """Do what the words say: run a command, show help, or tell a shell what may follow."""
    if COMPLETING in os.environ or (words[:1] and words[0].partition("=")[0] in SHELLS):
        from labeler.cli.options import answer_shell

        return answer_shell(words)
    command = named_by(words)
    if command:
        words = words[len(command.name.split()) :]
        _refuse_missing(command, words)
        from labeler.cli.options import run
        from labeler.files.read import rereadable

        with rereadable(), told_what_files_are(note):
            return run(command, words)
    if words == ["--version"]:
        from labeler import __version__

        print(f"labeler {__version__}")
    elif not words or words[0] in ("--help", "-h"):
        from labeler.cli.overview import overview

        say(overview())
    elif words[0] in GROUPS and words[1:2] in ([], ["--help"], ["-h"]):
        from labeler.cli.overview import overview_of

        say(overview_of(words[0]))
        if not words[1:]:
            raise Misuse(f"expected one of these commands; see labeler {words[0]} --help")
    else:
        from labeler.cli.overview import unknown

        raise Misuse(unknown(words))
    return 0


def _refuse_missing(command: Command, words: Sequence[str]) -> None:
    """`FileProblem` of a file that is not there, before what takes long to load is loaded.

    With options, these are read first: one that is wrong is said before.
    """
    from labeler.files.paths import check_existing

    has_options = any(word.startswith("-") and word != "-" for word in words)
    if 0 < command.files <= len(words) and not has_options and not os.path.isdir(words[0]):
        check_existing(map(Path, words))


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


def options_by_parameter(words: Sequence[str]) -> dict[str, str]:
    """The options of the command that was given, by the names of its parameters."""
    command = named_by(words)
    if command is None:
        return {}
    from labeler.cli.options import option_names, parser_of

    return option_names(parser_of(command))


def _how_to_go_on(error: LabelerError, arguments: Sequence[str]) -> str:
    """The command that goes on after an error; addresses in it hold no secret."""
    if isinstance(error, SaysTooLittle):
        own = options_by_parameter(arguments)
        takes_meanings = "grade_map" in own  # other commands have options of such names, too
        if takes_meanings and error.parameters.keys() <= own.keys():
            return f"; for example: {shlex.join(words_of(error.parameters, own))}"
        words = words_of(error.parameters, options_by_parameter(["qrels", "map"]))
        verb, new_file, what = ("qrels map", "NEW.qrels", "qrels")
        if error.is_run:
            verb, new_file, what = ("runs convert", "NEW.trec", "a run")
        command = command_line(*verb.split(), error.path, "-o", new_file, *words)
        return f"; this makes {what} of it: {command}"
    if error.again is None:
        return ""
    from labeler.wire.addresses import HIDDEN, identity

    words = [identity(word) if "://" in word else word for word in arguments]
    new = [
        word for word in words_of(error.again, options_by_parameter(arguments)) if word not in words
    ]
    where = ", with what is hidden of the address" if any(HIDDEN in word for word in words) else ""
    return f"; to go on{where}: {command_line(*words, *new)}"


def words_of(parameters: Mapping[str, object], options: Mapping[str, str]) -> list[str]:
    """Parameters as the words of a command that has them; of one that is true, the option alone."""
    words: list[str] = []
    for name, value in parameters.items():
        option = options.get(name, "")
        if option.endswith("="):  # a setting, which follows `--set`
            shown = str(value).lower() if isinstance(value, bool) else value
            words += f"{option}{shown}".split(" ", 1)
        elif option:
            words += [option] if value is True else [option, str(value)]
    return words


def main() -> None:
    """Run the command line for the process' life, with signals that end a command in good order."""
    # Looking for cycles after Python's usual 700 new objects takes a tenth of the CPU of judging
    # with many calls at once, and of loading what scores runs.
    gc.set_threshold(50_000)
    # Starting OpenBLAS' threads takes more CPU than most commands do, and none of them needs two.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Typer needs pydantic, and looking for pydantic's plugins takes as long as scoring a run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    output = prepare_streams()
    try:
        raise_signals()
        code = execute()
    except KeyboardInterrupt:  # once more, while the first was being answered
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    end_by_signals()
    try:
        code = ended(output, code)
    except OSError as error:
        code = code or complain_of_file(error)
    gc.freeze()  # the interpreter would look for cycles among all that was loaded once more
    sys.exit(code)
