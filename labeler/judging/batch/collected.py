"""What came of collecting batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from labeler.collection.batches import WRITTEN, BatchRecord
from labeler.errors import LabelerError, NotFound
from labeler.judging.result import JudgeResult
from labeler.messages import count_of
from labeler.models.batch.answers import Collected


@dataclass(frozen=True, slots=True)
class CollectedBatches:
    """What came of the batches that have ended, the sets judged by it, and what is still open.

    `problems` say of open batches why they cannot be collected; of these, `lost` are not known to
    their server, or their answers are not.
    """

    collected: Collected
    ended: tuple[BatchRecord, ...]
    results: tuple[JudgeResult, ...]
    open: int
    in_files: int = 0
    problems: tuple[LabelerError, ...] = ()

    @property
    def lost(self) -> int:
        """How many batches are not known to their server, or their answers are not."""
        return sum(isinstance(problem, NotFound) for problem in self.problems)

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
        yield from map(str, self.problems[1:])  # the first is raised by who shows these
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
            "problems": [str(problem) for problem in self.problems],
            "sets": [result.as_json() for result in self.results],
        }


@dataclass(slots=True)
class Taken:
    """What was taken in, of which batches, and why others could not be collected."""

    collected: Collected = field(default_factory=Collected)
    ended: list[BatchRecord] = field(default_factory=list)
    problems: list[LabelerError] = field(default_factory=list)
