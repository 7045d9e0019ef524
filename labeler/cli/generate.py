"""`labeler generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import encoder_options, model_options, options, query_options  # noqa: F401  the first and the last register options
from labeler.cli.numbers import CANDIDATES, COUNT, SEED, number
from labeler.cli.progress import control_of
from labeler.cli.reporting import note_generated, show_generation_plan, show_outcome
from labeler.cli.screen import say
from labeler.cli.signals import run_until_stopped
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits
from labeler.queries.asking import Asking
from labeler.queries.filter import FilterRules
from labeler.queries.set_aside import PassageRules

if TYPE_CHECKING:
    from labeler.queries.generate import GenerateResult


def command(
    folder: options.Folder,
    *,
    queries: Annotated[int, number(COUNT, help="How many queries to have.")] = 50,
    prompt: Annotated[
        str,
        typer.Option(
            help="A prompt's name or file, which writes all. Default: a prompt for each kind.",
            show_default=False,
        ),
    ] = "",
    asking: Asking,
    model: model_options.ModelName = None,
    model_file: model_options.ModelFile = None,
    base_url: model_options.BaseUrl = None,
    samples: Annotated[
        int | None,
        number(
            CANDIDATES, help="Candidates a passage; the closest is kept. Default: 1, embedded 5."
        ),
    ] = None,
    seed: Annotated[int, number(SEED, help="Decides which passages are asked about.")] = 0,
    passages: PassageRules,
    filters: FilterRules,
    encoder: EncoderOptions,
    limits: Limits,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Write queries that the documents answer.

    They go to queries.jsonl; what a filter dropped goes to rejected.jsonl, with its reason.
    """
    from labeler.collection.layout import open_collection
    from labeler.models.choose import model_in
    from labeler.queries.generate import GenerateOptions, agenerate, aplan_generation

    to, asks = (
        output.made_from(open_collection(folder).folder),
        model_in(model, model_file, flags.assessor),
    )
    collection, control = open_collection(folder), control_of(flags)
    asked = GenerateOptions(
        *(queries, prompt, asks, base_url, samples, seed, flags.redact),
        *(limits, output.force, flags.concurrency, flags.retry_failed),
        *(passages, filters, asking, encoder),
    )
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_generation(collection, asked, control.with_stop(stop))
        )
        show_outcome(plan, show_generation_plan, output, to)
        return
    result = run_until_stopped(lambda stop: agenerate(collection, asked, control.with_stop(stop)))
    show_outcome(result, lambda written: _show(written, queries), output, to)
    result.check()


def _show(result: GenerateResult, queries: int) -> None:
    note_generated(result, queries)
    say(f"queries: {result.queries}")
