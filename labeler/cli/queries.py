"""`labeler generate` and `labeler queries`: queries, and the passages they are written from."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Destination, Opened, Shown, argument
from labeler.cli.output import deliver_rows, show_json, show_result
from labeler.cli.reporting import asked, note_generated, show_generation_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.collection.queries import read_queries
from labeler.options import SEED, option
from labeler.queries.generate import GenerateOptions, GenerateResult, agenerate
from labeler.queries.kinds import beside_real
from labeler.queries.passages import list_passages
from labeler.queries.set_aside import PassageRules
from labeler.queries.traffic import TrafficOptions
from labeler.queries.traffic import from_log as sample

_SPREAD = ("stratify",)
"""The rule about passages that help shows."""


def passages(
    collection: Opened,
    *,
    seed: int = option(0, "Decides the order, as of generate.", SEED),
    rules: Annotated[PassageRules, Shown(_SPREAD)],
    to: Destination,
) -> None:
    """List the passages that queries are written from, and why others are not."""
    show_result(list_passages(collection, seed=seed, rules=rules), to)


def from_log(
    log: Annotated[Path, argument("CSV, TSV, JSON Lines or Parquet.", "LOG")],
    *,
    options: TrafficOptions,
    to: Destination,
) -> None:
    """Sample real queries from a log by frequency, without personal data."""
    drawn = sample(log, options)
    if to.form == "json" and to.file is None:
        show_json(drawn.as_json(), to)
    else:
        rows = ({"_id": q.id, "text": q.text, "metadata": q.metadata} for q in drawn.queries)
        deliver_rows(rows, to.file)
    for line in drawn.sentences:
        note(line)


def generate(
    collection: Opened,
    *,
    options: Annotated[GenerateOptions, Shown(_SPREAD)],
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Write queries that the documents answer.

    They go to queries.jsonl; what a filter dropped goes to rejected.jsonl, with its reason.
    With --like, it is said how long they are beside those real queries, and how many ask.
    """
    how = who.asking(options, force=to.force)
    result = asked(flags, partial(agenerate, collection, how), show_generation_plan, to)
    show_outcome(result, lambda _: _show_written(result, how.queries), to)
    if how.asking.like is not None and result.total:
        queries = read_queries(collection.queries).values()
        written = [query.text for query in queries if "source" in query.metadata]
        note(beside_real(written, how.asking.like))
    result.check()


def _show_written(result: GenerateResult, queries: int) -> None:
    note_generated(result, queries)
    say(f"queries: {result.queries}")
