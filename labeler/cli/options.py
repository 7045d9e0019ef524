"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from labeler.models.limits import Limits
from labeler.report.render import FormName

MODEL, BUDGET, RETRYING, OUTPUT = "Model", "Budget", "Retrying", "Output"
"""The panels of a command's help: who is asked, at what cost, how often, and where results go."""

Folder = Annotated[Path, typer.Argument(metavar="COLL", help="The collection's directory.")]

ModelName = Annotated[
    str | None,
    typer.Option(
        help="A server's model, or local, similarity, gguf:PATH. Default: LABELER_MODEL; "
        "without a key and a server, an embedded model.",
        rich_help_panel=MODEL,
    ),
]

BaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The address of an OpenAI-compatible server (OPENAI_BASE_URL).",
        rich_help_panel=MODEL,
    ),
]

NewName = Annotated[
    str | None,
    typer.Option("--as", help="The judgements' name; else PROMPT-MODEL.", rich_help_panel=OUTPUT),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask nothing; say how much would be asked, and show it.")
]

Seconds = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="SECONDS",
        help="The longest a call may take.",
        rich_help_panel=RETRYING,
    ),
]

Prices = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Prices of your own; labeler doctor shows the format.",
        rich_help_panel=BUDGET,
    ),
]

LIMITS: Mapping[str, Any] = {
    "rpm": Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Begin at most so many calls a minute.", rich_help_panel=BUDGET
        ),
    ],
    "tpm": Annotated[
        float | None,
        typer.Option(min=1, help="Use so many tokens a minute.", rich_help_panel=BUDGET),
    ],
    "max_calls": Annotated[
        int | None,
        typer.Option(min=0, help="Stop before more calls than this.", rich_help_panel=BUDGET),
    ],
    "max_tokens": Annotated[
        int | None,
        typer.Option(min=0, help="Stop before more tokens than this.", rich_help_panel=BUDGET),
    ],
    "max_cost": Annotated[
        float | None,
        typer.Option(
            min=0, metavar="DOLLARS", help="Stop before it costs more.", rich_help_panel=BUDGET
        ),
    ],
    "deadline": Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Stop after so long; no call outlasts it.",
            rich_help_panel=BUDGET,
        ),
    ],
    "prices": Prices,
    "timeout": Seconds,
    "patience": Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="The longest that one request is retried.",
            rich_help_panel=RETRYING,
        ),
    ],
    "tries": Annotated[
        int,
        typer.Option(
            min=1, help="Calls for one request before it has failed.", rich_help_panel=RETRYING
        ),
    ],
}
"""The option of each field of the library's `Limits`, which has the defaults."""

Form = Annotated[
    FormName, typer.Option("--format", help="The form of tables.", rich_help_panel=OUTPUT)
]

AsJson = Annotated[
    bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=OUTPUT)
]

ToFile = Annotated[Path | None, typer.Option("-o", help="Write to a file.", rich_help_panel=OUTPUT)]


@dataclass(frozen=True, slots=True)
class RunFlags:
    """How judging goes about it, and what it shows meanwhile."""

    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Calls under way at once, at most.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Ask again where a reply was no grade.",
            rich_help_panel=RETRYING,
        ),
    ] = False
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Keep no request texts in the store, only their hashes.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no progress.", rich_help_panel=OUTPUT)
    ] = False
    json_progress: Annotated[
        bool,
        typer.Option(
            "--json-progress", help="Progress as JSON lines on stderr.", rich_help_panel=OUTPUT
        ),
    ] = False
    dry_run: DryRun = False


OPTIONS_OF: Mapping[type, Mapping[str, Any]] = {Limits: LIMITS}
"""The options of the library's dataclasses of settings, field by field."""


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
    def run(**given: Any) -> None:
        for name, group in groups.items():
            values = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**values)
        command(**given)

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
