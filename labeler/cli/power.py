"""`labeler power`: how many queries are enough."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.screen import note


def command(
    qrels: Annotated[Path, typer.Argument(help="Judgements.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Two runs or more.")],
    *,
    measure: Annotated[str, typer.Option("-m", "--measure", help="To plan for.")] = "nDCG@10",
    queries: Annotated[
        list[int] | None, typer.Option(help="What can so many queries tell? Repeatable.")
    ] = None,
    difference: Annotated[
        list[float] | None, typer.Option(help="How many does this difference need? Repeatable.")
    ] = None,
    power: Annotated[float, typer.Option(help="The chance to find the difference.")] = 0.8,
    level: Annotated[float, typer.Option(help="Of significance.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[Path | None, typer.Option("-o", help="Write to a file.")] = None,
) -> None:
    """Say what so many queries can tell apart, and how many a difference needs."""
    from labeler.cli.tables import deliver, rendered
    from labeler.systems import Wishes, plan

    wishes = Wishes(tuple(queries or ()), tuple(difference or ()), power, level)
    found, warnings = plan(qrels, runs, measure, wishes)
    for warning in warnings:
        note(f"warning: {warning}")
    if as_json:
        deliver(json.dumps(asdict(found), indent=1) + "\n", output)
        return
    first = (
        f"{measure} of {found.runs} runs over {found.queries} queries: the differences of a pair"
        f" vary by {found.deviation:.4f} (pooled), {found.largest:.4f} at most"
        f" ({found.widest_pair[0]}, {found.widest_pair[1]})\n\n"
    )
    can = rendered(
        ["queries", f"detectable at {power:.0%} power", "for the widest pair"],
        [[str(n), *pair] for n, pair in found.detectable.items()],
        "table",
    )
    needs = rendered(
        ["difference", "queries needed", "for the widest pair"],
        [[f"{d:g}", *pair] for d, pair in found.needed.items()],
        "table",
    )
    deliver(first + can + "\n" + needs, output)
