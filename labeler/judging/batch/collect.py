"""Take the answers of batches into the store, and judge by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labeler.collection.batches import (
    COLLECTED,
    PARTIAL,
    STORED,
    WRITTEN,
    BatchRecord,
    batches_folder,
    read_batches,
    reading_texts,
    remove_texts,
    write_batch,
    write_requests,
)
from labeler.collection.layout import Collection, open_collection
from labeler.errors import BadInput, LabelerError, Misuse, ProviderError
from labeler.files.read import numbered_bytes
from labeler.judging.batch.alone import alone
from labeler.judging.batch.look import (
    address_of,
    at_service,
    is_at_server,
    looked_at,
    whole_address,
)
from labeler.judging.batch.submit import adopt_unheard, asubmit
from labeler.judging.job import pool_of
from labeler.judging.result import JudgeResult
from labeler.judging.session import JudgeOptions, judge_set
from labeler.messages import count_of
from labeler.models.batch.answers import BatchRequests, Collected, store_answers
from labeler.models.batch.service import BatchService, BatchState, api_key_of, batch_service
from labeler.models.control import Control
from labeler.models.limits import Limits
from labeler.models.policies.defer import Deferral
from labeler.models.prices import batch_price, price_of
from labeler.store import open_store

WAIT_SECONDS = 60.0
MOST_LOOKS = 60
"""How often in a row `await_batches` looks again at a server that cannot be reached."""

MOST_ROUNDS = 12
"""Rounds of requests that `await_batches` hands over at most: re-asks, methods, expired batches."""


@dataclass(frozen=True, slots=True)
class CollectedBatches:
    """What came of the batches that have ended, the sets judged by it, and what is still open."""

    collected: Collected
    ended: tuple[BatchRecord, ...]
    results: tuple[JudgeResult, ...]
    open: int
    in_files: int = 0

    def advice(self) -> str:
        """What to do about the batches that are open."""
        if self.in_files == self.open:
            return "requests in a file wait for their answers; read them, or cancel"
        return "some batches are still open; collect again when they have ended"

    def sentences(self) -> Iterator[str]:
        """What was taken in, and what is left."""
        if not self.ended:
            yield "no batch has ended since the last time"
        else:
            numbers = ", ".join(str(record.number) for record in self.ended)
            got = count_of(self.collected.replies, "reply", "replies")
            yield f"batch {numbers}: {got}, {self.collected.failed:,} failed"
        asked = sum(record.requests for record in self.ended)
        if left := asked - self.collected.answered:
            waits = self.ended[-1].status == WRITTEN
            then = "read the others, or cancel" if waits else "submit asks again"
            yield f"{count_of(left, 'request has', 'requests have')} no answer: {then}"
        if self.collected.strange:
            lines = count_of(self.collected.strange, "line is", "lines are")
            yield f"{lines} about no request of these batches"
        if self.open:
            yield f"{count_of(self.open, 'batch is', 'batches are')} still open"

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "batches": [record.number for record in self.ended],
            "replies": self.collected.replies,
            "failed": self.collected.failed,
            "unanswered": sum(r.requests for r in self.ended) - self.collected.answered,
            "repeated": self.collected.repeated,
            "strange": self.collected.strange,
            "tokens": self.collected.tokens,
            "cost": self.collected.cost,
            "open": self.open,
            "sets": [result.as_json() for result in self.results],
        }


async def acollect(
    collection: Collection | Path | str,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take the answers of the batches that have ended into the store, and judge their sets by them.

    Nothing is asked. A pair whose request has no answer has no grade.
    """
    opened, control = open_collection(collection), control or Control()
    limits, collected, ended = limits or Limits(), Collected(), list[BatchRecord]()
    if any(is_at_server(record) for record in read_batches(opened)):
        with alone(opened):
            records = read_batches(opened)
            async with batch_service(address_of(records, base_url)) as service:
                await adopt_unheard(opened, service)
                for record in at_service(opened, service):
                    state = await looked_at(opened, record, service)
                    if state.has_ended:
                        if state.problem:
                            control.note(f"{record}: {state.status}: {state.problem}")
                        collected.add(await _downloaded(opened, record, state, service, limits))
                        ended.append(_close(opened, record))
    return await _judged(opened, (collected, ended), (base_url, limits), control)


