"""Options of the commands that ask a model: which one, and what is shown meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from labeler.cli.numbers import COUNT, DOLLARS, SECONDS_OF_A_CALL, TOKENS, number
from labeler.cli.options import BUDGET, OUTPUT, RETRYING
from labeler.models.settings import CONCURRENCY, MODEL, REDACT, RETRY_FAILED, AssessorSettings
from labeler.options import Option, option

if TYPE_CHECKING:
    from labeler.models.settings import AnyModel

Options = TypeVar("Options")

ModelName = Annotated[
    str | None,
    typer.Option(
        help="A server's model, or local, similarity, gguf:PATH. Default: LABELER_MODEL; "
        "without a key and a server, an embedded model.",
        rich_help_panel=MODEL,
    ),
]

ModelFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The embedded LLM's file, where you have one (LABELER_MODEL_FILE).",
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

AssessorName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="An assessor declared in assessors/NAME.toml or labeler.toml; with --model and "
        "--prompt, another model or prompt in place of its own.",
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
    number(
        SECONDS_OF_A_CALL,
        "--timeout",
        metavar="SECONDS",
        help="The longest a call may take.",
        rich_help_panel=RETRYING,
    ),
]

Tries = Annotated[
    int,
    number(COUNT, help="Calls for one request before it has failed.", rich_help_panel=RETRYING),
]

Prices = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Prices of your own; labeler doctor shows the format.",
        rich_help_panel=BUDGET,
    ),
]


MaxTokens = Annotated[int | None, number(TOKENS, help="Stop before more tokens than this.")]
MaxCost = Annotated[float | None, number(DOLLARS, help="Stop before it costs more.")]
MODEL_FILE = Option(
    "The embedded LLM's file, where you have one (LABELER_MODEL_FILE).",
    metavar="FILE",
    panel=MODEL,
    rare=True,
)
DRY_RUN = Option("Ask nothing; say how much would be asked, and show it.")


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """Who is asked: a model by its name, or an assessor that somebody declared."""

    model: str | None = option(
        None,
        "A server's model, or local, similarity, gguf:PATH. Default: LABELER_MODEL; "
        "without a key and a server, an embedded model.",
        panel=MODEL,
    )
    model_file: Path | None = option(None, MODEL_FILE)
    base_url: str | None = option(
        None,
        "The address of an OpenAI-compatible server (OPENAI_BASE_URL).",
        metavar="URL",
        panel=MODEL,
    )
    assessor: str = option(
        "",
        "An assessor declared in assessors/NAME.toml or labeler.toml; with --model and "
        "--prompt, another model or prompt in place of its own.",
        metavar="NAME",
        panel=MODEL,
    )
    declared: AssessorSettings = field(default_factory=AssessorSettings)

    def asked(self) -> AnyModel | None:
        """The model to ask: the declared assessor, or what `labeler.toml` has under `[model]`."""
        from labeler.models.choose import is_embedded_name, model_in
        from labeler.models.settings import Limits

        named = model_in(self.model, self.model_file, self.assessor)
        if isinstance(named, AssessorSettings):
            return named
        name = named or self.declared.model
        whole = replace(self.declared, model=name, limits=Limits(), concurrency=None)
        if self.base_url or is_embedded_name(name or os.environ.get("LABELER_MODEL", "")):
            whole = replace(whole, server="", file="")
        is_name_alone = replace(whole, file="") == AssessorSettings(model=name)
        return (name or None) if is_name_alone else whole

    def asking(self, options: Options, **others: Any) -> Options:
        """The options of whatever asks a model, with the model that is asked."""
        return replace(options, model=self.asked(), base_url=self.base_url, **others)  # type: ignore[type-var]  # all have both


@dataclass(frozen=True, slots=True)
class ShownFlags:
    """Whether anything is asked at all, what is shown meanwhile, and where replies are kept."""

    dry_run: bool = option(False, DRY_RUN)
    quiet: bool = option(False, "Show no progress.", panel=OUTPUT)
    json_progress: bool = option(
        False, "Progress as JSON lines on stderr.", panel=OUTPUT, rare=True
    )
    store: str = option(
        "",
        "Keep replies in a PostgreSQL database that machines share, as "
        "postgresql://user@host/database (LABELER_STORE; its password in PGPASSWORD).",
        section="store",
        key="url",
        variable="LABELER_STORE",
        is_address=True,
    )

    def __post_init__(self) -> None:
        """Have every collection of this process keep its replies there."""
        if self.store:
            from labeler.store.postgres.address import DatabaseAddress

            os.environ["LABELER_STORE"] = str(DatabaseAddress.of(self.store))


@dataclass(frozen=True, slots=True)
class RunFlags(ShownFlags):
    """How a model is asked, and what is shown meanwhile."""

    assessor: str = option("", "An assessor declared in assessors/NAME.toml.", panel=MODEL)
    concurrency: int | None = option(None, CONCURRENCY)
    retry_failed: bool = option(False, RETRY_FAILED)
    redact: bool = option(False, REDACT)
