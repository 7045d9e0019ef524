"""`labeler power`: how many queries are enough."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.output import name_unread_runs, show, show_json, warn
from labeler.cli.scoring import TABLES
from labeler.evaluation.inputs import qrels_and_runs
from labeler.evaluation.power import PowerOptions
from labeler.evaluation.power import power as planned
from labeler.options import option


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUNS... | COLL [NAME]",
            help="Judgements and two runs or more; or a collection, and which of its qrels.",
        ),
    ],
    *,
    measure: str = option("nDCG@10", "To plan for.", flags="-m --measure"),
    options: PowerOptions,
    table: Literal["detectable", "needed"] | None = option(
        None, "This table alone; csv and jsonl hold one, else the first.", panel=TABLES
    ),
    output: OutputFlags,
) -> None:
    """Say what so many queries can tell apart, and how many are needed."""
    (qrels, *_), runs = qrels_and_runs(sources, 1)
    to = output.made_from(qrels, *runs)
    name_unread_runs(*sources)
    plan = planned(qrels, runs, measure, options)
    warn(plan.findings)
    if to.form == "json":
        show_json(plan.as_json(), to)
        return
    tables = [shown for shown in plan.tables() if table in (None, shown.name)]
    sentences = [] if table else ["\n".join(plan.sentences)]
    show([*sentences, *tables], to)