async def aread_answers(
    collection: Collection | Path | str,
    answers: Path,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> CollectedBatches:
    """Take in a file of answers to the requests that were written into a file."""
    opened, control, limits = open_collection(collection), control or Control(), limits or Limits()
    collected, ended, taken = Collected(), list[BatchRecord](), Collected()
    with alone(opened):
        records = [record for record in read_batches(opened) if record.status == WRITTEN]
        if not records:
            problem = "no batch was written into a file that waits for answers"
            raise Misuse(problem, parameter="batch")
        for record in records:
            taken = _stored(opened, record, answers, limits)
            if taken.answered:
                collected.add(taken)
                ended.append(_close_answered(opened, record, taken))
    if not ended:
        about = f": {taken.problem}" if taken.problem else ""
        raise BadInput(f"{answers}: no line of it answers a request that was written{about}")
    return await _judged(opened, (collected, ended), (base_url, limits), control)


async def await_batches(
    collection: Collection | Path | str,
    options: JudgeOptions,
    control: Control | None = None,
    every: float = WAIT_SECONDS,
) -> CollectedBatches:
    """Hand over what nobody has answered, wait, collect, and again, until all is answered.

    Batches that were submitted before are waited for, too; files that somebody else has answered
    are not. Each look is `every` seconds after the last.
    """
    control, opened = control or Control(), open_collection(collection)
    total, ended, result = Collected(), list[BatchRecord](), None
    sets: dict[str, JudgeResult] = {}
    for _ in range(MOST_ROUNDS):
        submitted = await asubmit(opened, options, control)
        if not (submitted.batches or submitted.waiting):
            break
        while True:
            result = await _collected_patiently(opened, options, control, every)
            total.add(result.collected)
            ended += result.ended
            sets |= {judged.name: judged for judged in result.results}
            if result.open == result.in_files or control.stop.is_over:
                break
            await control.stop.sleep(every)
        if control.stop.is_over or not (submitted.batches or result.ended):
            break
    left = (result.open, result.in_files) if result else (0, 0)
    return CollectedBatches(total, tuple(ended), tuple(sets.values()), *left)


async def _collected_patiently(
    collection: Collection, options: JudgeOptions, control: Control, every: float
) -> CollectedBatches:
    """What `acollect` gives, while a server that cannot be reached is looked for some times."""
    for _ in range(MOST_LOOKS):
        try:
            return await acollect(collection, options.base_url, options.limits, control)
        except ProviderError as error:
            if control.stop.is_over:
                raise
            control.note(f"{error}; another look follows")
            await control.stop.sleep(every)
    return await acollect(collection, options.base_url, options.limits, control)


async def _downloaded(
    collection: Collection,
    record: BatchRecord,
    state: BatchState,
    service: BatchService,
    limits: Limits,
) -> Collected:
    """What the files of a batch that has ended hold, taken into the store."""
    collected = Collected()
    with TemporaryDirectory(dir=batches_folder(collection), prefix=PARTIAL) as folder:
        for number, file_id in enumerate(state.files):
            path = Path(folder) / f"answers.{number}.jsonl"
            await service.download(file_id, path)
            collected.add(_stored(collection, record, path, limits))
    return collected


def _stored(collection: Collection, record: BatchRecord, path: Path, limits: Limits) -> Collected:
    price = price_of(record.server, record.model, limits.prices)
    price = batch_price(price, record.server) if price else None
    with reading_texts(collection, record.number) as texts:
        asked = BatchRequests(record.model_id, record.server, texts, price, api_key_of())
        with open_store(collection.store, redacted=record.redact) as store:
            return store_answers((line for _, line in numbered_bytes(path)), asked, store)


def _close(collection: Collection, record: BatchRecord) -> BatchRecord:
    """Note that a batch's answers are in the store."""
    closed = replace(record, status=STORED)
    write_batch(collection, closed)
    remove_texts(collection, record.number)
    return closed


def _close_answered(collection: Collection, record: BatchRecord, taken: Collected) -> BatchRecord:
    """Note which requests of a file have their answers; the others wait for another file."""
    with reading_texts(collection, record.number) as texts:
        left = [key for key in texts if key not in taken.keys]
        if not left:
            return _close(collection, record)
        write_requests(collection, record.number, ((key, texts[key]) for key in left))
    write_batch(collection, replace(record, requests=len(left)))
    return record


async def _judged(
    collection: Collection,
    taken: tuple[Collected, list[BatchRecord]],
    how: tuple[str | None, Limits],
    control: Control,
) -> CollectedBatches:
    """Judge the sets of the batches that have ended, by what the store holds alone."""
    (collected, ended), (base_url, limits) = taken, how
    stored = [record for record in read_batches(collection) if record.status == STORED]
    results, problems = [], list[LabelerError]()
    for record in {record.name: record for record in (*ended, *stored)}.values():
        options = JudgeOptions(
            record.prompt,
            record.model,
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
        for batch in stored:
            if batch.name == record.name:
                write_batch(collection, replace(batch, status=COLLECTED))
    if problems:
        raise type(problems[0])(f"{problems[0]}; the replies of its batch are in the store")
    left = [record.status for record in read_batches(collection) if record.is_open]
    counts = len(left), left.count(WRITTEN)
    return CollectedBatches(collected, tuple(ended), tuple(results), *counts)
