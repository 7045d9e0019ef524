"""What a command line makes of declared options, and the options that many commands share."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import typer

from labeler.cli.screen import result_width, say
from labeler.cli.settings import read_project
from labeler.cli.table import COMMANDS, GROUPS, Command, named_by
from labeler.collection.layout import Collection, open_collection
from labeler.collection.user_files import Output
from labeler.errors import Misuse, about
from labeler.files.paths import check_existing, named_file
from labeler.options import (
    OUTPUT,
    REQUIRED,
    UNSET,
    Declared,
    Option,
    filled,
    is_option,
    option,
    options_of,
)
from labeler.report.table import FormName, form_of

GRADE_MAP = Option("Each rating and its grade: 0:0,0.5:1,1:2.", flags="--map")

SCALE = Option("The highest rating and its grade, by a rule of three: 100:3.")


FORCE = Option(
    "Replace what stands there, even an input or what labeler did not write.", panel=OUTPUT
)
GATES = "Gates"
"""The panel of what must hold, else a command ends with exit code 5."""

QUERIES_OF_TEXTS = Option("A collection or file of queries: whose ids stand for their texts.")
OUT_FOLDER = Option("The collection's directory.", flags="--output -o", panel=OUTPUT)


def argument(text: str, metavar: str = "") -> Any:
    """What help says of an argument, as `Annotated` has it beside the type."""
    return typer.Argument(help=text, metavar=metavar or None)


Opened = Annotated[Collection, argument("The collection's directory.", "COLL")]
MADE = "made"
"""Marks an argument that names what the command makes, or that the command itself opens."""


@dataclass(frozen=True, slots=True)
class Destination:
    """In which form a result is written, and the file that it goes to; None is standard output.

    A command that takes one has the flags of `OutputFlags`. `inputs` are the files and collections
    that the command line names: none is replaced unless `force` says so.
    """

    form: FormName = "table"
    file: Output | None = None
    force: bool = False
    inputs: tuple[Path, ...] = ()

    def written_to(self, path: Path) -> Output:
        """One more file to write, found not to destroy anything."""
        return _output(path, self.force, self.inputs)

    def beside(self, path: Path | None) -> Output | None:
        """The same where there is one."""
        return None if path is None else self.written_to(path)


def _output(path: Path, force: bool, named: tuple[Path, ...]) -> Output:
    """A file to write; what is named once more, beside it, is an input."""
    at = named.index(path) if path in named else len(named)
    output = Output(path, force, named[:at] + named[at + 1 :])
    output.check()
    return output


@dataclass(frozen=True, slots=True)
class OutputFlags:
    """In which form results are written, and where to."""

    form: FormName | None = option(
        None,
        "The form of tables; else the output's suffix says it "
        "(.csv, .json, .xlsx, .html, .tex, .md).",
        flags="--format",
        panel=OUTPUT,
    )
    as_json: bool = option(False, "The same as --format json.", flags="--json", panel=OUTPUT)
    output: Path | None = option(None, "Write to a file.", flags="--output -o", panel=OUTPUT)
    force: bool = option(False, FORCE)

    def made(self, inputs: tuple[Path, ...]) -> Destination:
        """Where to write, found not to destroy anything; the file's name may say the form."""
        form: FormName = "json" if self.as_json else self.form or form_of(self.output)
        file = None if self.output is None else _output(self.output, self.force, inputs)
        return Destination(form, file, self.force, inputs)


@dataclass(frozen=True, slots=True)
class FileFlags:
    """The file that a command makes; a parameter that is an `Output` has these flags."""

    output: Path = option(
        REQUIRED,
        "The file to write (.gz is compressed); - is standard output.",
        flags="--output -o",
        panel=OUTPUT,
    )
    force: bool = option(False, FORCE)

    def made(self, inputs: tuple[Path, ...]) -> Output:
        """The file to write, found not to destroy anything."""
        return _output(self.output, self.force, inputs)


_FLAGS: Mapping[Any, type] = {Destination: OutputFlags, Output: FileFlags}
"""The flags of what a command takes and no option gives as it is."""

_SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="A setting of labeler.toml for this time, as model.rpm=60; repeatable.",
        rich_help_panel=OUTPUT,
    ),
]
HELP_ALL = "--help-all"
_HELP_ALL = Annotated[
    bool,
    typer.Option(
        HELP_ALL, help="Show all other options and settings, too.", rich_help_panel=OUTPUT
    ),
]
"""Stands in help alone: the word is read before the command is parsed."""


OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options", default=MappingProxyType({}))
"""The options of the command that runs, by the names of their parameters."""

_CONTEXT = "context_"


class Without(frozenset[str]):
    """The options of a record that a command does not have: they keep their defaults."""


class Shown(frozenset[str]):
    """The options of a record that a command shows as flags, though others keep them elsewhere.

    As in `files: Annotated[FileRules, Shown(["words"])]`.
    """


