"""What is shown of a run on several workers, as if one machine did it."""

from __future__ import annotations

from collections.abc import Mapping

from labeler.data import Failure, Judged, Judgement, Pair
from labeler.judging.partitions.coordinator import PairKind, RunState
from labeler.judging.partitions.folder import PartitionedJob, PartitionFolder
from labeler.judging.partitions.rows import statuses_in
from labeler.models.control import OnJudged
from labeler.models.policies.rate import RateLimiter


class LimitersOfAll(RateLimiter):
    """What is shown of the limiters of all workers."""

    state: RunState | None = None

    @property
    def at_once(self) -> float:
        """How many calls may be under way now."""
        return self.state.at_once if self.state else 0

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self.state.under_way if self.state else 0


class PairsShown:
    """Hands the caller of a run each pair that is done, once, whichever worker did it."""

    def __init__(self, on_judged: OnJudged) -> None:
        self._on_judged = on_judged
        self._handed: dict[int, dict[PairKind, int]] = {}

    def add_done(self, parts: PartitionFolder, job: PartitionedJob, to_do: set[int]) -> None:
        """Count the partitions that were done before."""
        for number, partition in enumerate(job.partitions):
            if number not in to_do:
                failures = statuses_in(parts.judged(number))
                kinds = {PairKind(status, True, False): n for status, n in failures.items()}
                kinds[PairKind("", True, False)] = partition.pairs - failures.total()
                self._add(number, kinds)

    def add(self, state: RunState) -> None:
        """Count what was done since the last time."""
        for number, kinds in state.pairs.items():
            self._add(number, kinds)

    def _add(self, number: int, kinds: Mapping[PairKind, int]) -> None:
        handed = self._handed.setdefault(number, {})
        for kind in kinds:
            for _ in range(kinds[kind] - handed.get(kind, 0)):
                self._on_judged(_example(kind))
            handed[kind] = max(kinds[kind], handed.get(kind, 0))


def _example(kind: PairKind) -> Judged:
    pair = Pair("", "")
    outcome = Failure(pair, kind.failure, "") if kind.failure else Judgement(pair, 0)
    return Judged(outcome, remembered=kind.remembered, shared=kind.shared)
