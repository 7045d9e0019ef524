"""`labeler runs rerank`: a run with its first documents in the order of a model that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import model_options, options
from labeler.cli.numbers import COUNT, number
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_calls, show_outcome
from labeler.cli.screen import note, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse
from labeler.messages import cost_of
from labeler.models.settings import Limits

if TYPE_CHECKING:
    from labeler.runs.rerank import RerankResult

WINDOWS = "What the model is shown"


def command(
    folder: options.Folder,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run of the collection by its name, or a file.")
    ],
    *,
    name: Annotated[
        str, typer.Option("--as", help="The new run's name.", rich_help_panel=options.OUTPUT)
    ],
    cross_encoder: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="A cross-encoder in ONNX, in place of an LLM.",
            rich_help_panel=options.MODEL,
        ),
    ] = "",
    prompt: Annotated[
        str, typer.Option(help="A prompt's name, or a file's path.", rich_help_panel=WINDOWS)
    ] = "rerank",
    depth: Annotated[int, number(COUNT, help="Documents to order.", rich_help_panel=WINDOWS)] = 50,
    window: Annotated[
        int, number(COUNT, help="Documents of each call.", rich_help_panel=WINDOWS)
    ] = 20,
    step: Annotated[
        int, number(COUNT, help="By how many the window moves.", rich_help_panel=WINDOWS)
    ] = 10,
    words: Annotated[
        int, number(COUNT, "--shown-words", help="Words of each document.", rich_help_panel=WINDOWS)
    ] = 150,
    model: model_options.ModelName = None,
    base_url: model_options.BaseUrl = None,
    limits: Limits,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Put the first documents of a run in the order of an LLM or a cross-encoder.

    An LLM sees a window of them at a time. What was answered or scored is kept: run again, only
    the rest is asked for.
    """
    from labeler.collection.layout import open_collection
    from labeler.models.choose import model_in
    from labeler.runs.rerank import RerankOptions, Windows, aplan_rerank, arerank

    collection = open_collection(folder)
    to, control = output.made_from(collection.folder), control_of(flags)
    asks = model_in(model, None, flags.assessor)
    if cross_encoder and (asks or base_url or flags.dry_run):
        problem = "a cross-encoder asks nobody; it goes with no model, address or dry run"
        raise Misuse(problem, parameter="cross_encoder")
    how = RerankOptions(
        *(prompt, asks, base_url, cross_encoder, Windows(depth, window, step, words), limits),
        *(flags.concurrency, flags.redact, output.force, flags.retry_failed),
    )
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_rerank(collection, run, how, control.with_stop(stop))
        )
        show_outcome(plan, show_calls, output, to)
        return
    result = run_until_stopped(
        lambda stop: arerank(collection, run, name, how, control.with_stop(stop))
    )
    show_outcome(result, _show, output, to)


def _show(result: RerankResult) -> None:
    say(f"{result.documents:,} documents of {result.queries:,} queries")
    if result.windows:
        spent = result.spent
        costs = spent.dollars(is_priced=result.is_priced)
        say(f"windows ordered: {result.windows - result.untouched:,} of {result.windows:,}")
        say(f"cost of this run: {cost_of(*costs)}; calls: {spent.calls:,}")
    if result.untouched:
        note(f"{result.untouched:,} windows kept their order: no reply was an order of them")
    note(f"wrote {result.run}")
