"""`labeler power`: how many queries are enough."""

from __future__ import annotations

from typing import Annotated

from labeler.cli.options import Destination, argument
from labeler.cli.output import name_unread_runs, show_result
from labeler.evaluation.inputs import qrels_and_runs
from labeler.evaluation.power import PowerOptions
from labeler.evaluation.power import power as planned
from labeler.options import option


def command(
    sources: Annotated[
        list[str],
        argument(
            "Judgements and two runs or more; or a collection, and which of its qrels.",
            "QRELS RUNS... | COLL [NAME]",
        ),
    ],
    *,
    measure: str = option("nDCG@10", "To plan for.", flags="-m --measure"),
    options: PowerOptions,
    to: Destination,
) -> None:
    """Say what so many queries can tell apart, and how many are needed."""
    (qrels, *_), runs = qrels_and_runs(sources, 1)
    name_unread_runs(*sources)
    show_result(planned(qrels, runs, measure, options), to)
