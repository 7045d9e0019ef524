"""`labeler queries`: the passages that queries are written from, and queries from real traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import deliver, show_json, show_result
from labeler.cli.screen import note
from labeler.collection.layout import open_collection
from labeler.options import SEED, option
from labeler.queries.passages import list_passages
from labeler.queries.set_aside import PassageRules
from labeler.queries.traffic import TrafficOptions
from labeler.queries.traffic import from_log as sample


def passages(
    folder: Folder,
    *,
    seed: int = option(0, "Decides the order, as of generate.", SEED),
    rules: PassageRules,
    output: OutputFlags,
) -> None:
    """List the passages that queries are written from, and why others are not."""
    to = output.made_from(open_collection(folder).folder)
    show_result(list_passages(folder, seed=seed, rules=rules), output.format, to)


def from_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, TSV, JSON Lines or Parquet.")],
    *,
    options: TrafficOptions,
    output: OutputFlags,
) -> None:
    """Sample real queries from a log by frequency, without personal data."""
    to = output.made_from(log)
    drawn = sample(log, options)
    if output.as_json and to is None:
        show_json(drawn.as_json())
    else:
        rows = ({"_id": q.id, "text": q.text, "metadata": q.metadata} for q in drawn.queries)
        deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), to)
    for line in drawn.sentences:
        note(line)
