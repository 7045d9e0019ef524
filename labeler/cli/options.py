"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="COLL", help="The collection's directory.")]

ModelName = Annotated[
    str | None,
    typer.Option(
        help="A server's model, or local, similarity, gguf:PATH. Default: LABELER_MODEL; "
        "without a key and a server, an embedded model.",
    ),
]

BaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The address of an OpenAI-compatible server (OPENAI_BASE_URL)."
    ),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Ask nothing; say how much would be asked, and show it.")
]

Seconds = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="SECONDS", help="The longest a call may take."),
]

Tries = Annotated[int, typer.Option(min=1, help="Calls for one request before it has failed.")]

RequestsPerMinute = Annotated[
    float | None, typer.Option("--rpm", min=0.001, help="Begin at most so many calls a minute.")
]

TokensPerMinute = Annotated[
    float | None, typer.Option("--tpm", min=1, help="Use at most so many tokens a minute.")
]

MaxCalls = Annotated[int | None, typer.Option(min=0, help="Stop before more calls than this.")]

MaxTokens = Annotated[int | None, typer.Option(min=0, help="Stop before more tokens than this.")]

MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="DOLLARS", help="Stop before it costs more.")
]

Prices = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Prices of your own; see labeler doctor.")
]

Concurrency = Annotated[
    int | None,
    typer.Option(min=1, help="Calls under way at once, at most.", show_default=False),
]

RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Ask again where a reply was no grade.")
]

Redact = Annotated[
    bool, typer.Option("--redact", help="Keep no request texts in the store, only their hashes.")
]

Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]

JsonProgress = Annotated[
    bool, typer.Option("--json-progress", help="Progress as JSON lines on stderr.")
]

Form = Annotated[str, typer.Option("--format", help="table, csv, json, jsonl, latex or markdown.")]

AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]

ToFile = Annotated[Path | None, typer.Option("-o", help="Write to a file.")]
