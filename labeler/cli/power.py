"""`labeler power`: how many queries are enough."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.scoring import TABLES
from labeler.options import COUNT, SHARE, SIZE, option


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
    measure: str = option("nDCG@10", "To plan for.", flags="-m --measure"),
    queries: tuple[int, ...] = option((), "What can so many queries tell? Repeatable.", COUNT),
    differences: tuple[float, ...] = option(
        (), "How many does this difference need? Repeatable.", SIZE, flags="--difference"
    ),
    power: float = option(0.8, "The chance to find the difference.", SHARE),
    level: float = option(0.05, "Of significance.", SHARE),
    planned_runs: int | None = option(
        None, "Plan for so many runs (default: as many as these).", COUNT, flags="--compared"
    ),
    named_baseline: bool = option(
        False,
        "Plan for each run against one that is named, not for all pairs.",
        flags="--one-baseline",
    ),
    assurance: float | None = option(
        None, "Be so sure of the power, though these queries are few: as 0.8.", SHARE
    ),
    table: Literal["detectable", "needed"] | None = option(
        None, "This table alone; csv and jsonl hold one, else the first.", panel=TABLES
    ),
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
