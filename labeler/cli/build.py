"""`labeler build`: documents to qrels in one go: ingest, generate, pool and judge in a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import model_options, options
from labeler.cli.ingest import note_ingested
from labeler.cli.numbers import COUNT, SEED, number
from labeler.cli.pool import note_pooled, note_rehearsed_pool
from labeler.cli.progress import control_of
from labeler.cli.reporting import (
    check_complete,
    note_generated,
    show_generation_plan,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import say
from labeler.cli.signals import run_until_stopped
from labeler.corpus.blocks import FileRules
from labeler.exchange.fields import FieldNames
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits, Proof
from labeler.queries.asking import Asking
from labeler.queries.filter import FilterRules
from labeler.queries.set_aside import PassageRules

if TYPE_CHECKING:
    from labeler.pipeline.build import Build, BuildPlan, BuildResult, Rehearsal


def command(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Folders, files or patterns, as ingest takes."),
    ],
    out: Annotated[Path, typer.Option("--output", "-o", help="The collection's directory.")],
    *,
    queries: Annotated[int, number(COUNT, help="How many queries to write.")] = 50,
    queries_file: Annotated[
        Path | None, typer.Option(help="Your own queries, instead of written ones.")
    ] = None,
    max_file_size: options.MaxFileSize = options.MEGABYTES,
    follow_links: options.FollowLinks = False,
    files: FileRules,
    force: options.Force = False,
    depth: Annotated[int, number(COUNT, help="Documents of each run to pool.")] = 10,
    prompt: Annotated[str, typer.Option(help="The grading prompt's name or file.")] = "",
    model: model_options.ModelName = None,
    model_file: model_options.ModelFile = None,
    base_url: model_options.BaseUrl = None,
    name: model_options.NewName = None,
    seed: Annotated[int, number(SEED, help="Decides which passages are asked about.")] = 0,
    asking: Asking,
    passages: PassageRules,
    filters: FilterRules,
    fields: FieldNames,
    encoder: EncoderOptions,
    limits: Limits,
    proof: Proof,
    flags: model_options.RunFlags,
    shown: options.FormFlags,
) -> None:
    """Build a collection from documents, with queries and judgements.

    It is ingest, generate, pool and judge in one: corpus, queries, runs, pool, judgements, qrels.
    """
    from labeler.collection.layout import Collection
    from labeler.judging.judge import JudgeOptions
    from labeler.models.choose import model_in
    from labeler.pipeline.build import Build, BuildOptions, rehearsal

    asks = model_in(model, model_file, flags.assessor)
    settings = (flags.concurrency, flags.retry_failed, flags.redact, limits)
    judging = JudgeOptions(prompt, asks, base_url, name, *settings, proof=proof)
    reading = (max_file_size << 20, follow_links, files, force, fields)
    generating = (asking, passages, filters, encoder)
    asked = BuildOptions(inputs, queries, queries_file, depth, seed, judging, *reading, *generating)
    control = control_of(flags)
    if flags.dry_run:
        with rehearsal(asked, control) as steps:
            show_outcome(rehearse(steps), _show_plan, shown)
        return
    built = build(Build(Collection(out), asked, control))
    show_outcome(built, _show, shown)
    check_complete(built.judging)
    if built.generated:
        built.generated.check()


def build(steps: Build) -> BuildResult:
    """Take the four steps, and say after each what it gave."""
    from labeler.pipeline.build import BuildResult

    ingested = steps.ingest()
    note_ingested(ingested)
    generated = run_until_stopped(steps.generate) if steps.writes_queries else None
    if generated:
        note_generated(generated, steps.options.queries)
    run_until_stopped(steps.encode)
    pooled = steps.pool()
    note_pooled(pooled)
    judged = run_until_stopped(steps.judge)
    return BuildResult(steps.collection, len(ingested.documents), generated, pooled, judged)


def rehearse(steps: Rehearsal) -> BuildPlan:
    """What the steps would ask."""
    from labeler.pipeline.build import BuildPlan

    ingested = steps.build.ingest()
    note_ingested(ingested)
    generation = run_until_stopped(steps.generate) if steps.build.writes_queries else None
    encoding, pooled = steps.encode(), steps.build.pool()
    note_rehearsed_pool(pooled)
    judging = run_until_stopped(steps.judge)
    return BuildPlan(len(ingested.documents), generation, pooled.pairs, judging, encoding)


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
