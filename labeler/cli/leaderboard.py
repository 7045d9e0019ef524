"""`labeler leaderboard`: the same runs ranked by two qrels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.metrics.leaderboard import Leaderboards


def command(
    first: Annotated[Path, typer.Argument(metavar="QRELS_A", help="The qrels to trust.")],
    second: Annotated[Path, typer.Argument(metavar="QRELS_B", help="The others.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Two runs or more.")],
    *,
    measure: Annotated[str, typer.Option("-m", "--measure", help="To rank by.")] = "nDCG@10",
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0,
    form: Annotated[
        str, typer.Option("--format", help="table, csv, json, jsonl, latex or markdown.")
    ] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    output: Annotated[Path | None, typer.Option("-o", help="Write to a file.")] = None,
) -> None:
    """Rank the same runs by two qrels: correlation, drops, and pairs that swap."""
    from labeler.cli.tables import check_format, deliver, rendered
    from labeler.systems import compare_leaderboards, leaderboard_json

    form = "json" if as_json else check_format(form)
    found, warnings = compare_leaderboards(first, second, runs, measure, seed)
    for warning in dict.fromkeys(warnings):
        note(f"warning: {warning}")
    if form == "json":
        text = json.dumps(leaderboard_json(found, (first, second), measure), indent=1) + "\n"
        deliver(text, output)
        return
    tables = [_runs(found, first, second, measure), _statistics(found)]
    tables += [_swaps(found)] if found.swaps else []
    wanted = tables if form in ("table", "markdown", "latex") else tables[:1]
    deliver("\n".join(rendered(*table, form) for table in wanted), output)


Table = tuple[list[str], list[list[str | int | float | None]]]


def _runs(found: Leaderboards, first: Path, second: Path, measure: str) -> Table:
    (x, y), (rank_x, rank_y) = found.means, found.ranks
    header = ["run", f"{measure}, {first.stem}", "rank", f"{measure}, {second.stem}"]
    rows = sorted(
        zip(rank_x, found.runs, x.tolist(), y.tolist(), rank_y, strict=True),
        key=lambda row: row[:2],
    )
    listed: list[list[str | int | float | None]] = [
        [run, a, i, b, j, f"{i - j:+d}" if i != j else "="] for i, run, a, b, j in rows
    ]
    return [*header, "rank, too", "moves"], listed


def _statistics(found: Leaderboards) -> Table:
    names = {
        "tau_b": "Kendall's tau-b",
        "tau_ap": "tau-ap (the first is the truth)",
        "tau_ap_b": "tau-ap,b (neither is)",
        "rbo": "RBO, p .9",
        "max_drop": "max drop",
    }
    rows: list[list[str | int | float | None]] = [
        [names[name], f"{value:.3f}", f"[{low:.3f}, {high:.3f}]"]
        for name, (value, low, high) in found.statistics.items()
    ]
    return [f"over {found.queries} queries", "value", "95 % interval"], rows


def _swaps(found: Leaderboards) -> Table:
    header = ["better by the first", "than", "by", "second says", "p first", "p second", "told by"]
    rows: list[list[str | int | float | None]] = [
        [s.better, s.worse, f"{s.first:+.4f}", f"{s.second:+.4f}", s.p_first, s.p_second, s.verdict]
        for s in found.swaps
    ]
    return header, rows
