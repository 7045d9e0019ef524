"""Fold partitions into their collection: replies into its store, judgements into its files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import Judged, Judgement, Pair, state_of
from labeler.errors import BadInput, Incomplete
from labeler.judging.assessor import Assessor, as_shown
from labeler.judging.job import (
    Job,
    JudgeResult,
    job_of,
    pool_of,
    texts_of,
    with_suspicions,
    write_set,
)
from labeler.judging.methods.inquiries import Inquiries
from labeler.messages import count_of
from labeler.models.policies.limits import Spending
from labeler.models.policies.stack import only_remembered
from labeler.models.session import Control, sync
from labeler.report.result import Merged, Result
from labeler.scale.partitions.folder import AnyFolder, PartitionedJob, PartitionFolder
from labeler.scale.partitions.work import examples_of
from labeler.scale.partitions.write import FILES, hashes_of
from labeler.store import open_store


@dataclass(frozen=True, slots=True)
class CollectedPartitions(Result):
    """A set of judgements as its partitions left it: how many are judged, how many there are.

    `replies` counts those that the collection's store had not yet.
    """

    result: Merged[JudgeResult]
    judged_partitions: int
    partitions: int
    replies: int

    def check_all(self) -> None:
        """Raise `Incomplete` where partitions are not judged yet."""
        if self.judged_partitions < self.partitions:
            left = self.partitions - self.judged_partitions
            raise Incomplete(
                f"{left:,} of {count_of(self.partitions, 'partition', 'partitions')} not judged yet"
            )

    def sentence(self) -> str:
        """What was taken in."""
        replies = count_of(self.replies, "new reply", "new replies")
        return f"{self.judged_partitions:,} of {self.partitions:,} partitions judged, {replies}"


async def acollect(
    collection: AnyCollection,
    folder: AnyFolder,
    *,
    control: Control | None = None,
) -> CollectedPartitions:
    """Take replies of partitions into a collection's store, and judgements into its files.

    Partitions that are not judged yet are counted; their pairs keep the judgements that they have.

    >>> from tempfile import mkdtemp
    >>> from labeler import JudgeOptions
    >>> from labeler.scale.partitions.work import Share, judge_partitions
    >>> from labeler.scale.partitions.write import write_partitions
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, folder, model = small_collection(), mkdtemp(), fake_model('{"grade": 2}')
    >>> job = write_partitions(collection, folder, JudgeOptions(model=model, name="first"), rows=1)
    >>> done = judge_partitions(folder, Share(model=model), 0)
    >>> print(collect(collection, folder).sentence())
    1 of 2 partitions judged, 2 new replies
    """
    opened, parts = open_collection(collection), PartitionFolder.of(folder)
    control, job = control or Control(), parts.read_job()
    unfinished = frozenset(
        parts.unfinished(job)
    )  # before replies are read: the others have all of theirs
    replies = _take_replies(opened, parts, job, control)
    _check_unchanged(opened, parts, job)
    done = len(job.partitions) - len(unfinished)
    texts = texts_of(opened)
    set_of_pairs = job_of(opened, job.name, pool_of(opened, texts), texts)
    if not done and not opened.judgements(job.name).exists():
        raise Incomplete(f"{parts.path}: no partition is judged yet")
    with open_store(parts.store(job, 0) if job.store else opened.store, reading=True) as store:
        prompt, declared = parts.read_prompt(job).read_by(job.declared.reader), job.declared
        assessor = Assessor(
            prompt,
            only_remembered(job.model_id, store),
            declared.parameters,
            secret=parts.read_secret(),
            context=declared.context,
        )
        assessor = as_shown(assessor, opened, job.name, texts)
        assessor = replace(assessor, examples=examples_of(job, prompt))
        judging = _judged(set_of_pairs, assessor, _Partitions(parts, job, unfinished))
        tally = await write_set(set_of_pairs, assessor, judging, control.stop, control.note)
    return CollectedPartitions(
        JudgeResult(set_of_pairs, tally, Spending(), True), done, len(job.partitions), replies
    )


collect = sync(acollect)


def _take_replies(
    collection: Collection, folder: PartitionFolder, job: PartitionedJob, control: Control
) -> int:
    """Copy the replies of all partitions into the collection's store; how many were new there."""
    paths = [folder.replies(number) for number in range(len(job.partitions))]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        return 0
    copied = 0
    opened = open_store(collection.store, redacted=job.redact)
    with opened as store, control.progress("replies") as advance:
        for number, path in enumerate(paths, start=1):
            copied += store.take_in_file(path)
            advance(number, len(paths))
    return copied


