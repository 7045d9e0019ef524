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
