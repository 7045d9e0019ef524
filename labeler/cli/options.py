"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from labeler.cli.numbers import SIZE_OF_A_FILE, WORDS, number
from labeler.corpus.blocks import FileRules
from labeler.exchange.fields import FieldNames
from labeler.report.table import FormName, form_of

if TYPE_CHECKING:
    from labeler.collection.user_files import Output

MODEL, BUDGET, RETRYING, OUTPUT = "Model", "Budget", "Retrying", "Output"
"""The panels of a command's help: who is asked, at what cost, how often, and where results go."""

Folder = Annotated[Path, typer.Argument(metavar="COLL", help="The collection's directory.")]

Form = Annotated[
    FormName | None,
    typer.Option(
        "--format",
        help="The form of tables; else the output's suffix says it (.csv, .json, .tex, .md).",
        rich_help_panel=OUTPUT,
    ),
]

AsJson = Annotated[
    bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=OUTPUT)
]

ToFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to a file.", rich_help_panel=OUTPUT)
]

Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace what stands there, even an input or what labeler did not write.",
        rich_help_panel=OUTPUT,
    ),
]

GradeMap = Annotated[str, typer.Option("--map", help="Each rating and its grade: 0:0,0.5:1,1:2.")]

Scale = Annotated[
    str, typer.Option(help="The highest rating and its grade, by a rule of three: 100:3.")
]

FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Read links that lead out of a folder, too.")
]


@dataclass(frozen=True, slots=True)
class FormFlags:
    """In which form results are shown, where the output is a folder that a command makes."""

    form: Form = None
    as_json: AsJson = False

    @property
    def format(self) -> FormName:
        """The form that was asked for."""
        return "json" if self.as_json else self.form or "table"


@dataclass(frozen=True, slots=True)
class OutputFlags:
    """In which form results are written, and where to."""

    form: Form = None
    as_json: AsJson = False
    output: ToFile = None
    force: Force = False

    @property
    def format(self) -> FormName:
        """The form that was asked for; else the one that the output's name says."""
        if self.as_json:
            return "json"
        return self.form or form_of(self.output)

    def made_from(self, *inputs: Path) -> Output | None:
        """The file to write, found not to destroy anything; None is standard output.

        Raises `FileProblem` where an input does not exist, before anything else is said of it.
        """
        from labeler.files.paths import check_existing

        check_existing(inputs)
        return None if self.output is None else self.written_to(self.output, *inputs)

    def written_to(self, path: Path, *inputs: Path) -> Output:
        """A file to write, found not to destroy anything."""
        from labeler.collection.user_files import Output

        output = Output(path, self.force, inputs)
        output.check()
        return output

    def picture(self, path: Path | None, *inputs: Path) -> Output | None:
        """The picture to draw, found to be one and not to destroy anything."""
        if path is None:
            return None
        from labeler.report.picture import check_ending

        check_ending(path)
        return self.written_to(path, *inputs)


MaxFileSize = Annotated[
    int,
    number(SIZE_OF_A_FILE, metavar="MB", help="Leave out larger texts, and markup of 1/16 of it."),
]
MEGABYTES = 64

OPTIONS_OF: dict[type, Mapping[str, Any]] = {}
"""The options of the library's dataclasses of settings, field by field."""


ROWS = "Rows of documents and queries"
_FIELDS = {
    "text_field": "What rows of documents call the text; a.b is the b in a, * all columns.",
    "title_field": "What they call the title.",
    "id_field": "What they call the id; also of queries.",
    "query_field": "What rows of queries call the query.",
}
OPTIONS_OF[FieldNames] = {
    name: Annotated[str, typer.Option(metavar="NAME", help=text, rich_help_panel=ROWS)]
    for name, text in _FIELDS.items()
}


READING = "Reading files"
OPTIONS_OF[FileRules] = {
    "include": Annotated[
        list[str],
        typer.Option(
            help="Read only files of this pattern; as often as you like.", rich_help_panel=READING
        ),
    ],
    "exclude": Annotated[
        list[str],
        typer.Option(
            help="Leave out what has this pattern, as in .gitignore.", rich_help_panel=READING
        ),
    ],
    "gitignore": Annotated[
        bool,
        typer.Option(help="Leave out what a folder's .gitignore names.", rich_help_panel=READING),
    ],
    "code": Annotated[
        bool,
        typer.Option("--code", help="Read source code, too, by symbol.", rich_help_panel=READING),
    ],
    "words": Annotated[
        int,
        number(WORDS, help="About how many words a passage has.", rich_help_panel=READING),
    ],
}


def unfolded(command: Callable[..., None]) -> Callable[..., None]:
    """A command with an option for each field of those parameters that are dataclasses.

    So options that several commands share are written down once.
    """
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    groups: dict[str, Any] = {n: hint for n, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def run(**values_by_parameter: Any) -> None:
        for name, group in groups.items():
            values = {field.name: values_by_parameter.pop(field.name) for field in fields(group)}
            values_by_parameter[name] = group(**values)
        command(**values_by_parameter)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    options = OPTIONS_OF.get(group) or get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(f.name, kind, default=f.default, annotation=options[f.name])
        for f in fields(group)
    ]


def option_names(command: Any) -> dict[str, str]:
    """A command's options in their longest spelling, by the names of their parameters."""
    options = [option for option in command.params if option.param_type_name == "option"]
    return {option.name: max(option.opts, key=len) for option in options}


def option_for(command: Any, parameter: str) -> str:
    """A command's option for a parameter, in its longest spelling; empty where it has none."""
    return option_names(command).get(parameter, "")
