"""`labeler leaderboard`: the same runs ranked by two qrels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import AsJson, Form, ToFile
from labeler.cli.screen import note
from labeler.messages import count_of

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard, System


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS_A QRELS_B RUNS... | COLL NAME_A NAME_B",
            help="The qrels to trust, the others, and two runs or more; or names in a collection.",
        ),
    ],
    *,
    measure: Annotated[str, typer.Option("-m", "--measure", help="To rank by.")] = "nDCG@10",
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0,
    which: Annotated[
        str,
        typer.Option(
            "--table",
            help="runs, statistics or swaps alone; csv and jsonl hold one, by default the runs.",
        ),
    ] = "",
    form: Form = "table",
    as_json: AsJson = False,
    output: ToFile = None,
) -> None:
    """Rank the same runs by two qrels: correlation, drops, and pairs that swap."""
    from labeler.cli.output import deliver, refuse_overwriting
    from labeler.cli.tables import PAIRED, rendered
    from labeler.errors import Misuse
    from labeler.evaluation.leaderboard import compare_leaderboards, leaderboard_json, sources_of

    form = "json" if as_json else form
    if which not in ("", *TABLES):
        raise Misuse(f"no table {which!r}; known: {', '.join(TABLES)}")
    qrels, runs = sources_of(sources, 2)
    if len(qrels) < 2:
        raise Misuse("a leaderboard needs two qrels; as in: labeler leaderboard A B RUNS...")
    first, second = qrels
    refuse_overwriting(output, [*qrels, *runs])
    board, warnings = compare_leaderboards(first, second, runs, measure, seed)
    for warning in warnings:
        note(f"warning: {warning}")
    if form == "json":
        text = json.dumps(leaderboard_json(board, qrels), indent=1) + "\n"
        deliver(text, output)
        return
    labels = _labels(qrels)
    wanted = [which] if which else list(TABLES) if form in PAIRED else ["runs"]
    parts = []
    for name in wanted:
        header, rows = TABLES[name](board, labels, form in PAIRED)
        if rows or which:
            parts.append(rendered(header, rows, form, 2 if name == "swaps" else 1))
    deliver("\n".join(parts), output)


def _labels(qrels: Sequence[Path]) -> tuple[str, str]:
    """What two qrels are called: their names, with a number where these are the same."""
    first, second = (path.name.removesuffix(".gz").removesuffix(".qrels") for path in qrels)
    return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")


Table = tuple[list[str], list[list[str | int | float | None]]]
Labels = tuple[str, str]


def _runs(board: Leaderboard, labels: Labels, paired: bool) -> Table:
    (a, b), measure = labels, board.measure
    header = ["run", f"{measure} by {a}", f"rank by {a}", f"{measure} by {b}", f"rank by {b}"]
    ranked = sorted(board.systems, key=lambda system: (system.first_rank, system.run))
    return [*header, "moves"], [
        [s.run, s.first, s.first_rank, s.second, s.second_rank, _moves(s, paired)] for s in ranked
    ]


def _moves(system: System, paired: bool) -> str | int:
    """By how many ranks the second qrels move a system up."""
    up = system.first_rank - system.second_rank
    if not paired:
        return up
    return f"{up:+d}" if up else "="


def _statistics(board: Leaderboard, labels: Labels, paired: bool) -> Table:
    names = {
        "tau_b": "Kendall's tau-b",
        "tau_ap": f"tau-ap ({labels[0]} is the truth)",
        "tau_ap_b": "tau-ap,b (neither is)",
        "rbo": "RBO, p .9",
        "max_drop": "max drop",
    }
    if not paired:
        listed: list[list[str | int | float | None]] = [
            [name, *correlation] for name, correlation in board.statistics.items()
        ]
        return ["statistic", "value", "low", "high"], listed
    shown: list[list[str | int | float | None]] = []
    for name, (value, low, high) in board.statistics.items():
        digits = 0 if name == "max_drop" else 3
        value_shown = "undefined" if value is None else f"{value:.{digits}f}"
        ends = "-" if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"
        shown.append([names[name], value_shown, ends])
    over = f"over {count_of(len(board.queries), 'query', 'queries')}"
    return [over, "value", "95 % interval"], shown


def _swaps(board: Leaderboard, labels: Labels, paired: bool) -> Table:
    (a, b), measure = labels, board.measure
    header = [
        f"better by {a}",
        "than",
        f"{measure} by {a}",
        f"by {b}",
        f"p Holm, {a}",
        f"p Holm, {b}",
    ]
    rows: list[list[str | int | float | None]] = []
    for swap in board.swaps:
        differences: tuple[float, float] = (swap.first, swap.second)
        shown = [f"{d:+z.4f}" for d in differences] if paired else list(differences)
        words = {"the first alone": f"{a} alone", "the second alone": f"{b} alone"}
        told = words.get(swap.verdict, swap.verdict)
        rows.append([swap.better, swap.worse, *shown, swap.p_first, swap.p_second, told])
    return [*header, "told apart by"], rows


TABLES: dict[str, Callable[[Leaderboard, Labels, bool], Table]] = {
    "runs": _runs,
    "statistics": _statistics,
    "swaps": _swaps,
}
