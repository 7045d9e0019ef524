"""`labeler relabel`: the pairs of one set of labels, judged with another prompt or model."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.asking import Asked, check_complete, label
from labeler.cli.options import BaseUrl, Folder, ModelName
from labeler.cli.stopping import run_until_stopped


def command(
    folder: Folder,
    *,
    source: Annotated[str, typer.Option("--from", help="The labels whose pairs are judged.")],
    name: Annotated[
        str | None, typer.Option("--as", help="The new labels' name; else PROMPT-MODEL.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "umbrela",
    model: ModelName = None,
    base_url: BaseUrl = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Calls under way at once.", show_default=False)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again where a reply was no grade.")
    ] = False,
) -> None:
    """Judge the same pairs with another prompt or model."""
    from labeler.formats.collection import open_collection
    from labeler.labeling import pairs_of_labels

    collection = open_collection(folder)
    pairs = pairs_of_labels(collection, source)
    asked = Asked(prompt, model, base_url, name, concurrency, retry_failed)
    tally = run_until_stopped(lambda brake: label(collection, pairs, asked, brake))
    check_complete(tally)
