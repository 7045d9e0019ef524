"""`labeler fuse`: several runs as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.screen import note


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Two runs or more.")],
    *,
    output: Annotated[Path, typer.Option("-o", help="The run to write (.gz is compressed).")],
    method: Annotated[str, typer.Option(help="rrf, combsum, combmnz or wsum.")] = "rrf",
    k: Annotated[float, typer.Option(help="RRF's constant.")] = 60,
    norm: Annotated[
        str, typer.Option(help="Scale scores before adding: min-max, zscore or none.")
    ] = "min-max",
    weights: Annotated[str, typer.Option(help="For wsum, one for each run: 0.3,0.7.")] = "",
    depth: Annotated[int, typer.Option(help="Documents to keep a query.")] = 1000,
    tag: Annotated[str, typer.Option(help="The run's last column.")] = "fused",
) -> None:
    """Fuse runs, by rank (RRF) or by score."""
    from labeler.errors import Misuse
    from labeler.formats.trec import write_run
    from labeler.fusing import Fusion, fuse_files

    try:
        factors = tuple(float(text) for text in weights.split(",") if text)
    except ValueError as error:
        raise Misuse(f"cannot read the weights {weights!r}; write them as 0.3,0.7") from error
    fused = fuse_files(runs, Fusion(method, k, norm, factors, depth))
    write_run(output, fused, tag)
    note(f"wrote {output}: {len(fused)} queries from {len(runs)} runs by {method}")
