"""Judge partitions: what a worker does, whoever started it and wherever it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.collection.judgements import JudgementLines, read_judgements
from labeler.collection.layout import POLL_SECONDS
from labeler.data import Document, Judged, Query
from labeler.errors import Misconfigured, Misuse, Stopped
from labeler.files.atomic import replacing
from labeler.judging.assessor import Assessor, Examples, GradedExample, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import Tally, origin, with_suspicions
from labeler.judging.pilot import AskedRound, piloted
from labeler.model import Model
from labeler.models.policies.stack import Guard
from labeler.models.session import (
    Control,
    SessionOptions,
    StartedModel,
    open_source,
    select_model,
    session_on,
    sync,
)
from labeler.models.settings import CONCURRENCY, RETRY_FAILED, Limits, Proof
from labeler.options import Options, option
from labeler.prompt import Prompt
from labeler.report.result import Result
from labeler.scale.batch.look import whole_address
from labeler.scale.partitions.folder import (
    AnyFolder,
    PartitionedJob,
    PartitionFolder,
    PartitionPairs,
    read_pairs,
)
from labeler.store import StorePlace, open_store
from labeler.store.replies import share_secret
from labeler.wire.addresses import Place, masked
from labeler.wire.gate import admit, check_named


@dataclass(frozen=True, slots=True)
class Share(Options):
    """How one worker judges: within which limits, and with how many calls at once.

    With `retry_failed`, pairs are asked about again where a reply was no grade; where a call
    failed, they always are. Too many pairs without a grade end the work, as `proof` says. `model`
    is needed where the partitions were written for a model that
    is an object. `named` are the addresses, of the model's server and of a database, that whoever
    started the worker named; others, which the folder alone names, have to be trusted on the
    worker's machine.
    """

    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = option(None, CONCURRENCY)
    retry_failed: bool = option(False, RETRY_FAILED)
    proof: Proof = field(default_factory=Proof)
    model: Model | None = None
    named: Sequence[str] = ()


def share_of(whole: Share, workers: int) -> Share:
    """An equal share of what all workers may take together: rates, calls at once, and budgets.

    >>> share_of(Share(Limits(rpm=600, max_calls=1000), concurrency=64), 8).limits.rpm
    75.0
    """
    limits, at_once = whole.limits, whole.concurrency
    if at_once is not None and at_once < workers:
        raise Misuse(
            f"each of {workers} workers makes a call at once at least, and {at_once} may be "
            "made; take fewer workers",
            parameter="workers",
        )
    rates, counts = ("rpm", "tpm", "max_cost"), ("max_calls", "max_tokens")
    shares = {
        name: whole_amount // workers if name in counts else whole_amount / workers
        for name in (*rates, *counts)
        if (whole_amount := getattr(limits, name)) is not None
    }
    own = replace(limits, **shares)
    return replace(whole, limits=own, concurrency=None if at_once is None else at_once // workers)


@dataclass(frozen=True, slots=True)
class JudgedPartition(Result):
    """What came of a partition: how many pairs have a grade, and how the others failed."""

    partition: int
    pairs: int
    judged: int
    failures: dict[str, int]

    @classmethod
    def of(cls, number: int, path: Path) -> JudgedPartition:
        """The counts of the judgements in the file of a partition."""
        tally = Tally()
        for row in read_judgements(path):
            tally.add(row.judged)
        return cls(number, tally.pairs, tally.judged, tally.failures_by_status)


async def ajudge_partitions(
    folder: AnyFolder,
    share: Share | None = None,
    number: int | None = None,
    *,
    wait: bool = False,
    control: Control | None = None,
) -> list[JudgedPartition]:
    """Judge the partitions that no other worker is at, one after the other; all that are judged.

    This is all that a worker of any scheduler has to call, and any number may do so at once: a lock
    in the folder says which partitions are free, and that of a worker that has ended is. With
    `wait`, this goes on until all are judged; with `number`, until that one is. Replies are kept in
    the folder as they arrive: the same call, made again, asks only for what is missing. The model's
    key comes from this machine's environment. `share_of` says what is a fair part of limits.

    >>> from tempfile import mkdtemp
    >>> from labeler import JudgeOptions
    >>> from labeler.scale.partitions.write import write_partitions
    >>> from labeler.testing import fake_model, small_collection
    >>> folder, model = mkdtemp(), fake_model('{"grade": 2}')
    >>> job = write_partitions(small_collection(), folder, JudgeOptions(model=model, name="first"))
    >>> judge_partitions(folder, Share(model=model))
    [JudgedPartition(partition=0, pairs=4, judged=4, failures={})]
    """
    parts, share, control = PartitionFolder.of(folder), share or Share(), control or Control()
    job = parts.read_job()
    prompt = parts.read_prompt(job).read_by(job.declared.reader)
    options = SessionOptions(
        share.model or replace(job.declared, model=job.model),
        _admitted_address(parts, job, share),
        share.limits,
        share.concurrency,
        job.redact,
        patient=False,
    )
    async with open_source(await select_model("judge", options, control), (), control) as source:
        if source.started.model.id != job.model_id:
            raise Misconfigured(
                f"the partitions were written for {job.model_id}, and here is "
                f"{source.started.model.id}"
            )
        worker = PartitionWorker(parts, job, prompt, source, control, share)
        return await worker.judge(number, wait=wait or number is not None)


judge_partitions = sync(ajudge_partitions)


def admitted(folder: PartitionFolder, share: Share) -> Share:
    """A share for workers elsewhere, for whom the addresses of a folder are admitted here."""
    job = folder.read_job()
    _admitted_address(folder, job, share)
    return replace(share, named=(job.server or "", job.store))


def _admitted_address(folder: PartitionFolder, job: PartitionedJob, share: Share) -> str | None:
    """The server's address, if somebody else than the folder names it, and the database's."""
    if job.store and job.store not in share.named:
        check_named(Place.of(job.store), job.store, folder.path)
    if not job.server or share.model:
        return None
    address = whole_address(job.server, None)
    return admit(address, named_by="" if (masked(address) in share.named) else folder.path).address


@dataclass(frozen=True, slots=True)
class PartitionWorker:
    """Judges partitions, one after the other, with connections, rates and a budget of its own."""

    folder: PartitionFolder
    job: PartitionedJob
    prompt: Prompt
    source: StartedModel
    control: Control
    share: Share

    async def judge(self, number: int | None, *, wait: bool) -> list[JudgedPartition]:
        """Judge all partitions that no other worker is at, or one alone; all that are judged.

        Where judgements are there, nothing is done, but that failed calls are made again. With
        `wait`, go on until all are. `BudgetReached` and `Stopped` are raised where not all pairs
        were done; what was answered is kept.
        """
        done, every = dict[int, JudgedPartition](), range(len(self.job.partitions))
        if number is not None and number not in every:
            raise Misuse(
                f"partitions count from 0 to {len(every) - 1}, not {number}", parameter="number"
            )
        left = list(every) if number is None else [number]
        while True:
            for each in left:
                with self.folder.locked(each) as is_free:
                    if is_free:
                        done[each] = await self._judge_alone(each)
            left = [each for each in left if each not in done]
            if not (left and wait):
                return [done[each] for each in sorted(done)]
            if self.control.stop.is_over:
                raise Stopped("stopped; other workers judge the rest")
            await asyncio.sleep(POLL_SECONDS)

    async def _judge_alone(self, number: int) -> JudgedPartition:
        path = self.folder.judged(number)
        if path.is_file():
            earlier = JudgedPartition.of(number, path)
            failures = set(earlier.failures)
            if not (failures if self.share.retry_failed else failures & {"call_failed"}):
                return earlier
        rows = read_pairs(self.folder.pairs(number), self.job.partitions[number])
        replies = self.folder.store(self.job, number)
        self._prepare_store(replies)
        async with session_on(self.source, replies, self.control) as session:
            assessor = Assessor.asked_in(session, self.prompt)
            examples = examples_of(self.job, self.prompt)
            assessor = replace(assessor, lists=rows.lists, examples=examples)
            judged = await self._judged(rows, assessor, session.guard)
        lines = JudgementLines(origin(assessor))
        with replacing(path) as out:
            out.writelines(f"{lines.line(each)}\n" for each in judged)
        return JudgedPartition.of(number, path)

    def _prepare_store(self, replies: StorePlace) -> None:
        """Let a store know what the collection's does, so that requests are the same."""
        with open_store(replies, redacted=self.job.redact) as store:
            share_secret(store, self.folder.read_secret())
            for name, fact in self.job.facts.items():
                store.learn_once(name, fact)

    async def _judged(self, rows: PartitionPairs, assessor: Assessor, guard: Guard) -> list[Judged]:
        options = PairOptions(
            guard.limiter.limits.in_hand,
            self.share.retry_failed,
            stop=self.control.stop,
            note=self.control.note,
            proof=self.share.proof,
        )
        asked = AskedRound(assessor, rows.pairs, rows.texts)
        if not guard.budget.spent.calls:  # nothing was asked by this worker yet
            options, _ = await piloted(asked, options, guard)
        judging = judge_pairs(rows.pairs, rows.texts, assessor, options)
        return [with_suspicions(judged, rows.texts) async for judged in judging]


def examples_of(job: PartitionedJob, prompt: Prompt) -> Examples | None:
    """The grades that a prompt shows, with their texts; None where it shows none."""
    shown, front = job.examples, prompt.front.examples
    if shown is None or front is None:
        return None
    queries = {each.query_id: Query(each.query_id, each.query) for each in shown}
    documents = {each.doc_id: Document(each.doc_id, each.text, each.title) for each in shown}
    grades = tuple(GradedExample(*each[:3]) for each in shown)
    return Examples(grades, front.count, Texts(queries, documents), prompt, front.max_chars)
