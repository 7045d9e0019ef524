"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli import options
from labeler.cli.asking import Asked, label
from labeler.cli.reporting import check_complete
from labeler.cli.signals import run_until_stopped


@options.unfolded
def command(
    folder: options.Folder,
    *,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "umbrela",
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    name: options.NewName = None,
    limits: options.Limits,
    manner: options.Manner,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    from labeler.collection.layout import open_collection
    from labeler.judging.label import pairs_of

    collection = open_collection(folder)
    asked = Asked(prompt, model, base_url, name, limits, manner)
    tally = run_until_stopped(lambda stop: label(collection, pairs_of, asked, stop))
    check_complete(tally)
