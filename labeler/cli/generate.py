"""`labeler generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.process import run_until_stopped
from labeler.cli.progress import control_of
from labeler.cli.reporting import note_generated, show_generation_plan, show_outcome
from labeler.cli.screen import say
from labeler.collection.layout import open_collection
from labeler.queries.generate import GenerateOptions, GenerateResult, agenerate, aplan_generation


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
    """
    collection, control = open_collection(folder), control_of(flags)
    to = output.made_from(collection.folder)
    asked = who.asking(options, force=output.force)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_generation(collection, asked, control.with_stop(stop))
        )
        show_outcome(plan, show_generation_plan, output, to)
        return
    result = run_until_stopped(lambda stop: agenerate(collection, asked, control.with_stop(stop)))
    show_outcome(result, lambda written: _show(written, asked.queries), output, to)
    result.check()


def _show(result: GenerateResult, queries: int) -> None:
    note_generated(result, queries)
    say(f"queries: {result.queries}")
