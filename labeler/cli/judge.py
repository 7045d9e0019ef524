"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli import model_options, options
from labeler.cli.progress import control_of
from labeler.cli.reporting import (
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.signals import run_until_stopped
from labeler.models.limits import Limits


@options.unfolded
def command(
    folder: options.Folder,
    *,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "umbrela",
    model: model_options.ModelName = None,
    model_file: model_options.ModelFile = None,
    base_url: model_options.BaseUrl = None,
    name: model_options.NewName = None,
    limits: Limits,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    from labeler.collection.layout import open_collection
    from labeler.judging.judge import ajudge, aplan_judging
    from labeler.judging.session import JudgeOptions
    from labeler.models.choose import model_in

    to, model = output.made_from(open_collection(folder).folder), model_in(model, model_file)
    collection, control = open_collection(folder), control_of(flags)
    settings = (flags.concurrency, flags.retry_failed, flags.redact, limits)
    asked = JudgeOptions(prompt, model, base_url, name, *settings)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_judging(collection, asked, control.with_stop(stop))
        )
        show_outcome(plan, show_judging_plan, output, to)
        return
    result = run_until_stopped(lambda stop: ajudge(collection, asked, control.with_stop(stop)))
    show_outcome(result, show_judging, output, to)
    check_complete(result)
