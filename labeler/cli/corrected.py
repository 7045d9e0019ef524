"""`labeler evaluate --people`: scores from the assessor's labels, corrected by people's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.evaluation.corrected import Corrections


def print_corrected(
    found: Corrections, form: str, output: Path | None, *, per_query: bool = False
) -> None:
    """Print each run's figures from people alone, from the assessor alone, and corrected."""
    from labeler.cli.output import deliver
    from labeler.evaluation.corrected import as_json
    from labeler.stats.ppi import THESE

    for warning in found.warnings:
        note(f"warning: {warning}")
    counts = found.rows[0].found
    whose = f"these {counts.queries}" if found.target == THESE else "all queries like these"
    note(f"people labelled {counts.labelled} of {counts.queries} queries; the mean over {whose}")
    if form == "json":
        made = as_json(found, per_query=per_query)
        deliver(json.dumps(made, ensure_ascii=False, indent=1) + "\n", output)
    else:
        deliver("\n".join(_tables(found, form, per_query=per_query)), output)


def _tables(found: Corrections, form: str, *, per_query: bool) -> Iterator[str]:
    """The scores, then the comparisons; with `per_query` a row for each query instead."""
    from labeler.cli.tables import rendered
    from labeler.evaluation.corrected import comparison_rows, query_rows, score_rows
    from labeler.evaluation.tables import PAIRED

    if per_query:
        yield rendered(*query_rows(found), form, 3)
        return
    yield rendered(*score_rows(found, form), form, 2)
    if found.comparisons and form in PAIRED:
        yield rendered(*comparison_rows(found), form, 2)
