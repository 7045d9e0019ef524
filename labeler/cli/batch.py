"""`labeler batch`: requests handed to a provider in files, and their answers taken in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import ModelFlags, ServerFlags, ShownFlags, TakingFlags
from labeler.cli.options import MADE, Destination, Opened, argument
from labeler.cli.output import show
from labeler.cli.process import Result, run_until_stopped
from labeler.cli.reporting import (
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
    show_plan,
    watched,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import Collection
from labeler.errors import Incomplete
from labeler.judging.judge import JudgeOptions, ajudge
from labeler.messages import dollars
from labeler.models.policies.call import Deferral
from labeler.models.settings import Limits
from labeler.scale.batch.collect import CollectedBatches, acollect, aread_answers, await_batches
from labeler.scale.batch.look import Batches, abatches, acancel
from labeler.scale.batch.submit import Submitted, asubmit, awrite_requests

Requests = Annotated[
    Path,
    argument("The requests, as vLLM's run-batch reads them.", "FILE"),
    MADE,
]
Answers = Annotated[Path, argument("The answers, as vLLM's run-batch writes them.", "FILE")]


def submit(
    collection: Opened,
    *,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Hand over the pairs of the pool that have no answer."""
    _hand_over(_done(asubmit, collection, who.asking(options), flags, to), to)


def write(
    collection: Opened,
    file: Requests,
    *,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Write the requests of the pairs that have no answer, to a file."""
    act = partial(awrite_requests, to=to.written_to(file))
    _hand_over(_done(act, collection, who.asking(options), flags, to), to)


def _hand_over(submitted: Submitted, to: Destination) -> None:
    """Say which requests were handed over; raise what stopped it."""
    show_outcome(submitted, _show_submitted, to)
    if submitted.stopped:
        raise submitted.stopped


def wait(
    collection: Opened,
    *,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Submit, wait until all have ended, and collect."""
    _show_and_check(_done(await_batches, collection, who.asking(options), flags, to), to)


def status(collection: Opened, *, server: ServerFlags, to: Destination) -> None:
    """Show the batches of a collection, as their server has them now."""
    _look(abatches, collection, server, to)


def cancel(collection: Opened, *, server: ServerFlags, to: Destination) -> None:
    """Cancel the batches that have not ended, and give up those that cannot be collected."""
    _look(acancel, collection, server, to)


def collect(
    collection: Opened,
    *,
    server: ServerFlags,
    limits: Limits,
    flags: TakingFlags,
    to: Destination,
) -> None:
    """Take in the answers of the batches that have ended."""
    _show_and_check(watched(flags, partial(acollect, collection, server.base_url, limits)), to)


def read(
    collection: Opened,
    file: Answers,
    *,
    server: ServerFlags,
    limits: Limits,
    flags: TakingFlags,
    to: Destination,
) -> None:
    """Take in the answers to requests that were written to a file."""
    act = partial(aread_answers, collection, file, server.base_url, limits)
    _show_and_check(watched(flags, act), to)


def _done(
    act: Callable[..., Awaitable[Result]],
    collection: Collection,
    asked: JudgeOptions,
    flags: ShownFlags,
    to: Destination,
) -> Result:
    """What an act gives; a dry run ends with what all that waits for no batch would take."""
    if flags.dry_run:
        deferred = replace(asked, deferral=Deferral(is_live=False))
        show_plan(flags, partial(ajudge, collection, deferred), show_judging_plan, to)
    return watched(flags, partial(act, collection, asked))


def _look(
    act: Callable[[Collection, str | None], Awaitable[Batches]],
    collection: Collection,
    server: ServerFlags,
    to: Destination,
) -> None:
    batches = run_until_stopped(lambda _stop: act(collection, server.base_url))
    shown = batches.batches if batches.records else "no batches"
    show_outcome(batches, lambda _: show([shown]), to)


def _show_submitted(submitted: Submitted) -> None:
    say(submitted.sentence())
    if submitted.batches:
        most = dollars(submitted.spent.cost) if submitted.is_priced else "unknown"
        say(f"cost at most: {most}")
        is_file = submitted.batches[0].status == "written"
        note(f"next: labeler batch {'read, with the answers' if is_file else 'collect'}")


def _show_and_check(collected: CollectedBatches, to: Destination) -> None:
    """Show it; raise where a batch cannot be collected, a pair has no grade, or a batch is open."""
    show_outcome(collected, _show_collected, to)
    for result in collected.results:
        if result.failed and not collected.open:
            note("next: labeler batch submit asks for what is missing; so does labeler judge")
    if collected.problems:
        raise collected.problems[0]
    for result in collected.results:
        check_complete(result, asked=False)
    if collected.open:
        raise Incomplete(collected.advice())


def _show_collected(collected: CollectedBatches) -> None:
    for sentence in collected.sentences:
        say(sentence)
    if collected.ended and collected.collected.cost is not None:
        say(f"cost of these batches: {dollars(collected.collected.cost)}")
    for result in collected.results:
        say(f"== {result.name}")
        show_judging(result)