OnScreen = Annotated[Destination, Without(["output"])]
"""Standard output, of a command that makes a folder."""
ToFile = Annotated[Destination, Without(["form", "as_json"])]
"""A file, whose name says its form."""


def unfolded(function: Callable[..., None]) -> Callable[..., None]:
    """A command with flags for the options that a function takes, in records or one by one.

    An option that stands in several records is one flag, whose value is given to each of them. If
    an assessor is named, the unnamed `[model]` section of the file is ignored.
    """
    taken = _Taken.by(function)

    @wraps(function)
    def run(**values: Any) -> None:
        context = values[_CONTEXT]
        OPTIONS.set(option_names(context.command))
        given = {name: v for name, v in values.items() if _is_given(context, name)}
        project = read_project(taken.settings, given.get("set_", ()))
        if "assessor" in given:
            project = replace(project, in_file={**project.in_file, "model": {}})

        def value_of(each: Declared) -> Any:
            if each.name in given and taken.has_flag(each):
                return _read(each, given[each.name])
            return project.value_of(each) if each.setting else UNSET

        singles = {name: value_of(each) for name, each in taken.single.items()}
        made = {n: taken.single[n].default if v is UNSET else v for n, v in singles.items()}
        made |= {n: project.marked(filled(kind, value_of)) for n, kind in taken.records.items()}
        project.tell()
        made |= taken.opened(values)
        named = tuple(_named_files({n: v for n, v in values.items() if n not in taken.made}))
        for name, record in made.items():
            if isinstance(record, OutputFlags | FileFlags):
                made[name] = record.made(named)
        function(**{name: made.get(name, values.get(name)) for name in taken.parameters})

    run.__signature__ = inspect.Signature(taken.words())  # type: ignore[attr-defined]  # inspect reads it
    run.settings = taken.settings  # type: ignore[attr-defined]  # `settings_of` reads it
    return run


