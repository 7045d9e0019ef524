"""`labeler generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show_result
from labeler.cli.progress import watched
from labeler.cli.reporting import note_generated, show_generation_plan, show_outcome
from labeler.cli.screen import say
from labeler.collection.layout import open_collection
from labeler.queries.generate import GenerateOptions, GenerateResult, agenerate, aplan_generation
from labeler.queries.realism import Realism, realism


def command(
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
    asked = who.asking(options, force=output.force)
    if flags.dry_run:
        plan = watched(flags, lambda watch: aplan_generation(collection, asked, watch))
        show_outcome(plan, show_generation_plan, output, to)
        return
    result = watched(flags, lambda watch: agenerate(collection, asked, watch))
    like = asked.asking.like
    beside = realism(collection, like) if like is not None and result.total else None
    written = _Written(result, asked.queries, beside)
    show_outcome(written, _show, output, to)
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


def _show(written: _Written) -> None:
    note_generated(written.result, written.asked)
    say(f"queries: {written.result.queries}")
    if written.realism is not None:
        show_result(written.realism, "table")
