"""`labeler evaluate --people`: scores from the assessor's labels, corrected by people's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.correcting import Wanted


def print_corrected(
    paths: Sequence[Path],
    people: str,
    assessor: str | None,
    wanted: Wanted,
    form: str,
    output: Path | None,
) -> None:
    """Print each run's figures from people alone, from the assessor alone, and corrected."""
    from labeler.agreement.ppi import THESE
    from labeler.cli.tables import deliver, rendered
    from labeler.correcting import as_json, correct_files, table_rows

    found = correct_files(paths, people, assessor, wanted)
    for warning in found.warnings:
        note(f"warning: {warning}")
    counts = found.rows[0].found
    whose = f"these {counts.queries}" if wanted.target == THESE else "all queries like these"
    note(f"people labelled {counts.labelled} of {counts.queries} queries; the mean over {whose}")
    if form == "json":
        deliver(json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n", output)
        return
    header = ["run", "measure", "people alone", "assessor alone", "corrected", "lambda"]
    deliver(rendered(header, table_rows(found), form, 2), output)