@dataclass(frozen=True)
class _Taken:
    """What a function takes: records of options, single options, and arguments of other kinds.

    `flags` are the options that have one, by name, and `settings` those of `labeler.toml`.
    `collections` are arguments that are opened before it runs, `files` others that must exist, and
    `made` those that name what it makes.
    """

    parameters: Mapping[str, inspect.Parameter]
    records: Mapping[str, type]
    single: Mapping[str, Declared]
    flags: Mapping[str, Declared]
    settings: Mapping[str, Declared]
    collections: Sequence[str]
    files: Sequence[str]
    made: Sequence[str]

    @classmethod
    def by(cls, function: Callable[..., None]) -> _Taken:
        """What a function takes, by its signature."""
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        records, single, every = {}, {}, list[Declared]()
        collections, files, made = list[str](), list[str](), list[str]()
        for name, parameter in parameters.items():
            marks = getattr(hints[name], "__metadata__", ())
            kind = get_args(hints[name])[0] if marks else hints[name]
            if is_option(parameter.default):
                single[name] = Declared.of(name, kind, parameter.default)
                every.append(single[name])
            elif kind is Collection:
                collections.append(name)
                hints[name] = Annotated[Path, *marks]  # as Typer reads it
            elif MADE in marks:
                made.append(name)
            elif kind in (Path, list[Path]):
                files.append(name)
            elif isinstance(kind, type) and is_dataclass(kind):
                kind = records[name] = _FLAGS.get(kind, kind)
                left_out = {name for mark in marks if isinstance(mark, Without) for name in mark}
                shown = [mark for mark in marks if isinstance(mark, Shown)]
                taken = (each for each in options_of(kind) if each.name not in left_out)
                every += (each.shown_in(shown) for each in taken)
        named = {name: p.replace(annotation=hints[name]) for name, p in parameters.items()}
        flags: dict[str, Declared] = {}
        for each in every:
            if each.has_flag:
                flags.setdefault(each.name, each)
        settings = {each.setting: each for each in every if each.setting}
        return cls(named, records, single, flags, settings, collections, files, made)

    def opened(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The collections that are named; `FileProblem` where one is not there, or another file.

        Words behind a folder may be names of what lies in it.
        """
        opened = {name: open_collection(values[name]) for name in self.collections}
        for value in (values[name] for name in self.files):
            paths = value if isinstance(value, list) else [value]
            if not paths[0].is_dir():
                check_existing(paths)
        return opened

    def has_flag(self, each: Declared) -> bool:
        """Whether an option of a record takes the value of a flag."""
        flag = self.flags.get(each.name)
        return flag is not None and (each.has_flag or flag.setting == each.setting)

    def words(self) -> list[inspect.Parameter]:
        """The arguments and options of the command, as Typer reads them."""
        made = {*self.records, *self.single}
        words = [parameter for name, parameter in self.parameters.items() if name not in made]
        words.append(_keyword(_CONTEXT, typer.Context, inspect.Parameter.empty))
        words += map(_flag, self.flags.values())
        words += [_keyword("set_", _SET, None)] if self.settings else []
        has_more = self.settings or any(each.option.rare for each in self.flags.values())
        return words + ([_keyword("help_all", _HELP_ALL, False)] if has_more else [])


def _named_files(values: Mapping[str, Any]) -> Iterator[Path]:
    """The files and folders that the words of a command line name."""
    for value in values.values():
        for word in value if isinstance(value, list) else [value]:
            path = named_file(Path(word))[1] if isinstance(word, str | Path) else None
            if path is not None and os.path.exists(path):
                yield path


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the command line gives a parameter, be it as what it is by default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _flag(each: Declared) -> inspect.Parameter:
    """The flag of an option, as Typer reads it."""
    declared, kind, default = each.option, each.kind, each.default
    if declared.read is not None:
        kind, default = list[str] | None if declared.several else str | None, None
    elif each.kind_of_each is not None:
        kind, default = list[each.kind_of_each] | None, None  # type: ignore[name-defined]  # for Typer
    spelled = each.name.replace("_", "-")
    names = tuple(declared.flags.split()) or ((f"--{spelled}",) if default is False else ())
    shown: dict[str, Any] = {"metavar": declared.metavar or None}
    if declared.bounds is not None:  # `N` leaves room for texts; the other bounds are told later
        least = declared.bounds.least
        shown = {"metavar": declared.metavar or "N", "min": least if least >= 0 else None}
    if declared.usual:
        shown["show_default"] = declared.usual
    panel = declared.panel or None
    typed = typer.Option(
        *names, help=declared.text, hidden=declared.rare, rich_help_panel=panel, **shown
    )
    given = inspect.Parameter.empty if each.default is REQUIRED else default
    return _keyword(each.name, Annotated[kind, typed], given)


def _read(each: Declared, given: Any) -> Any:
    """The value of an option out of what the command line gives."""
    if each.option.read is not None:
        with about(each.name):
            return each.option.read(given)
    value = tuple(given) if each.kind_of_each is not None else given
    each.check(value)
    return value


def settings_of(command: Any) -> Mapping[str, Declared]:
    """The settings that a command takes from `labeler.toml` or by `--set`, by their names."""
    settings: Mapping[str, Declared] = getattr(command.callback, "settings", {})
    return settings


def settings_help(settings: Mapping[str, Declared]) -> str:
    """What help says of settings: the name, a value, and what it is for."""
    lines = ["In labeler.toml, or by --set for this time:"]
    for name, each in settings.items():
        usual = "" if each.example is None else each.example
        lines.append(f"  {name}={usual}".ljust(31) + " " + each.option.text)
    return "\n".join(
        fill(line, result_width() or 100, subsequent_indent=32 * " ") for line in lines
    )


def option_names(command: Any) -> dict[str, str]:
    """A command's options in their longest spelling, by the names of their parameters.

    That of a setting ends with the `=` that its value follows.
    """
    settings = {each.name: f"--set {name}=" for name, each in settings_of(command).items()}
    options = [option for option in command.params if option.param_type_name == "option"]
    return settings | {option.name: max(option.opts, key=len) for option in options}


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
            parameter.get_runtime_param = partial(_Plain, parameter)
            parameter.hidden = getattr(parameter, "hidden", False) and not is_whole
    return parser


class _Plain(NamedTuple):
    """Reads the values of a parameter, in place of Typer, whose way loads pydantic.

    That takes longer than scoring a run, so it is left to what is not plain, and says what is
    wrong.
    """

    parameter: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter out of what the command line gives, as Typer makes it."""
        are_several = param.multiple or param.nargs == -1
        if value is None:
            return () if are_several else None
        read = [self._read(each) for each in (value if are_several else [value])]
        if None not in read:
            return read if are_several else read[0]
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)

    def _read(self, value: Any) -> Any:
        """A plain value; None where it is another."""
        of, text = self.parameter.type_descriptor, str(value)
        if of.is_choice:
            return value if value in of.choices else None
        kind, least = (*get_args(of.annotation), of.annotation)[0], of.parameter_info.min
        if kind is Path and (os.access(text, os.R_OK) or not os.path.lexists(text)):
            return Path(value)
        if kind in (int, float) and text.isascii() and text.isdecimal() and len(text) < _LONGEST:
            value = kind(value)
        return value if type(value) is kind and (least is None or value >= least) else None


_LONGEST = 16
"""Digits of a number that is no plain one."""

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


def answer_shell(words: Sequence[str]) -> object:
    """Install or show the script of a shell, or answer what it asks while a line is typed."""
    typed = next((os.environ[name] for name in LINES if name in os.environ), "").split()[1:]
    app = typer.main.get_command(_all_commands(typed))
    return app([*words], prog_name="labeler", standalone_mode=False)


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
