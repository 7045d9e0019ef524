"""`labeler generate` and `labeler queries`: queries, and the passages they are written from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import ON_SCREEN, deliver, show_json, show_result
from labeler.cli.reporting import asked, note_generated, show_generation_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.options import SEED, option
from labeler.queries.generate import GenerateOptions, GenerateResult, agenerate
from labeler.queries.passages import list_passages
from labeler.queries.realism import Realism, realism
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
    show_result(list_passages(folder, seed=seed, rules=rules), to)


def from_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, TSV, JSON Lines or Parquet.")],
    *,
    options: TrafficOptions,
    output: OutputFlags,
) -> None:
    """Sample real queries from a log by frequency, without personal data."""
    to = output.made_from(log)
    drawn = sample(log, options)
    if output.as_json and to.file is None:
        show_json(drawn.as_json(), to)
    else:
        rows = ({"_id": q.id, "text": q.text, "metadata": q.metadata} for q in drawn.queries)
        deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), to.file)
    for line in drawn.sentences:
        note(line)


def generate(
    folder: Folder,
    *,
    options: GenerateOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Write queries that the documents answer.

    They go to queries.jsonl; what a filter dropped goes to rejected.jsonl, with its reason.
    With --like, it is said how they differ from those real queries.
    """
    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    how = who.asking(options, force=output.force)
    result = asked(flags, partial(agenerate, collection, how), show_generation_plan, to)
    if result is None:
        return
    like = how.asking.like
    beside = realism(collection, like) if like is not None and result.total else None
    show_outcome(_Written(result, how.queries, beside), _show_written, to)
    result.check()


@dataclass(frozen=True)
class _Written:
    """What was written of so many queries, and how it differs from the real ones of `--like`."""

    result: GenerateResult
    asked: int
    realism: Realism | None

    def as_json(self) -> dict[str, Any]:
        beside = {} if self.realism is None else {"realism": self.realism.as_json()}
        return {**self.result.as_json(), **beside}


def _show_written(written: _Written) -> None:
    note_generated(written.result, written.asked)
    say(f"queries: {written.result.queries}")
    if written.realism is not None:
        show_result(written.realism, ON_SCREEN)
