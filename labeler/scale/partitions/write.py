"""Cut the pairs of a collection into partitions that workers elsewhere judge."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from labeler.collection.batches import WaitingRequests
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import Pair
from labeler.errors import CallFailed, Misuse, Stopped
from labeler.files.atomic import replacing
from labeler.files.boundary import count
from labeler.files.read import sha256_of
from labeler.judging.assessor import Assessor
from labeler.judging.job import Job, pool_of
from labeler.judging.judge import JudgeOptions, Prepared, prepare
from labeler.judging.methods.inquiries import Inquiries
from labeler.model import Reply, Request
from labeler.models.policies.call import Deferral
from labeler.models.policies.stack import facts_about, only_remembered
from labeler.models.session import Control, sync
from labeler.scale.partitions.folder import (
    AnyFolder,
    PartitionedJob,
    PartitionFolder,
    ShownGrade,
    write_pairs,
)
from labeler.store import Store, open_store
from labeler.store.keys import Canon
from labeler.wire.addresses import masked

ROWS = 5_000
"""Pairs of a partition at least, where nobody says how many."""

FILES = ("corpus", "queries", "pool")


async def awrite_partitions(
    collection: AnyCollection,
    folder: AnyFolder,
    options: JudgeOptions,
    rows: int = ROWS,
    *,
    control: Control | None = None,
) -> PartitionedJob:
    """Cut a pool into partitions of whole queries, which `judge_partitions` judges anywhere.

    Each has so many pairs at least, and their texts, so that a worker needs the folder and nothing
    else. One small call finds out what the server accepts, where that is not known. Replies that
    the collection has come along. The folder is a new one, or holds the same partitions, which stay
    as they are; `Misuse` says what differs of others.

    >>> from tempfile import mkdtemp
    >>> from labeler.testing import fake_model, small_collection
    >>> options = JudgeOptions(model=fake_model('{"grade": 2}'), name="first")
    >>> job = write_partitions(small_collection(), mkdtemp(), options, rows=1)
    >>> [partition.pairs for partition in job.partitions]
    [2, 2]
    """
    if not count(rows):
        raise Misuse("rows of a partition count from 1", parameter="rows")
    opened, control = open_collection(collection), control or Control()
    target = PartitionFolder.of(folder)
    target.check_own()
    if WaitingRequests(opened):
        raise Misuse(
            f"{opened.folder}: requests wait in batches; collect or cancel those first",
            parameter="folder",
        )
    deferred = replace(options.session, deferral=Deferral(is_live=False))
    async with prepare(opened, pool_of, options, control, deferred) as prepared:
        await _find_out_abilities(prepared)
        job = _job(prepared, options)
        if target.job.is_file():
            earlier = target.read_job()
            check_same(target, earlier, job)
            return earlier
        return _write(target, prepared, job, rows, control)


write_partitions = sync(awrite_partitions)


async def _find_out_abilities(prepared: Prepared) -> None:
    """Ask what the server accepts, once for all workers."""
    session, job = prepared.session, prepared.job
    if session.selection.choice.name == "similarity":
        raise Misuse(
            "similarity weighs a pair by all documents, so it cannot judge them in partitions; "
            "name a server's model",
            parameter="model",
        )
    inquiries = Inquiries(job.pairs, job.texts, prepared.assessor)
    first = next(iter(job.pairs), None)
    request = inquiries.example(first) if first and session.needs_probe else None
    if request is not None:
        with suppress(CallFailed):  # that it waits, which is all that can come of it
            await session.model.ask(request)


def _job(prepared: Prepared, options: JudgeOptions) -> PartitionedJob:
    job, assessor, session = prepared
    store, choice = job.collection.store, session.selection.choice
    with open_store(store, reading=True) as replies:
        facts = facts_about(assessor.model.id, replies)
    return PartitionedJob(
        name=job.name,
        prompt=assessor.prompt.id,
        model=choice.name,
        model_id=assessor.model.id,
        server=masked(choice.base_url) if choice.base_url else None,
        files=hashes_of(job.collection),
        store="" if isinstance(store, Path) else str(store),
        redact=options.redact,
        facts=facts,
        examples=_shown_grades(assessor),
        declared=choice.declared.to_share(),
    )


def hashes_of(collection: Collection) -> dict[str, str]:
    """The hashes of the files that the pairs and their texts are in."""
    return {name: sha256_of(getattr(collection, name)) for name in FILES}


def _shown_grades(assessor: Assessor) -> tuple[ShownGrade, ...] | None:
    shown = assessor.examples
    if shown is None:
        return None
    grades = list[ShownGrade]()
    for pair in shown.pairs:
        query, document = shown.texts.of(Pair(pair.query_id, pair.doc_id))
        grades.append(ShownGrade(*pair, query.text, document.title, document.text))
    return tuple(grades)


_SAME = ("name", "prompt", "model_id", "store", "redact", "files", "examples")


def check_same(folder: PartitionFolder, earlier: PartitionedJob, now: PartitionedJob) -> None:
    """`Misuse` where the partitions of a folder are of another set of judgements."""
    for what in _SAME:
        before, new = getattr(earlier, what), getattr(now, what)
        if before == new:
            continue
        problem = f"its {what.removesuffix('_id')} is {before!r:.80}, and not {new!r:.80}"
        if what == "files":
            changed = [name for name in FILES if before.get(name) != new[name]]
            problem = f"the {changed[0]} of the collection has changed since"
        elif what == "examples":
            problem = "its prompt shows other examples"
        raise Misuse(
            f"{folder.path}: {problem}; collect what it holds, and name a new folder",
            parameter="folder",
        )


def _write(
    folder: PartitionFolder, prepared: Prepared, job: PartitionedJob, rows: int, control: Control
) -> PartitionedJob:
    set_of_pairs, assessor, session = prepared
    prompt, partitions = assessor.prompt, []
    with replacing(folder.prompt(prompt.name)) as out:
        out.write(prompt.text)
    folder.write_secret(session.secret)
    total, done, file = len(set_of_pairs.pairs), 0, set_of_pairs.collection.store
    with control.progress("partitions") as advance, ExitStack() as stack:
        # those that share a database find its replies there
        is_file = isinstance(file, Path)
        store = stack.enter_context(open_store(file, reading=True)) if is_file else None
        for number, pairs in enumerate(_cut(set_of_pairs, rows)):
            texts, lists = set_of_pairs.texts, assessor.lists
            partitions.append(write_pairs(folder.pairs(number), pairs, texts, lists))
            if store is not None and len(store):
                _bring_replies(store, folder.replies(number), pairs, prepared)
            done += len(pairs)
            advance(done, total)
            if control.stop.is_set():
                raise Stopped("stopped before all partitions were written")
    written = replace(job, partitions=tuple(partitions))
    folder.write_job(written)
    return written


def _bring_replies(store: Store, to: Path, pairs: Sequence[Pair], prepared: Prepared) -> None:
    """Bring along what a store has replied already to the requests about a partition's pairs."""
    job, assessor, _ = prepared
    model, keys = only_remembered(assessor.model.id, store), list[bytes]()
    canon = Canon(model.id, reads_inputs=not model.is_server)

    def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
        for keyed in map(canon.keyed, requests):
            keys.extend((keyed.key, keyed.cut))
        return model.recall(requests)

    inquiries = Inquiries(pairs, job.texts, replace(assessor, model=replace(model, recall=recall)))
    deque(inquiries.every(), maxlen=0)
    if rows := store.stored_rows(keys):
        with open_store(to) as target:
            target.take_in(rows)


def _cut(job: Job, rows: int) -> Iterator[Sequence[Pair]]:
    """The pairs of each partition, which has whole queries."""
    part: list[Pair] = []
    for _, group in groupby(job.pairs, lambda pair: pair.query_id):
        part += group
        if len(part) >= rows:
            yield part
            part = []
    if part:
        yield part
