"""`labeler mmr`: a run re-ranked for diversity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, SHARE, number
from labeler.cli.options import OUTPUT, Force
from labeler.cli.screen import note


def command(
    run: Annotated[Path, typer.Argument(help="The run to re-rank; - is standard input.")],
    collection: Annotated[Path, typer.Argument(metavar="COLL", help="Whose documents it ranks.")],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The run to write (.gz is compressed).", rich_help_panel=OUTPUT
        ),
    ],
    balance: Annotated[
        float, number(SHARE, "--lambda", help="1 keeps the run's order, 0 looks at novelty alone.")
    ] = 0.5,
    depth: Annotated[int, number(COUNT, help="Documents to re-rank and keep a query.")] = 100,
    tag: Annotated[
        str, typer.Option(help="The run's last column.", rich_help_panel=OUTPUT)
    ] = "mmr",
    force: Force = False,
) -> None:
    """Re-rank a run by maximal marginal relevance, with the embedded encoder's vectors."""
    from labeler.collection.layout import open_collection
    from labeler.collection.outputs import Output
    from labeler.runs.mmr import Diversity, diversify
    from labeler.text.vectors import encode

    corpus, to = open_collection(collection).corpus, Output(output, force)
    lines = diversify(run, corpus, encode, to, Diversity(balance, depth, tag))
    note(f"wrote {output}: {lines:,} lines")
