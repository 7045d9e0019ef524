"""`labeler power`: how many queries are enough."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import AsJson, Form, ToFile
from labeler.cli.screen import note
from labeler.messages import count_of

if TYPE_CHECKING:
    from labeler.evaluation.power import Plan


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUNS... | COLL [NAME]",
            help="Judgements and two runs or more; or a collection, and which of its qrels.",
        ),
    ],
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
    which: Annotated[
        str,
        typer.Option(
            "--table", help="detectable or needed alone; csv and jsonl hold one, else the first."
        ),
    ] = "",
    form: Form = "table",
    as_json: AsJson = False,
    output: ToFile = None,
) -> None:
    """Say what so many queries can tell apart, and how many a difference needs."""
    from labeler.cli.output import deliver, refuse_overwriting
    from labeler.cli.tables import PAIRED, PROSE, rendered
    from labeler.errors import Misuse
    from labeler.evaluation.leaderboard import sources_of
    from labeler.evaluation.power import Wishes, plan

    form = "json" if as_json else form
    if which not in ("", "detectable", "needed"):
        raise Misuse(f"no table {which!r}; known: detectable, needed")
    (qrels, *_), runs = sources_of(sources, 1)
    refuse_overwriting(output, [qrels, *runs])
    wishes = Wishes(tuple(queries or ()), tuple(difference or ()), power, level)
    found, warnings = plan(qrels, runs, measure, wishes)
    for warning in warnings:
        note(f"warning: {warning}")
    if form == "json":
        deliver(json.dumps(asdict(found), indent=1) + "\n", output)
        return
    tables = {"detectable": _detectable(found), "needed": _needed(found)}
    wanted = [which] if which else list(tables) if form in PAIRED else ["detectable"]
    parts = [rendered(*tables[name], form) for name in wanted]
    if form in PROSE and not which:
        parts.insert(0, _sentence(found))
    deliver("\n".join(parts), output)


Table = tuple[list[str], list[list[str | int | float | None]]]


def _sentence(found: Plan) -> str:
    first, second = found.widest_pair
    return (
        f"{found.measure} of {found.runs} runs over {count_of(found.queries, 'query', 'queries')}:"
        f" over queries, the difference of two runs has a standard deviation of"
        f" {found.deviation:.4f} (pooled over pairs of runs), and {found.largest:.4f} where it"
        f" varies most ({first}, {second}).\n"
    )


def _detectable(found: Plan) -> Table:
    header = ["queries", f"detectable with {found.power:.0%} power", "by the widest pair"]
    return header, [[n, *pair] for n, pair in found.detectable.items()]


def _needed(found: Plan) -> Table:
    header = ["difference", f"queries for {found.power:.0%} power", "by the widest pair"]
    return header, [[f"{wish:g}", *pair] for wish, pair in found.needed.items()]
