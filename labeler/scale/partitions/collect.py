"""Fold partitions into their collection: replies into its store, judgements into its files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container
from dataclasses import dataclass, replace
from itertools import chain, repeat

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import Failure, Judged
from labeler.errors import BadInput, Incomplete
from labeler.judging.assessor import Assessor, as_shown
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import (
    Job,
    JudgeResult,
    job_of,
    pool_of,
    texts_of,
    with_suspicions,
    write_set,
)
from labeler.messages import count_of
from labeler.models.policies.limits import Spending
from labeler.models.policies.stack import NO_REPLY, only_remembered
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
    # before replies are read: the others have all of theirs
    unfinished = frozenset(parts.unfinished(job))
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
        judging = _judged(set_of_pairs, assessor, parts, unfinished, control)
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


async def _judged(
    set_of_pairs: Job,
    assessor: Assessor,
    parts: PartitionFolder,
    unfinished: Container[int],
    control: Control,
) -> AsyncIterator[Judged]:
    """What the replies say of a set's pairs, in their order; none is asked for now.

    A pair without a reply keeps what was judged of it before. `BadInput` where its partition is
    done: its replies were lost.
    """
    partitions = enumerate(parts.read_job().partitions)
    numbers = chain.from_iterable(repeat(number, part.pairs) for number, part in partitions)
    path = set_of_pairs.collection.judgements(set_of_pairs.name)
    rows = read_judgements(path) if unfinished and path.exists() else ()
    earlier = {row.judged.outcome.pair: row.judged for row in rows if not row.carried}
    options = PairOptions(stop=control.stop, note=control.note)
    async for judged in judge_pairs(set_of_pairs.pairs, set_of_pairs.texts, assessor, options):
        number, row, outcome = next(numbers), judged, judged.outcome
        if isinstance(outcome, Failure) and NO_REPLY in outcome.detail:
            if number not in unfinished:
                raise BadInput(
                    f"{parts.judged(number)}: a pair has no reply: {' '.join(outcome.pair)}; "
                    "remove the file, and have it judged again"
                )
            if outcome.pair not in earlier:
                continue
            row = earlier[outcome.pair]
        yield with_suspicions(replace(row, remembered=True), set_of_pairs.texts)
