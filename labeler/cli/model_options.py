"""Options of the commands that ask a model: which one, at what cost, how often."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from labeler.cli.numbers import (
    A_MINUTE,
    AT_ONCE,
    COUNT,
    COUNT_OR_NONE,
    DOLLARS,
    SECONDS,
    SECONDS_OF_A_CALL,
    SHARE,
    TOKENS,
    Bounds,
    number,
)
from labeler.cli.options import BUDGET, MODEL, OPTIONS_OF, OUTPUT, RETRYING
from labeler.models.settings import Limits, Proof

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

LIMITS: Mapping[str, Any] = {
    "rpm": Annotated[
        float | None,
        number(A_MINUTE, help="Begin at most so many calls a minute.", rich_help_panel=BUDGET),
    ],
    "tpm": Annotated[
        float | None,
        number(Bounds(1, TOKENS.most), help="Use so many tokens a minute.", rich_help_panel=BUDGET),
    ],
    "max_calls": Annotated[
        int | None,
        number(COUNT_OR_NONE, help="Stop before more calls than this.", rich_help_panel=BUDGET),
    ],
    "max_tokens": Annotated[
        int | None,
        number(TOKENS, help="Stop before more tokens than this.", rich_help_panel=BUDGET),
    ],
    "max_cost": Annotated[
        float | None,
        number(
            DOLLARS, metavar="DOLLARS", help="Stop before it costs more.", rich_help_panel=BUDGET
        ),
    ],
    "deadline": Annotated[
        float | None,
        number(
            SECONDS,
            metavar="SECONDS",
            help="Stop after so long; no call outlasts it.",
            rich_help_panel=BUDGET,
        ),
    ],
    "prices": Prices,
    "timeout": Seconds,
    "patience": Annotated[
        float,
        number(
            SECONDS,
            metavar="SECONDS",
            help="The longest that one request is retried.",
            rich_help_panel=RETRYING,
        ),
    ],
    "tries": Tries,
}
"""The option of each field of the library's `Limits`, which has the defaults."""

OPTIONS_OF[Limits] = LIMITS
OPTIONS_OF[Proof] = {
    "max_failed": Annotated[
        float,
        number(
            SHARE,
            metavar="SHARE",
            help="Stop where more of the pairs come to no grade; 1 never stops.",
            rich_help_panel=BUDGET,
        ),
    ],
    "no_pilot": Annotated[
        bool,
        typer.Option(
            "--no-pilot",
            help="Ask about all pairs at once, and not first about 30 of 100 or more.",
            rich_help_panel=BUDGET,
        ),
    ],
}


@dataclass(frozen=True, slots=True)
class RunFlags:
    """How a model is asked, and what is shown meanwhile."""

    assessor: AssessorName = ""
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Keep replies in a PostgreSQL database that machines share, as "
            "postgresql://user@host/database (LABELER_STORE; its password in PGPASSWORD).",
            rich_help_panel=MODEL,
        ),
    ] = None
    concurrency: Annotated[
        int | None,
        number(
            AT_ONCE,
            help="Calls under way at once, at most.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Ask again where a reply could not be used.",
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

    def __post_init__(self) -> None:
        """Have every collection of this process keep its replies there."""
        if self.store is not None:
            from labeler.store.postgres.address import DatabaseAddress

            os.environ["LABELER_STORE"] = str(DatabaseAddress.of(self.store))
