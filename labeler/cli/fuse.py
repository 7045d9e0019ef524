"""`labeler runs fuse`: several runs as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from labeler.cli.options import FORCE, OUTPUT
from labeler.cli.screen import caution, note
from labeler.options import COUNT, REQUIRED, SIZE, option

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
    output: Path = option(
        REQUIRED,
        "The run to write (.gz is compressed); - is standard output.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    method: Method = option("rrf", "Reciprocal rank fusion, or scores added."),
    k: float = option(60, "RRF's constant.", SIZE),
    norm: Norm = option(
        "min-max",
        "How scores are scaled before they are added; zscore and zmuv are the same.",
        panel=SCORES,
    ),
    weights: str = option(
        "", "For wsum, one for each run: 0.3,0.7 or bm25=0.3,dense=0.7.", panel=SCORES
    ),
    depth: int = option(1000, "Documents to keep a query.", COUNT),
    tag: str = option("fused", "The run's last column.", panel=OUTPUT),
    force: bool = option(False, FORCE),
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
