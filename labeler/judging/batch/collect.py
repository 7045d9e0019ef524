"""Take the answers of batches into the store, and judge by them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from labeler.collection.batches import (
    COLLECTED,
    STORED,
    WRITTEN,
    BatchRecord,
    read_batches,
    reading_texts,
    write_batch,
    write_requests,
)
from labeler.collection.layout import Collection, open_collection
from labeler.errors import BadInput, LabelerError, Misuse, NotFound
from labeler.judging.batch.alone import alone
from labeler.judging.batch.answers import ShortAnswers, close, downloaded, stored
from labeler.judging.batch.collected import CollectedBatches, Taken
from labeler.judging.batch.leftovers import adopt_unheard, remove_collected_requests
from labeler.judging.batch.look import (
    at_service,
    is_at_server,
    looked_at,
    server_of_batches,
    whole_address,
)
from labeler.judging.job import pool_of
from labeler.judging.session import JudgeOptions, judge_set
from labeler.messages import count_of
from labeler.models.batch.answers import Collected
from labeler.models.batch.service import BatchService, batch_service
from labeler.models.control import Control
from labeler.models.limits import Limits
from labeler.models.policies.defer import Deferral
from labeler.wire.gate import USUAL


async def acollect(
    collection: Collection | Path | str,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take the answers of the batches that have ended into the store, and judge their sets by them.

    Nothing is asked. A pair whose request has no answer has no grade. A batch that cannot be
    collected stops no other; where none else has ended, its problem is raised.
    """
    result = await collected(collection, base_url, limits, control)
    if result.problems and not result.results:
        raise result.problems[0]
    return result


async def collected(
    collection: Collection | Path | str,
    base_url: str | None,
    limits: Limits | None,
    control: Control | None,
) -> CollectedBatches:
    """What `acollect` returns, with what it may raise among its problems."""
    opened, control = open_collection(collection), control or Control()
    limits, taken = limits or Limits(), Taken()
    if any(is_at_server(record) or record.file_id for record in read_batches(opened)):
        with alone(opened):
            records = read_batches(opened)
            async with batch_service(server_of_batches(opened, records, base_url)) as service:
                await adopt_unheard(opened, service)
                for record in at_service(opened, service):
                    await _take(opened, record, (service, limits), control, taken)
                await remove_collected_requests(opened, service, control.note)
    return await _judged(opened, taken, (base_url, limits), control)


async def _take(
    collection: Collection,
    record: BatchRecord,
    how: tuple[BatchService, Limits],
    control: Control,
    taken: Taken,
) -> None:
    """Take in a batch that has ended."""
    service, limits = how
    try:
        state = await looked_at(collection, record, service)
        if not state.has_ended:
            return
        if state.problem:
            control.note(f"{record}: {state.status}: {state.problem}")
        if 0 < state.total < record.requests:
            asked = f"{state.total:,} of {count_of(record.requests, 'request', 'requests')}"
            control.note(f"{record}: the server knows {asked}; submit asks the others again")
        taken.collected.add(await downloaded(collection, record, state, service, limits))
    except (NotFound, ShortAnswers) as problem:
        taken.problems.append(problem)
    else:
        taken.ended.append(close(collection, record))


async def aread_answers(
    collection: Collection | Path | str,
    answers: Path,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take in a file of answers to the requests that were written into a file."""
    opened, control, limits = open_collection(collection), control or Control(), limits or Limits()
    taken, part = Taken(), Collected()
    with alone(opened):
        records = [record for record in read_batches(opened) if record.status == WRITTEN]
        if not records:
            problem = "no batch was written into a file that waits for answers"
            raise Misuse(problem, parameter="batch")
        for record in records:
            part = stored(opened, record, answers, limits, os.environ.get(USUAL, ""))
            if part.answered:
                taken.collected.add(part)
                taken.ended.append(_close_answered(opened, record, part))
    if not taken.ended:
        about = f": {part.problem}" if part.problem else ""
        raise BadInput(f"{answers}: no line of it answers a request that was written{about}")
    return await _judged(opened, taken, (base_url, limits), control)


def _close_answered(collection: Collection, record: BatchRecord, taken: Collected) -> BatchRecord:
    """Note which requests of a file have their answers; the others wait for another file."""
    with reading_texts(collection, record.number) as texts:
        left = [key for key in texts if key not in taken.keys]
        if not left:
            return close(collection, record)
        write_requests(collection, record.number, ((key, texts[key]) for key in left))
    write_batch(collection, replace(record, requests=len(left)))
    return record


async def _judged(
    collection: Collection,
    taken: Taken,
    how: tuple[str | None, Limits],
    control: Control,
) -> CollectedBatches:
    """Judge the sets of the batches that have ended, by what the store holds alone."""
    base_url, limits = how
    unjudged = [record for record in read_batches(collection) if record.status == STORED]
    results, problems = [], list[LabelerError]()
    for record in {record.name: record for record in (*taken.ended, *unjudged)}.values():
        options = JudgeOptions(
            record.prompt,
            replace(record.declared, model=record.model),
            whole_address(record.server, base_url),
            record.name,
            redact=record.redact,
            limits=replace(limits, max_calls=None, max_tokens=None, max_cost=None),
            deferral=Deferral(is_live=False),
        )
        try:
            results.append(await judge_set(collection, pool_of, options, control))
        except (BadInput, Misuse) as error:  # that one set cannot be judged stops no other
            problems.append(error)
            continue
        for batch in unjudged:
            if batch.name == record.name:
                write_batch(collection, replace(batch, status=COLLECTED))
    if problems:
        raise type(problems[0])(f"{problems[0]}; the replies of its batch are in the store")
    left = [record.status for record in read_batches(collection) if record.is_open]
    counts = len(left), left.count(WRITTEN)
    ended = tuple(taken.ended)
    return CollectedBatches(taken.collected, ended, tuple(results), *counts, tuple(taken.problems))
