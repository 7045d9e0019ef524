"""`labeler runs fuse`: several runs as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from labeler.cli.numbers import COUNT, SIZE, number
from labeler.cli.options import OUTPUT, Force
from labeler.cli.screen import caution, note

SCORES = "Fusing by score"

Method = Literal["rrf", "combsum", "combmnz", "wsum"]
Norm = Literal["min-max", "max", "sum", "zscore", "zmuv", "rank", "borda", "none"]


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...", help="Two runs or more (.json, .parquet too), or a folder of them."
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            *("--output", "-o"),
            help="The run to write (.gz is compressed); - is standard output.",
            rich_help_panel=OUTPUT,
        ),
    ],
    method: Annotated[
        Method, typer.Option(help="Reciprocal rank fusion, or scores added.")
    ] = "rrf",
    k: Annotated[float, number(SIZE, help="RRF's constant.")] = 60,
    norm: Annotated[
        Norm,
        typer.Option(
            help="How scores are scaled before they are added; zscore and zmuv are the same.",
            rich_help_panel=SCORES,
        ),
    ] = "min-max",
    weights: Annotated[
        str,
        typer.Option(
            help="For wsum, one for each run: 0.3,0.7 or bm25=0.3,dense=0.7.",
            rich_help_panel=SCORES,
        ),
    ] = "",
    depth: Annotated[int, number(COUNT, help="Documents to keep a query.")] = 1000,
    tag: Annotated[
        str, typer.Option(help="The run's last column.", rich_help_panel=OUTPUT)
    ] = "fused",
    force: Force = False,
) -> None:
    """Fuse runs, by rank (RRF) or by score."""
    from labeler.collection.user_files import Output, run_paths
    from labeler.messages import count_of
    from labeler.runs.fuse import Fusion, fuse_files, weights_of

    runs = run_paths(runs)
    fusion = Fusion(method, k, norm, weights_of(weights, runs), depth)
    queries, lines = fuse_files(runs, Output(output, force), fusion, tag, caution)
    shown = f"{count_of(queries, 'query', 'queries')}, {count_of(lines, 'line', 'lines')}"
    note(f"wrote {output}: {shown} from {len(runs)} runs by {method}")
