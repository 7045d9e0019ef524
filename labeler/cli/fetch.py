"""`labeler fetch`: the embedded model's file, or a public collection from a recipe."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.screen import note, progress, say

MODEL = "model"
MEGABYTE = 1_000_000


def command(
    name: Annotated[str, typer.Argument(help="'model': the embedded model's file.")],
) -> None:
    """Fetch the embedded model's file into the cache folder."""
    from labeler.errors import Misuse

    if name != MODEL:
        raise Misuse(f"nothing to fetch under the name {name!r}; known: {MODEL}")
    _fetch_model()


def _fetch_model() -> None:
    from labeler.catalog.model_file import EMBEDDED, fetch_model

    with progress("model file, MB") as advance:
        path = fetch_model(
            lambda done, total: advance(done // MEGABYTE, total // MEGABYTE), tell=note
        )
    note(f"{EMBEDDED.repository}, {EMBEDDED.licence}, SHA-256 {EMBEDDED.sha256}")
    say(str(path))
