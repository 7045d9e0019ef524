"""`labeler build`: documents to qrels in one go: ingest, generate, pool and judge in a row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.corpus import note_ingested
from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import FORCE, OUT_FOLDER, FormFlags
from labeler.cli.pool import note_pooled
from labeler.cli.process import run_until_stopped
from labeler.cli.progress import control_of
from labeler.cli.reporting import (
    check_complete,
    note_generated,
    show_generation_plan,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import Collection
from labeler.corpus.documents import Ingested
from labeler.messages import count_of
from labeler.options import REQUIRED, option
from labeler.pipeline.build import Build, BuildOptions, BuildPlan, BuildResult, plan_build, taken
from labeler.pools.pool import PoolResult
from labeler.queries.generate import GenerateResult


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Folders, files or patterns, as ingest takes."),
    ],
    out: Path = option(REQUIRED, OUT_FOLDER),
    *,
    options: BuildOptions,
    who: ModelFlags,
    force: bool = option(False, FORCE),
    flags: ShownFlags,
    shown: FormFlags,
) -> None:
    """Build a collection from documents, with queries and judgements.

    It is ingest, generate, pool and judge in one: corpus, queries, runs, pool, judgements, qrels.
    """
    reading = replace(options.reading, force=force)
    judging = who.asking(options.judging)
    asked, control = (
        replace(options, inputs=inputs, reading=reading, judging=judging),
        control_of(flags),
    )
    if flags.dry_run:
        plan = plan_build(asked, control, run_until_stopped, lambda step: _tell(step, asked, True))
        show_outcome(plan, _show_plan, shown)
        return
    steps = Build(Collection(out), asked, control)
    built = taken(steps, run_until_stopped, lambda step: _tell(step, asked))
    show_outcome(built, _show, shown)
    check_complete(built.judging)
    if built.generated:
        built.generated.check()


def _tell(step: object, asked: BuildOptions, is_rehearsal: bool = False) -> None:
    """Say what a step gave."""
    if isinstance(step, Ingested):
        note_ingested(step)
    elif isinstance(step, GenerateResult):
        note_generated(step, asked.queries)
    elif isinstance(step, PoolResult) and is_rehearsal:
        pairs = count_of(step.pairs, "pair", "pairs")
        note(f"a pool of about {pairs} of {count_of(step.queries, 'query', 'queries')}")
    elif isinstance(step, PoolResult):
        note_pooled(step)


def _show(built: BuildResult) -> None:
    show_judging(built.judging)
    say(f"\nnext: labeler evaluate {built.collection.folder}")


def _show_plan(plan: BuildPlan) -> None:
    if plan.generation:
        say("# writing queries")
        show_generation_plan(plan.generation)
        say("\n# judging, estimated with headings in the queries' place")
    if plan.encoding:
        say(f"vectors     {plan.encoding}")
    show_judging_plan(plan.judging)