def _check_unchanged(collection: Collection, folder: PartitionFolder, job: PartitionedJob) -> None:
    now = hashes_of(collection)
    changed = [name for name in FILES if job.files.get(name) != now[name]]
    if changed:
        raise BadInput(
            f"{getattr(collection, changed[0])}: not what the partitions were written from; "
            "their replies are in the store, so judging the collection asks for what is missing "
            "alone"
        )


class _Partitions(NamedTuple):
    """The partitions of a folder, and those that are not judged yet."""

    folder: PartitionFolder
    job: PartitionedJob
    unfinished: frozenset[int]

    def of(self, pairs: Iterable[Pair]) -> Iterator[tuple[int, list[Pair]]]:
        """The number of each partition, and which of a set's pairs are its own."""
        rest = iter(pairs)
        for number, partition in enumerate(self.job.partitions):
            yield number, list(islice(rest, partition.pairs))

    def rows(self, number: int) -> dict[Pair, Judged]:
        """The judgements of a partition that is done."""
        rows = read_judgements(self.folder.judged(number))
        return {row.judged.outcome.pair: row.judged for row in rows}

    def check_given(self, number: int, pair: Pair, grade: int, asked: Inquiries) -> None:
        """`BadInput` where a grade that the collection's replies do not give has none of its own.

        Another worker may have asked the same, of which the collection keeps the first reply.
        """
        problem, replies = f"grades have no reply, as that of {' '.join(pair)}", None
        if self.folder.replies(number).is_file():
            with open_store(self.folder.replies(number), reading=True) as store:
                own = replace(asked.assessor, model=only_remembered(self.job.model_id, store))
                [(_, replies, _)] = Inquiries(asked.pairs, asked.texts, own).recalled([pair])
        if isinstance(replies, Judged):
            replied = state_of(replies.outcome).answer
            if replied == grade:
                return
            problem = f"{' '.join(pair)} has the grade {grade}, and its replies give {replied}"
        path = self.folder.judged(number)
        line = list(self.rows(number)).index(pair) + 1
        raise BadInput.at(path, line, f"{problem}; remove the file, and have it judged again")


async def _judged(job: Job, assessor: Assessor, parts: _Partitions) -> AsyncIterator[Judged]:
    """What the replies say of a set's pairs, in their order; none is asked for now.

    A pair to whose requests there is no reply has the failure that a worker had, or what was judged
    before of a pair of a partition that is not done.
    """
    earlier = _earlier(job, parts)
    for number, pairs in parts.of(job.pairs):
        is_done = number not in parts.unfinished
        rows = parts.rows(number) if is_done else earlier
        inquiries = Inquiries(pairs, job.texts, assessor)
        for pair, item, _ in inquiries.every():
            given, row = item if isinstance(item, Judged) else None, rows.get(pair)
            if is_done and row and isinstance(row.outcome, Judgement):
                grade = row.outcome.grade
                if given is None or state_of(given.outcome).answer != grade:
                    parts.check_given(number, pair, grade, inquiries)
            if judged := given or row:
                yield with_suspicions(replace(judged, remembered=True), job.texts)


def _earlier(job: Job, parts: _Partitions) -> dict[Pair, Judged]:
    """What was judged before of the pairs of partitions that are not done."""
    path = job.collection.judgements(job.name)
    if not parts.unfinished or not path.exists():
        return {}
    left = {pair for n, pairs in parts.of(job.pairs) if n in parts.unfinished for pair in pairs}
    rows = (row for row in read_judgements(path) if not row.carried)
    return {pair: row.judged for row in rows if (pair := row.judged.outcome.pair) in left}
