"""The figures of queries' density: of each week, and of the recent weeks together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from labeler.arrays import Floats
from labeler.monitoring.density.changes import Changes
from labeler.monitoring.density.clusters import Cluster
from labeler.monitoring.density.comparison import WeekDrift
from labeler.monitoring.density.coverage import Threshold
from labeler.monitoring.density.options import WEEKLY_LEVEL, DensityOptions
from labeler.monitoring.density.proposal import Proposal
from labeler.stats.blocked import BlockShare
from labeler.stats.blocks import SetShift


@dataclass(frozen=True)
class WeekDensity:
    """The figures of a week that begins on `monday`; they are None where it has too few searches.

    `sampled` of the searches were looked at. `uncovered` is the share of searches that are farther
    from the corpus than the threshold, `lacking` of those whose words it lacks, `median` the median
    distance; each with its interval. `own` compares them with the evaluation's queries, `drift`
    with the reference weeks.
    """

    monday: date
    searches: int
    sampled: int
    days: int
    is_reference: bool
    uncovered: BlockShare | None = None
    lacking: BlockShare | None = None
    median: BlockShare | None = None
    own: SetShift | None = None
    drift: WeekDrift | None = None

    @property
    def is_told(self) -> bool:
        """Whether it has searches enough to say something of it."""
        return self.own is not None

    @property
    def is_alarm(self) -> bool:
        """Whether its queries differ from those of the reference weeks, of which it is none."""
        return not self.is_reference and self.drift is not None and self.drift.is_alarm

    def as_json(self) -> dict[str, Any]:
        """The figures by name; intervals are lists of value, low and high."""
        shares = {"uncovered": self.uncovered, "lacking": self.lacking, "median": self.median}
        own, drift = self.own, self.drift
        return {
            "week": self.monday.isoformat(),
            "searches": self.searches,
            "sampled": self.sampled,
            "days": self.days,
            "is_reference": self.is_reference,
            **{name: None if share is None else list(share) for name, share in shares.items()},
            "own": None if own is None else {**own._asdict(), "worth": own.worth},
            "drift": None
            if drift is None
            else {
                **drift.shift._asdict(),
                "p": drift.p,
                "vectors_p": drift.shift.p,
                "features_p": drift.features_p,
                "by_days": drift.by_days,
                "alarm": self.is_alarm,
            },
        }


@dataclass(frozen=True)
class DensityFigures:
    """All that is measured of users' queries, by week and of the recent weeks.

    `changes` names what changed in the last week, where that is an alarm. `clusters` are queries of
    the recent weeks that the corpus does not cover, `proposal` those that would make the evaluation
    current. `disagreement` are the shares of recent searches that are covered by vectors and by
    words, far by vectors alone, lacking words alone, and both. `rise_p` is p of the share that is
    not covered in the last week against the reference weeks.
    """

    weeks: tuple[WeekDensity, ...]
    options: DensityOptions
    threshold: Threshold
    changes: Changes | None
    clusters: tuple[Cluster, ...]
    proposal: Proposal | None
    disagreement: Floats
    queries: int
    rise_p: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    has_sessions: bool = False

    @property
    def last(self) -> WeekDensity | None:
        """The last week with searches enough."""
        return next((week for week in reversed(self.weeks) if week.is_told), None)

    @property
    def reference(self) -> list[WeekDensity]:
        """The weeks that the others are compared with."""
        return [week for week in self.weeks if week.is_reference]

    @property
    def has_risen(self) -> bool:
        """Whether fewer searches are covered in the last week than in the reference weeks."""
        last, p = self.last, self.rise_p
        if last is None or p is None or last.is_reference or last.uncovered is None:
            return False
        before = [week for week in self.reference if week.uncovered is not None]
        total = sum(week.sampled for week in before)
        earlier = sum(week.uncovered.value * week.sampled for week in before if week.uncovered)
        return p <= WEEKLY_LEVEL and last.uncovered.value > earlier / max(total, 1)

    def weekly(self) -> dict[str, dict[str, float | None]]:
        """The figures of each week that are worth a line over time, by its Monday."""
        return {
            week.monday.isoformat(): {
                "searches": week.searches,
                "not covered": week.uncovered.value if week.uncovered else None,
                "median distance": week.median.value if week.median else None,
                "distance to the evaluation set": week.own.value if week.own else None,
            }
            for week in self.weeks
        }

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        names = ("covered", "far", "lacking words", "far and lacking words")
        shares = zip(names, self.disagreement.tolist(), strict=True)
        return {
            "weeks": [week.as_json() for week in self.weeks],
            "threshold": self.threshold.value,
            "threshold_queries": self.threshold.queries,
            "weekly_level": WEEKLY_LEVEL,
            "rise_p": self.rise_p,
            "changes": self.changes and self.changes.as_json(),
            "clusters": [cluster.as_json() for cluster in self.clusters],
            "proposal": self.proposal and self.proposal.as_json(),
            "recent": dict(shares),
            "dropped": dict(self.dropped),
        }
