"""Judge partitions: what a worker does, whoever started it and wherever it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.lock import POLL_SECONDS, is_acquired, lock_file
from labeler.data import Document, Judged, Query
from labeler.errors import Misconfigured, Misuse, Stopped
from labeler.files.read import file_problems
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import Tally, with_suspicions
from labeler.judging.methods.examples import Examples, GradedExample
from labeler.model import Model
from labeler.models.control import Control, run_to_end
from labeler.models.cost import Price
from labeler.models.policies.call import StopSignal
from labeler.models.session import (
    Session,
    SessionOptions,
    StartedModel,
    open_source,
    select_model,
    session_on,
)
from labeler.models.settings import Limits
from labeler.prompt import Prompt
from labeler.scale.batch.look import whole_address
from labeler.scale.partitions.folder import (
    PartitionedJob,
    PartitionFolder,
    PartitionPairs,
    read_judged,
    read_pairs,
    write_judged,
)
from labeler.store import StorePlace, open_store
from labeler.store.keys import share_secret
from labeler.wire.addresses import Place, masked
from labeler.wire.gate import admit, check_named

# What a worker may take of a server and of an account, where several share both.


@dataclass(frozen=True, slots=True)
class Share:
    """How one worker judges: within which limits, and with how many calls at once.

    `model` is needed where the partitions were written for a model that is an object; `price` is
    that of a server's model, where it is known. With `retry_failed`, pairs are asked about again
    where a reply was no grade. `named` are the addresses, of the model's server and of a database,
    that whoever started the worker named; others, which the folder alone names, have to be trusted
    on the worker's machine.
    """

    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = None
    price: Price | None = None
    retry_failed: bool = False
    model: Model | None = None
    named: tuple[str, ...] = ()


def share_of(limits: Limits, concurrency: int | None, workers: int) -> Share:
    """An equal share of what all workers may take together: rates, calls at once, and budgets.

    >>> share_of(Limits(rpm=600, max_calls=1000), 64, 8).limits.rpm
    75.0
    """
    if concurrency is not None and concurrency < workers:
        problem = f"each of {workers} workers makes a call at once at least, and {concurrency} may"
        raise Misuse(f"{problem} be made; take fewer workers", parameter="workers")

    def part(whole: float | None) -> float | None:
        return None if whole is None else whole / workers

    calls, tokens = limits.max_calls, limits.max_tokens
    own = replace(
        limits,
        rpm=part(limits.rpm),
        tpm=part(limits.tpm),
        max_calls=None if calls is None else calls // workers,
        max_tokens=None if tokens is None else tokens // workers,
        max_cost=part(limits.max_cost),
    )
    return Share(own, None if concurrency is None else concurrency // workers)


class Amounts(NamedTuple):
    """Calls, tokens and dollars."""

    calls: float = 0
    tokens: float = 0
    cost: float = 0


class SharedBudget:
    """Allots a budget to workers little by little, so that all of it can be used, and no more.

    What a worker was allotted and never gave back counts as spent: it may have ended in between.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        whole = (limits.max_calls, limits.max_tokens, limits.max_cost)
        self._whole = Amounts(*(float("inf") if most is None else most for most in whole))
        self._parts = 2 * workers
        self._allotted: dict[str, Amounts] = {}

    def allot(self, worker: str, needed: Amounts) -> Amounts:
        """What a worker may spend in all from now on, where it needs so much; as before if not.

        It gets what it needs, or a share of what is left where that is more.
        """
        before = self._allotted.get(worker, Amounts())
        left = [whole - taken for whole, taken in zip(self._whole, self._taken(), strict=True)]
        more = [max(0.0, need - has) for need, has in zip(needed, before, strict=True)]
        if any(amount > rest + 1e-12 for amount, rest in zip(more, left, strict=True)):
            return before
        shares = [0.0 if rest == float("inf") else rest / self._parts for rest in left]
        shares[:2] = [share // 1 for share in shares[:2]]
        sizes = [max(pair) if pair[0] else 0.0 for pair in zip(more, shares, strict=True)]
        now = Amounts(*(has + size for has, size in zip(before, sizes, strict=True)))
        self._allotted[worker] = now
        return now

    def _taken(self) -> Amounts:
        return Amounts(*(sum(amounts) for amounts in zip(*self._allotted.values(), strict=True)))

    def give_back(self, worker: str, spent: Amounts) -> None:
        """Take back what a worker has not spent."""
        self._allotted[worker] = spent


@dataclass(frozen=True, slots=True)
class JudgedPartition:
    """What came of a partition: how many pairs have a grade, and how the others failed."""

    number: int
    pairs: int
    judged: int
    failures: dict[str, int]

    @classmethod
    def of(cls, number: int, judged: Iterator[Judged] | list[Judged]) -> JudgedPartition:
        """The counts of the judgements of a partition."""
        tally = Tally()
        for each in judged:
            tally.add(each)
        return cls(number, tally.pairs, tally.judged, tally.failures_by_status)

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        counts = {"pairs": self.pairs, "judged": self.judged, "failures": self.failures}
        return {"partition": self.number, **counts}


def judge_partition(
    folder: PartitionFolder | Path | str,
    number: int,
    share: Share | None = None,
    control: Control | None = None,
) -> JudgedPartition:
    """Judge a partition of a folder, and write its judgements, unless they are there already.

    This is all that a worker of any scheduler has to call. Replies are kept in the folder as they
    arrive: the same call, made again, asks only for what is missing. The model's key comes from
    this machine's environment. `share_of` says what is a fair part of limits.

    >>> from tempfile import mkdtemp
    >>> from labeler import JudgeOptions
    >>> from labeler.scale.partitions.write import write_partitions
    >>> from labeler.testing import fake_model, small_collection
    >>> folder, model = mkdtemp(), fake_model('{"grade": 2}')
    >>> job = write_partitions(small_collection(), folder, JudgeOptions(model=model, name="first"))
    >>> judge_partition(folder, 0, Share(model=model))
    JudgedPartition(number=0, pairs=4, judged=4, failures={})
    """
    control = control or Control()

    async def work(stop: StopSignal) -> JudgedPartition:
        async with partition_worker(folder, share, control.with_stop(stop)) as worker:
            return await worker.judge(number)

    return run_to_end(work)


@asynccontextmanager
async def partition_worker(
    folder: PartitionFolder | Path | str,
    share: Share | None = None,
    control: Control | None = None,
) -> AsyncIterator[PartitionWorker]:
    """A worker with connections, rates and a budget of its own, for several partitions."""
    parts, share, control = PartitionFolder.of(folder), share or Share(), control or Control()
    job = parts.read_job()
    prompt = parts.read_prompt(job).read_by(job.declared.reader)
    address = None
    if job.server and not share.model:
        address = _admitted(whole_address(job.server, None), parts, share)
    if job.store and job.store not in share.named:
        check_named(Place.of(job.store), job.store, parts.path)
    options = SessionOptions(
        share.model or replace(job.declared, model=job.model),
        address,
        share.limits,
        share.concurrency,
        job.redact,
        patient=False,
    )
    if share.price is not None:  # it is known already
        unbounded = replace(options, limits=replace(options.limits, max_cost=None))
        selection = await select_model("judge", unbounded, control)
        selection = selection._replace(price=share.price, options=options)
    else:
        selection = await select_model("judge", options, control)
    async with open_source(selection, (), control) as source:
        if source.started.model.id != job.model_id:
            problem = f"the partitions were written for {job.model_id}"
            raise Misconfigured(f"{problem}, and here is {source.started.model.id}")
        yield PartitionWorker(parts, job, prompt, source, control, share.retry_failed)


def _admitted(address: str, parts: PartitionFolder, share: Share) -> str:
    """The server's address, if somebody else than the folder names it."""
    is_named = masked(address) in share.named
    return admit(address, named_by="" if is_named else parts.path).address


@dataclass(frozen=True, slots=True)
class PartitionWorker:
    """Judges partitions, one after the other; `partition_worker` opens one."""

    folder: PartitionFolder
    job: PartitionedJob
    prompt: Prompt
    source: StartedModel
    control: Control
    retry_failed: bool = False

    async def judge(
        self,
        number: int,
        on_judged: Callable[[Judged], None] = lambda _judged: None,
        *,
        again: bool = False,
    ) -> JudgedPartition:
        """Judge a partition, and write its judgements; where they are there, nothing is done.

        With `again`, failed calls are made again. `BudgetReached` and `Stopped` are raised where
        not all pairs were done; what was answered is kept.
        """
        if not 0 <= number < len(self.job.partitions):
            problem = f"partitions count from 0 to {len(self.job.partitions) - 1}, not {number}"
            raise Misuse(problem, parameter="number")
        async with self._alone(number):
            path = self.folder.judged(number)
            if path.is_file() and not again:
                return JudgedPartition.of(number, (judged for _, judged in read_judged(path)))
            rows = read_pairs(self.folder.pairs(number), self.job.partitions[number])
            replies = self.folder.store(self.job, number)
            self._prepare_store(replies)
            async with session_on(self.source, replies, self.control) as session:
                judged = await self._judged(rows, session, on_judged)
            write_judged(path, rows.positions, judged)
            return JudgedPartition.of(number, judged)

    def _prepare_store(self, replies: StorePlace) -> None:
        """Let a store know what the collection's does, so that requests are the same."""
        with open_store(replies, redacted=self.job.redact) as store:
            share_secret(store, self.folder.read_secret())
            for name, fact in self.job.facts.items():
                store.learn_once(name, fact)

    async def _judged(
        self, rows: PartitionPairs, session: Session, on_judged: Callable[[Judged], None]
    ) -> list[Judged]:
        assessor = Assessor.asked_in(session, self.prompt)
        assessor = replace(assessor, lists=rows.lists, examples=self._examples())
        in_hand = session.guard.limiter.limits.in_hand
        options = PairOptions(in_hand, self.retry_failed, on_judged, self.control.stop)
        judging = judge_pairs(rows.pairs, rows.texts, assessor, options)
        return [with_suspicions(judged, rows.texts) async for judged in judging]

    def _examples(self) -> Examples | None:
        return examples_of(self.job, self.prompt)

    @asynccontextmanager
    async def _alone(self, number: int) -> AsyncIterator[None]:
        """Judge a partition while no other worker does, as one that was given up for dead."""
        path = self.folder.path / "replies" / f".{number:05}.lock"
        with file_problems(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(path)
        while not is_acquired(lock):
            if self.control.stop.is_over:
                raise Stopped("stopped; another worker judges this partition")
            await asyncio.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()


def examples_of(job: PartitionedJob, prompt: Prompt) -> Examples | None:
    """The grades that a prompt shows, with their texts; None where it shows none."""
    shown, front = job.examples, prompt.front.examples
    if shown is None or front is None:
        return None
    queries = {query_id: Query(query_id, text) for query_id, text in shown.queries.items()}
    documents = {
        doc_id: Document(doc_id, text, title) for doc_id, (title, text) in shown.documents.items()
    }
    grades = tuple(GradedExample(*grade) for grade in shown.grades)
    return Examples(grades, front.count, Texts(queries, documents), prompt, front.max_chars)
