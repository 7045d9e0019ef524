"""Take the answers of batches into the store, and judge by them."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labeler.collection.batches import (
    COLLECTED,
    STORED,
    WRITTEN,
    BatchRecord,
    read_batches,
    read_requests,
    write_batch,
    write_requests,
)
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.errors import BadInput, LabelerError, Misuse, NotFound, ProviderError
from labeler.judging.job import JudgeResult, pool_of
from labeler.judging.judge import JudgeOptions, judge_set
from labeler.messages import count_of
from labeler.models.batch.answers import Collected
from labeler.models.batch.service import BatchService, batch_service
from labeler.models.policies.call import Deferral
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.report.result import Result
from labeler.scale.batch.look import (
    ShortAnswers,
    adopt_unheard,
    alone,
    at_service,
    close,
    downloaded,
    is_at_server,
    looked_at,
    remove_collected_requests,
    server_of_batches,
    stored,
    whole_address,
)
from labeler.scale.batch.submit import asubmit
from labeler.wire.gate import USUAL

# What came of collecting batches.


@dataclass(frozen=True, eq=False, repr=False)
class CollectedBatches(Result):
    """What came of the batches that have ended, the sets judged by it, and what is still open.

    `problems` say of open batches why they cannot be collected; of these, `lost` are not known to
    their server, or their answers are not.
    """

    collected: Collected
    ended: Sequence[BatchRecord]
    results: Sequence[JudgeResult]
    open: int
    in_files: int = 0
    problems: Sequence[LabelerError] = ()

    @property
    def lost(self) -> int:
        """How many batches are not known to their server, or their answers are not."""
        return sum(isinstance(problem, NotFound) for problem in self.problems)

    def advice(self) -> str:
        """What to do about the batches that are open."""
        if self.in_files == self.open:
            return "requests in a file wait for their answers; read them, or cancel"
        return "some batches are still open; collect again when they have ended"

    @property
    def sentences(self) -> list[str]:
        """What was taken in, and what is left."""
        taken, lines = self.collected, ["no batch has ended since the last time"]
        if self.ended:
            numbers = ", ".join(str(record.number) for record in self.ended)
            got = count_of(taken.replies, "reply", "replies")
            lines = [f"batch {numbers}: {got}, {taken.failed:,} failed"]
        if left := sum(record.requests for record in self.ended) - taken.answered:
            waits = self.ended[-1].status == WRITTEN
            then = "read the others, or cancel" if waits else "submit asks again"
            lines.append(f"{count_of(left, 'request has', 'requests have')} no answer: {then}")
        if taken.strange:
            strange = count_of(taken.strange, "line is", "lines are")
            lines.append(f"{strange} about no request of these batches")
        lines += map(str, self.problems[1:])  # the first is raised by who shows these
        if self.open:
            lines.append(f"{count_of(self.open, 'batch is', 'batches are')} still open")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        counts = ("replies", "failed", "repeated", "strange", "tokens", "cost")
        return self.picked(
            *("open", "problems"),
            **{name: getattr(self.collected, name) for name in counts},
            batches=[record.number for record in self.ended],
            unanswered=sum(r.requests for r in self.ended) - self.collected.answered,
            sets=self.results,
        )


@dataclass(slots=True)
class Taken:
    """What was taken in, of which batches, the sets judged by it, and why others could not be.

    The first three say where and within which limits.
    """

    base_url: str | None
    limits: Limits
    control: Control
    collected: Collected = field(default_factory=Collected)
    ended: list[BatchRecord] = field(default_factory=list)
    problems: list[LabelerError] = field(default_factory=list)
    sets: dict[str, JudgeResult] = field(default_factory=dict)

    def result(self, collection: Collection) -> CollectedBatches:
        """All that, and what is open now."""
        left = [record.status for record in read_batches(collection) if record.is_open]
        results, problems = tuple(self.sets.values()), tuple(self.problems)
        return CollectedBatches(
            self.collected, tuple(self.ended), results, len(left), left.count(WRITTEN), problems
        )


async def acollect(
    collection: AnyCollection,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take the answers of the batches that have ended into the store, and judge their sets by them.

    Nothing is asked. A pair whose request has no answer has no grade. A batch that cannot be
    collected stops no other; where none else has ended, its problem is raised.
    """
    taken = Taken(base_url, limits or Limits(), control or Control())
    result = await _collected(open_collection(collection), taken)
    if result.problems and not result.results:
        raise result.problems[0]
    return result


async def _collected(collection: Collection, taken: Taken) -> CollectedBatches:
    """What `acollect` returns, with what it may raise among its problems, and what was `taken`."""
    taken.problems = []
    if any(is_at_server(record) or record.file_id for record in read_batches(collection)):
        with alone(collection):
            async with batch_service(server_of_batches(collection, taken.base_url)) as service:
                await adopt_unheard(collection, service)
                for record in at_service(collection, service):
                    await _take(collection, record, service, taken)
                await remove_collected_requests(collection, service, taken.control.note)
    return await _judged(collection, taken)


