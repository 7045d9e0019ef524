"""Fold partitions into their collection: replies into its store, judgements into its files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import Judged, Outcome, Pair
from labeler.errors import BadInput, Incomplete
from labeler.judging.assessor import Assessor
from labeler.judging.job import Job, JudgeResult, job_of, pool_of, texts_of, write_set
from labeler.judging.relabel import GradedLine, contradicted
from labeler.messages import count_of
from labeler.models.choose import unasked
from labeler.models.policies.limits import Spending
from labeler.models.policies.stack import only_remembered
from labeler.models.session import Control, sync
from labeler.report.result import Merged, Result
from labeler.scale.partitions.folder import (
    PartitionedJob,
    PartitionFolder,
    PartitionPairs,
    read_pairs,
    read_positions,
)
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
            problem = f"{left:,} of {count_of(self.partitions, 'partition', 'partitions')} not"
            raise Incomplete(f"{problem} judged yet")

    def sentence(self) -> str:
        """What was taken in."""
        replies = count_of(self.replies, "new reply", "new replies")
        return f"{self.judged_partitions:,} of {self.partitions:,} partitions judged, {replies}"


async def acollect(
    collection: AnyCollection,
    folder: PartitionFolder | Path | str,
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
    assessor = _assessor(parts, job)
    judging = _judged(set_of_pairs, _Partitions(parts, job, assessor), unfinished)
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
        path = getattr(collection, changed[0])
        problem = "not what the partitions were written from; their replies are in the store, so"
        raise BadInput(f"{path}: {problem} judging the collection asks for what is missing alone")


def _assessor(folder: PartitionFolder, job: PartitionedJob) -> Assessor:
    prompt = folder.read_prompt(job).read_by(job.declared.reader)
    model, asked_with = unasked(job.model_id), job.declared.parameters
    secret, context = folder.read_secret(), job.declared.context
    assessor = Assessor(prompt, model, asked_with, secret=secret, context=context)
    return replace(assessor, examples=examples_of(job, prompt))


class _Partitions(NamedTuple):
    """The partitions of a folder, and the assessor that judged them."""

    folder: PartitionFolder
    job: PartitionedJob
    assessor: Assessor

    def rows(self, number: int) -> dict[int, Judged]:
        """The judgements of a partition that is done, by the positions of their pairs."""
        pairs = read_pairs(self.folder.pairs(number), self.job.partitions[number])
        rows = [row.judged for row in read_judgements(self.folder.judged(number))]
        self._check_given(number, pairs, [judged.outcome for judged in rows])
        positions = dict(zip(pairs.pairs, pairs.positions, strict=True))
        return {positions[judged.outcome.pair]: judged for judged in rows}

    def _check_given(self, number: int, pairs: PartitionPairs, outcomes: list[Outcome]) -> None:
        """`BadInput` where the grades of a partition are not those that its replies give."""
        path = self.folder.judged(number)
        lines = [
            GradedLine(line, outcome.pair, getattr(outcome, "grade", None))
            for line, outcome in enumerate(outcomes, start=1)
        ]
        with open_store(self.folder.store(self.job, number), reading=True) as store:
            model = only_remembered(self.job.model_id, store)
            asked = replace(self.assessor, model=model, lists=pairs.lists)
            wrong, proven = contradicted(lines, pairs.texts, asked)
        graded = sum(line.grade is not None for line in lines)
        if proven < graded:
            where = f"{path}:{wrong[0].line}" if wrong else path
            problem = str(wrong[0]) if wrong else f"{graded - proven:,} grades have no reply"
            raise BadInput(f"{where}: {problem}; remove the file, and have it judged again")


async def _judged(
    set_of_pairs: Job, parts: _Partitions, unfinished: frozenset[int]
) -> AsyncIterator[Judged]:
    """The judgements of all partitions, in the order of the set's pairs; none is asked for now."""
    waiting: dict[int, Judged] = {}
    earlier = _earlier(set_of_pairs, parts.folder, unfinished)
    ends = [partition.start for partition in parts.job.partitions[1:]]
    for number, end in enumerate([*ends, set_of_pairs.total + 1]):
        is_done = number not in unfinished
        waiting.update(parts.rows(number) if is_done else earlier.pop(number, {}))
        for position in sorted(position for position in waiting if position < end):
            yield replace(waiting.pop(position), remembered=True)


def _earlier(
    set_of_pairs: Job, folder: PartitionFolder, unfinished: frozenset[int]
) -> dict[int, dict[int, Judged]]:
    """What was judged before of the pairs of partitions that are not done, by partition."""
    path = set_of_pairs.collection.judgements(set_of_pairs.name)
    if not unfinished or not path.exists():
        return {}
    positions: dict[Pair, tuple[int, int]] = {}
    for number in unfinished:
        for pair, position in read_positions(folder.pairs(number)).items():
            positions[pair] = number, position
    earlier: dict[int, dict[int, Judged]] = {}
    for row in read_judgements(path):
        at = positions.get(row.judged.outcome.pair)
        if at and not row.carried:
            earlier.setdefault(at[0], {})[at[1]] = row.judged
    return earlier
