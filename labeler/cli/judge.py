"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.asking import Asked, check_complete, label
from labeler.cli.options import BaseUrl, DryRun, Folder, ModelName
from labeler.cli.stopping import run_until_stopped


def command(
    folder: Folder,
    *,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "umbrela",
    model: ModelName = None,
    base_url: BaseUrl = None,
    name: Annotated[
        str | None, typer.Option("--as", help="The labels' name; else PROMPT-MODEL.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Calls under way at once.", show_default=False)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again where a reply was no grade.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    from labeler.formats.collection import open_collection
    from labeler.labeling import pairs_of

    collection = open_collection(folder)
    pairs = pairs_of(collection)
    asked = Asked(prompt, model, base_url, name, concurrency, retry_failed, dry_run)
    tally = run_until_stopped(lambda brake: label(collection, pairs, asked, brake))
    check_complete(tally)