async def _take(
    collection: Collection, record: BatchRecord, service: BatchService, taken: Taken
) -> None:
    """Take in a batch that has ended."""
    try:
        state = await looked_at(collection, record, service)
        if not state.has_ended:
            return
        if state.problem:
            taken.control.note(f"{record}: {state.status}: {state.problem}")
        taken.collected.add(await downloaded(collection, record, state, service))
    except (NotFound, ShortAnswers) as problem:
        taken.problems.append(problem)
    else:
        taken.ended.append(close(collection, record))


async def aread_answers(
    collection: AnyCollection,
    answers: Path,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take in a file of answers to the requests that were written into a file."""
    opened, problem = open_collection(collection), ""
    taken = Taken(base_url, limits or Limits(), control or Control())
    with alone(opened):
        records = [record for record in read_batches(opened) if record.status == WRITTEN]
        if not records:
            raise Misuse(
                "no batch was written into a file that waits for answers", parameter="batch"
            )
        for record in records:
            part = stored(opened, record, answers, os.environ.get(USUAL, ""))
            problem = part.problem
            if part.answered:
                taken.collected.add(part)
                taken.ended.append(_close_answered(opened, record, part.keys))
    if not taken.ended:
        about = f": {problem}" if problem else ""
        raise BadInput(f"{answers}: no line of it answers a request that was written{about}")
    return await _judged(opened, taken, taken.ended)


def _close_answered(collection: Collection, record: BatchRecord, keys: Set[bytes]) -> BatchRecord:
    """Note which requests of a file have their answers; the others wait for another file."""
    texts = read_requests(collection, record.number)
    left = texts.keys() - keys
    if not left:
        return close(collection, record)
    write_requests(collection, record.number, ((key, texts[key]) for key in texts if key in left))
    write_batch(collection, replace(record, requests=len(left)))
    return record


async def _judged(
    collection: Collection, taken: Taken, ended: Sequence[BatchRecord] = ()
) -> CollectedBatches:
    """Judge the sets of the batches that have ended, by what the store holds alone."""
    unjudged = [record for record in read_batches(collection) if record.status == STORED]
    problem: LabelerError | None = None
    for record in {record.name: record for record in (*ended, *unjudged)}.values():
        options = JudgeOptions(
            record.prompt,
            replace(record.declared, model=record.model),
            whole_address(record.server, taken.base_url),
            record.name,
            redact=record.redact,
            limits=replace(taken.limits, max_calls=None, max_tokens=None, max_cost=None),
            deferral=Deferral(is_live=False),
        )
        try:
            taken.sets[record.name] = await judge_set(collection, pool_of, options, taken.control)
        except (BadInput, Misuse) as error:  # that one set cannot be judged stops no other
            problem = problem or error
            continue
        for batch in unjudged:
            if batch.name == record.name:
                write_batch(collection, replace(batch, status=COLLECTED))
    if problem:
        raise type(problem)(f"{problem}; the replies of its batch are in the store")
    return taken.result(collection)


# Judge by batches to the end: hand over, wait, collect, and again.

WAIT_SECONDS = 60.0
MOST_LOOKS = 60
"""How often in a row `await_batches` looks again at a server that cannot be reached."""

SHORT_LOOKS = 10
"""How often in a row `await_batches` looks again for answers that a server counts and lacks."""

MOST_ROUNDS = 12
"""Rounds of requests that `await_batches` hands over at most: re-asks, methods, expired batches."""


async def await_batches(
    collection: AnyCollection,
    options: JudgeOptions,
    control: Control | None = None,
    every: float = WAIT_SECONDS,
) -> CollectedBatches:
    """Hand over what nobody has answered, wait, collect, and again, until all is answered.

    Batches that were submitted before are waited for, too; files that somebody else has answered
    are not. Each look is `every` seconds after the last.
    """
    control, opened = control or Control(), open_collection(collection)
    taken = Taken(options.base_url, options.limits, control)
    for _ in range(MOST_ROUNDS):
        submitted, before = await asubmit(opened, options, control), len(taken.ended)
        if not (submitted.batches or submitted.waiting):
            break
        await _round_ends(opened, taken, every)
        if control.stop.is_over or not (submitted.batches or len(taken.ended) > before):
            break
    return taken.result(opened)


async def _round_ends(collection: Collection, taken: Taken, every: float) -> None:
    """Look until no batch is open but those that are not waited for.

    A server that cannot be reached is looked for some times, and so are answers that it counts.
    """
    control, failed_looks, short_looks = taken.control, 0, 0
    while True:
        try:
            result = await _collected(collection, taken)
        except ProviderError as error:
            failed_looks += 1
            if control.stop.is_over or failed_looks > MOST_LOOKS:
                raise
            control.note(f"{error}; another look follows")
        else:
            failed_looks = 0
            is_short = result.open == result.in_files + len(result.problems)
            short_looks = short_looks + 1 if is_short else 0
            is_done = result.open == result.in_files + result.lost or short_looks >= SHORT_LOOKS
            if is_done or control.stop.is_over:
                return
        await control.stop.sleep(every)
