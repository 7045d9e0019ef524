"""`labeler corpus rechunk`: passages of another length in a collection whose grades are kept."""

from __future__ import annotations

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.screen import note, progress
from labeler.cli.update import ONLY_COUNT, show_update
from labeler.options import REQUIRED, WORDS, option


def command(
    folder: Folder,
    *,
    words: int = option(REQUIRED, "About how many words a passage has.", WORDS),
    inputs: tuple[str, ...] = option(
        (), "Where the documents are, if elsewhere now.", metavar="INPUT", flags="--from"
    ),
    dry_run: bool = option(False, ONLY_COUNT),
    output: OutputFlags,
) -> None:
    """Cut a collection's documents anew; passages that are still there keep their grades."""
    from labeler.corpus.rechunk import rechunk
    from labeler.models.control import Control

    to = output.made_from(folder)
    control = Control(note=note, progress=progress)
    result = rechunk(folder, words, inputs=inputs, dry_run=dry_run, control=control)
    show_update(result, folder, output, to)
