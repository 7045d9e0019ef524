"""`labeler correct` and `power`: scores by people's grades, and how many queries suffice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from labeler.cli.options import Destination, Without, argument
from labeler.cli.output import name_unread_runs, show_result
from labeler.evaluation.correct import corrections_of, qrels_of_both
from labeler.evaluation.inputs import files_or_collection, qrels_and_runs
from labeler.evaluation.options import CorrectionOptions
from labeler.evaluation.power import PowerOptions
from labeler.evaluation.power import power as planned
from labeler.options import option


def correct(
    paths: Annotated[
        list[Path],
        argument(
            "People's qrels of some queries, the assessor's of all, runs; or a folder.",
            "HUMAN ASSESSOR RUN... | COLLECTION",
        ),
    ],
    *,
    human: str | None = option(
        None, "In a collection: which qrels are people's (default: human).", metavar="NAME"
    ),
    assessor: str | None = option(
        None, "In a collection: the qrels of all queries (default: the only).", metavar="NAME"
    ),
    options: Annotated[CorrectionOptions, Without(["missing", "unanswerable", "stale"])],
    to: Destination,
) -> None:
    """Correct an assessor's scores by people's qrels of some queries."""
    name_unread_runs(*paths)
    (by_people, by_assessor), runs = files_or_collection(
        paths,
        {"human": human, "assessor": assessor},
        lambda folder: qrels_of_both(folder, human, assessor),
        "labeler correct HUMAN.qrels LLM.qrels RUN...",
    )
    show_result(corrections_of(by_people, by_assessor, runs, options), to)


def power(
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
