"""`labeler runs rerank`: a run with its first documents in the order of a model that reads them."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import OUTPUT, Folder, OutputFlags
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_calls, show_outcome
from labeler.cli.screen import note, say
from labeler.cli.signals import run_until_stopped
from labeler.collection.layout import open_collection
from labeler.errors import Misuse
from labeler.messages import cost_of
from labeler.options import REQUIRED, option
from labeler.runs.rerank import RerankOptions, RerankResult, aplan_rerank, arerank


def command(
    folder: Folder,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run of the collection by its name, or a file.")
    ],
    *,
    name: str = option(REQUIRED, "The new run's name.", flags="--as", panel=OUTPUT),
    options: RerankOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Put the first documents of a run in the order of an LLM or a cross-encoder.

    An LLM sees a window of them at a time. What was answered or scored is kept: run again, only
    the rest is asked for.
    """
    collection = open_collection(folder)
    to, control = output.made_from(collection.folder), control_of(flags)
    if options.cross_encoder and (who.model or who.assessor or who.base_url or flags.dry_run):
        problem = "a cross-encoder asks nobody; it goes with no model, address or dry run"
        raise Misuse(problem, parameter="cross_encoder")
    how = who.asking(options, force=output.force)
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
