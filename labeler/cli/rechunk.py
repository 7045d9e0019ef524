"""`labeler corpus rechunk`: passages of another length in a collection whose grades are kept."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.numbers import WORDS, number
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.screen import note, progress
from labeler.cli.update import DryRun, show_update


def command(
    folder: Folder,
    *,
    words: Annotated[int, number(WORDS, help="About how many words a passage has.")],
    inputs: Annotated[
        list[str],
        typer.Option("--from", metavar="INPUT", help="Where the documents are, if elsewhere now."),
    ] = [],  # noqa: B006  typer copies it
    dry_run: DryRun = False,
    output: OutputFlags,
) -> None:
    """Cut a collection's documents anew; passages that are still there keep their grades."""
    from labeler.corpus.rechunk import rechunk
    from labeler.models.control import Control

    to = output.made_from(folder)
    control = Control(note=note, progress=progress)
    result = rechunk(folder, words, inputs=inputs, dry_run=dry_run, control=control)
    show_update(result, folder, output, to)
