"""`labeler queries`: look at the queries of a collection, and make queries from real traffic."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import OUTPUT, Folder, OutputFlags
from labeler.cli.screen import note
from labeler.errors import BadInput
from labeler.exchange.fields import LogFields
from labeler.options import COUNT, EXPONENT, SEED, option
from labeler.queries.set_aside import PassageRules

_NUMBER = re.compile(r"\d{0,9}(\.\d{0,15})?(?<=\d)")


def passages(
    folder: Folder,
    *,
    seed: int = option(0, "Decides the order, as of generate.", SEED),
    rules: PassageRules,
    output: OutputFlags,
) -> None:
    """List the passages that queries are written from, and why others are not."""
    from labeler.cli.output import show, show_json
    from labeler.collection.layout import open_collection
    from labeler.queries.passages import list_passages

    to = output.made_from(open_collection(folder).folder)
    listed = list_passages(folder, seed=seed, rules=rules)
    if output.format == "json":
        show_json(listed.as_json(), to)
    else:
        show(listed.tables(), output.format, to)


def realism(
    folder: Folder,
    *,
    real: Path | None = option(
        None,
        "Real queries. Default: those in the collection, else published figures.",
        metavar="FILE",
    ),
    output: OutputFlags,
) -> None:
    """Say how generated queries differ from real ones."""
    from labeler.cli.output import show, show_json
    from labeler.collection.layout import open_collection
    from labeler.queries.realism import realism as compare

    inputs = [real] if real else []
    to = output.made_from(open_collection(folder).folder, *inputs)
    result = compare(folder, real)
    if output.format == "json":
        show_json(result.as_json(), to)
    else:
        show(result.tables(), output.format, to)


def from_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, TSV, JSON Lines or Parquet.")],
    *,
    queries: int = option(100, "How many queries, spread over strata.", COUNT),
    seed: int = option(0, "Decides which are drawn.", SEED),
    min_count: int = option(1, "Leave out what was typed less often: it may name somebody.", COUNT),
    eta: float = option(1.0, "Attention falls with the rank as (1/rank)^eta.", EXPONENT),
    attention: str | None = option(
        None, "That to each rank from the first, as measured, instead of --eta.", metavar="N,N,..."
    ),
    fields: LogFields,
    click_run: Path | None = option(None, "Write what was clicked as a run.", panel=OUTPUT),
    click_qrels: Path | None = option(
        None, "Write clicks as weak qrels, no judgements.", panel=OUTPUT
    ),
    output: OutputFlags,
) -> None:
    """Sample real queries from a log by frequency, without personal data."""
    import json

    from labeler.cli.output import deliver, show_json
    from labeler.queries.traffic import TrafficOptions, check_named_clicks
    from labeler.queries.traffic import from_log as sample

    to = output.made_from(log)
    clicked = {path: output.written_to(path, log) for path in (click_run, click_qrels) if path}
    if click_qrels:
        check_named_clicks(click_qrels)
    drawn = sample(log, TrafficOptions(queries, seed, min_count, fields, eta, _numbers(attention)))
    if clicked and drawn.clicks is None:
        raise BadInput(f"{log}: no columns of documents and clicks in it", parameter="click_run")
    if output.as_json and to is None:
        show_json(drawn.as_json())
    else:
        deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in drawn.rows()), to)
    if drawn.clicks and click_run:
        deliver("".join(drawn.clicks.run_lines()), clicked[click_run])
    if drawn.clicks and click_qrels:
        deliver("".join(drawn.clicks.qrels_lines()), clicked[click_qrels])
    for line in drawn.summary():
        note(line)


def _numbers(text: str | None) -> tuple[float, ...]:
    """The numbers between commas; nan of what is none, which no option takes."""
    parts = text.split(",") if text else []
    return tuple(float(part) if _NUMBER.fullmatch(part.strip()) else math.nan for part in parts)
