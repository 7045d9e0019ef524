"""`judge --batch`: requests handed over in files, and their answers taken in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from labeler.cli.output import show
from labeler.cli.reporting import check_complete, show_judging, show_judging_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import Incomplete, Misuse
from labeler.messages import dollars

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from labeler.cli.options import OutputFlags
    from labeler.collection.layout import Collection
    from labeler.collection.outputs import Output
    from labeler.judging.batch.collect import CollectedBatches
    from labeler.judging.batch.look import Batches
    from labeler.judging.batch.submit import Submitted
    from labeler.judging.session import JudgeOptions
    from labeler.models.control import Control
    from labeler.models.policies.stop import StopSignal

BATCH = "Batch"
Act = Literal["submit", "status", "collect", "cancel", "wait", "write", "read"]


@dataclass(frozen=True, slots=True)
class BatchFlags:
    """What to do by batches, and the file where no server is asked."""

    batch: Annotated[
        Act | None,
        typer.Option(
            help="The Batch API, at half of OpenAI's price: submit what has no answer, see its "
            "status, collect what has ended, cancel; wait does all. write and read: by files.",
            rich_help_panel=BATCH,
        ),
    ] = None
    batch_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Requests to write (--batch write), or answers to read, as vLLM's run-batch has.",
            rich_help_panel=BATCH,
        ),
    ] = None

    def check(self) -> None:
        """`Misuse` where the file is missing, or of no use."""
        needs_file = self.batch in {"write", "read"}
        if needs_file and self.batch_file is None:
            problem = f"{self.batch} needs the file of the {_HOLDS[self.batch or '']}"
            raise Misuse(problem, parameter="batch_file")
        if self.batch_file is not None and not needs_file:
            problem = "it names the file of write or read, and neither was asked for"
            raise Misuse(problem, parameter="batch_file")


_HOLDS = {"write": "requests", "read": "answers"}


def judge_by_batches(
    collection: Collection,
    asked: JudgeOptions,
    flags: BatchFlags,
    control: Control,
    shown: tuple[bool, OutputFlags, Output | None],
) -> None:
    """Do what was asked for, print what came of it, and end as judging does."""
    dry_run, output, to = shown
    flags.check()
    if dry_run:
        _plan(collection, asked, flags, control, (output, to))
    elif flags.batch in {"submit", "write"}:
        _hand_over(collection, asked, flags, control, (output, to))
    elif flags.batch in {"status", "cancel"}:
        _look(collection, asked, flags, (output, to))
    else:
        _take_in(collection, asked, flags, control, (output, to))


def _plan(
    collection: Collection,
    asked: JudgeOptions,
    flags: BatchFlags,
    control: Control,
    shown: tuple[OutputFlags, Output | None],
) -> None:
    from labeler.judging.judge import aplan_judging
    from labeler.models.policies.defer import Deferral

    if flags.batch not in {"submit", "wait", "write"}:
        raise Misuse("nothing would be asked", parameter="dry_run")
    asked = replace(asked, deferral=Deferral(is_live=False))
    plan = run_until_stopped(lambda stop: aplan_judging(collection, asked, control.with_stop(stop)))
    show_outcome(plan, show_judging_plan, *shown)


def _hand_over(
    collection: Collection,
    asked: JudgeOptions,
    flags: BatchFlags,
    control: Control,
    shown: tuple[OutputFlags, Output | None],
) -> None:
    from labeler.judging.batch.submit import asubmit, awrite_requests

    def work(stop: StopSignal) -> Coroutine[Any, Any, Submitted]:
        watched = control.with_stop(stop)
        if flags.batch == "submit":
            return asubmit(collection, asked, watched)
        file = shown[0].written_to(flags.batch_file or Path())
        return awrite_requests(collection, asked, file, watched)

    submitted = run_until_stopped(work)
    show_outcome(submitted, _show_submitted, *shown)
    if submitted.stopped:
        raise submitted.stopped


def _show_submitted(submitted: Submitted) -> None:
    say(submitted.sentence())
    if submitted.batches:
        most = dollars(submitted.spent.cost) if submitted.is_priced else "unknown"
        say(f"cost at most: {most}")
        is_file = submitted.batches[0].status == "written"
        note("next: " + ("--batch read with the answers" if is_file else "--batch collect"))


def _look(
    collection: Collection,
    asked: JudgeOptions,
    flags: BatchFlags,
    shown: tuple[OutputFlags, Output | None],
) -> None:
    from labeler.judging.batch.look import abatches, acancel

    act = abatches if flags.batch == "status" else acancel
    batches = run_until_stopped(lambda _stop: act(collection, asked.base_url))
    show_outcome(batches, _show_batches, *shown)


def _show_batches(batches: Batches) -> None:
    if batches.records:
        show([batches.table()])
    else:
        say("no batches")


def _take_in(
    collection: Collection,
    asked: JudgeOptions,
    flags: BatchFlags,
    control: Control,
    shown: tuple[OutputFlags, Output | None],
) -> None:
    from labeler.judging.batch.collect import acollect, aread_answers, await_batches

    at = asked.base_url, asked.limits

    def work(stop: StopSignal) -> Coroutine[Any, Any, CollectedBatches]:
        watched = control.with_stop(stop)
        if flags.batch == "wait":
            return await_batches(collection, asked, watched)
        if flags.batch == "read":
            return aread_answers(collection, flags.batch_file or Path(), *at, watched)
        return acollect(collection, *at, watched)

    collected = run_until_stopped(work)
    show_outcome(collected, _show_collected, *shown)
    for result in collected.results:
        if result.failed and not collected.open:
            note("next: --batch submit asks for what is missing; so does judging without --batch")
        check_complete(result, asked=False)
    if collected.open:
        raise Incomplete(collected.advice())


def _show_collected(collected: CollectedBatches) -> None:
    for sentence in collected.sentences():
        say(sentence)
    if collected.ended and collected.collected.cost is not None:
        say(f"cost of these batches: {dollars(collected.collected.cost)}")
    for result in collected.results:
        say(f"== {result.name}")
        show_judging(result)
