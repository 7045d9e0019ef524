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
    from labeler.collection.user_files import Output
    from labeler.judging.judge import JudgeOptions
    from labeler.models.control import Control
    from labeler.models.policies.call import StopSignal
    from labeler.scale.batch.collect import CollectedBatches
    from labeler.scale.batch.look import Batches
    from labeler.scale.batch.submit import Submitted

BATCH = "Batch"
Act = Literal["submit", "status", "collect", "cancel", "forget", "clear", "wait", "write", "read"]


@dataclass(frozen=True, slots=True)
class BatchFlags:
    """What to do by batches, and the file where no server is asked."""

    batch: Annotated[
        Act | None,
        typer.Option(
            help="The Batch API, at half of OpenAI's price: submit what has no answer, see its "
            "status, collect what has ended, cancel; wait does all. forget gives up what cannot be "
            "collected; clear removes collected files there. write and read: by files.",
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


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """What is done by batches, with which settings, and how it is shown."""

    collection: Collection
    asked: JudgeOptions
    flags: BatchFlags
    control: Control
    output: OutputFlags
    to: Output | None

    def run(self, *, dry_run: bool = False) -> None:
        """Do what was asked for, print what came of it, and end as judging does."""
        self.flags.check()
        if dry_run:
            self._plan()
        elif self.flags.batch in {"submit", "write"}:
            self._hand_over()
        elif self.flags.batch in {"status", "cancel", "forget", "clear"}:
            self._look()
        else:
            self._take_in()

    def _plan(self) -> None:
        from labeler.judging.judge import aplan_judging
        from labeler.models.policies.call import Deferral

        if self.flags.batch not in {"submit", "wait", "write"}:
            raise Misuse("nothing would be asked", parameter="dry_run")
        asked = replace(self.asked, deferral=Deferral(is_live=False))
        plan = run_until_stopped(
            lambda stop: aplan_judging(self.collection, asked, self.control.with_stop(stop))
        )
        show_outcome(plan, show_judging_plan, self.output, self.to)

    def _hand_over(self) -> None:
        from labeler.scale.batch.submit import asubmit, awrite_requests

        def work(stop: StopSignal) -> Coroutine[Any, Any, Submitted]:
            watched = self.control.with_stop(stop)
            if self.flags.batch == "submit":
                return asubmit(self.collection, self.asked, watched)
            file = self.output.written_to(self.flags.batch_file or Path())
            return awrite_requests(self.collection, self.asked, file, watched)

        submitted = run_until_stopped(work)
        show_outcome(submitted, _show_submitted, self.output, self.to)
        if submitted.stopped:
            raise submitted.stopped

    def _look(self) -> None:
        from labeler.scale.batch.look import abatches, acancel, aclear, aforget

        acts = {"status": abatches, "cancel": acancel, "forget": aforget, "clear": aclear}
        act = acts[self.flags.batch or "status"]
        batches = run_until_stopped(lambda _stop: act(self.collection, self.asked.base_url))
        show_outcome(batches, _show_batches, self.output, self.to)

    def _take_in(self) -> None:
        from labeler.scale.batch.collect import acollect, aread_answers, await_batches

        at = self.asked.base_url, self.asked.limits

        def work(stop: StopSignal) -> Coroutine[Any, Any, CollectedBatches]:
            watched = self.control.with_stop(stop)
            if self.flags.batch == "wait":
                return await_batches(self.collection, self.asked, watched)
            if self.flags.batch == "read":
                file = self.flags.batch_file or Path()
                return aread_answers(self.collection, file, *at, watched)
            return acollect(self.collection, *at, watched)

        collected = run_until_stopped(work)
        show_outcome(collected, _show_collected, self.output, self.to)
        _check_collected(collected)


def _show_submitted(submitted: Submitted) -> None:
    say(submitted.sentence())
    if submitted.batches:
        most = dollars(submitted.spent.cost) if submitted.is_priced else "unknown"
        say(f"cost at most: {most}")
        is_file = submitted.batches[0].status == "written"
        note("next: " + ("--batch read with the answers" if is_file else "--batch collect"))


def _show_batches(batches: Batches) -> None:
    if batches.records:
        show([batches.table()])
    else:
        say("no batches")


def _check_collected(collected: CollectedBatches) -> None:
    """Raise where a batch cannot be collected, a pair has no grade, or a batch is open."""
    for result in collected.results:
        if result.failed and not collected.open:
            note("next: --batch submit asks for what is missing; so does judging without --batch")
    if collected.problems:
        raise collected.problems[0]
    for result in collected.results:
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
