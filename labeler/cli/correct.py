"""`labeler correct`: an assessor's scores, corrected by people's grades of some queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from labeler.cli.options import Destination, Without, argument
from labeler.cli.output import name_unread_runs, show_result
from labeler.evaluation.correct import corrections_of, files_of_correction
from labeler.evaluation.options import CorrectionOptions
from labeler.options import option
from labeler.report.table import Table


def command(
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
    corrections = corrections_of(*files_of_correction(paths, human, assessor), options)
    parts: list[Table | str] = [" ".join(corrections.sentences), *corrections.tables()]
    show_result(corrections, to, parts=parts)
