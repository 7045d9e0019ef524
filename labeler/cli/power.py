"""`labeler power`: how many queries are enough."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from labeler.cli.numbers import COUNT, SHARE, SIZE, number
from labeler.cli.options import OutputFlags
from labeler.cli.scoring import TABLES


def command(
    context: typer.Context,
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
        list[int] | None, number(COUNT, help="What can so many queries tell? Repeatable.")
    ] = None,
    differences: Annotated[
        list[float] | None,
        number(SIZE, "--difference", help="How many does this difference need? Repeatable."),
    ] = None,
    power: Annotated[float, number(SHARE, help="The chance to find the difference.")] = 0.8,
    level: Annotated[float, number(SHARE, help="Of significance.")] = 0.05,
    planned_runs: Annotated[
        int | None,
        number(COUNT, "--compared", help="Plan for so many runs (default: as many as these)."),
    ] = None,
    named_baseline: Annotated[
        bool,
        typer.Option(
            "--one-baseline", help="Plan for each run against one that is named, not for all pairs."
        ),
    ] = False,
    assurance: Annotated[
        float | None,
        number(SHARE, help="Be so sure of the power, though these queries are few: as 0.8."),
    ] = None,
    table: Annotated[
        Literal["detectable", "needed"] | None,
        typer.Option(
            help="This table alone; csv and jsonl hold one, else the first.",
            rich_help_panel=TABLES,
        ),
    ] = None,
    output: OutputFlags,
) -> None:
    """Say what so many queries can tell apart, and how many are needed."""
    from labeler.cli.output import name_unread_runs, show, show_json, warn
    from labeler.evaluation.inputs import qrels_and_runs
    from labeler.evaluation.power import power as planned

    (qrels, *_), runs = qrels_and_runs(sources, 1)
    to = output.made_from(qrels, *runs)
    name_unread_runs(*sources)
    plan = planned(
        qrels,
        runs,
        measure,
        queries=queries or (),
        differences=differences or (),
        power=power,
        level=level,
        planned_runs=planned_runs,
        named_baseline=named_baseline,
        assurance=assurance,
    )
    warn(context, plan.findings)
    if output.format == "json":
        show_json(plan.as_json(), to)
        return
    tables = [shown for shown in plan.tables() if table in (None, shown.name)]
    sentences = [] if table else [plan.sentence]
    show([*sentences, *tables], output.format, to)
