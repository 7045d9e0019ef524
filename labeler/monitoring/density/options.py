"""What may be set of the look at queries' density."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.errors import Misuse
from labeler.stats.distances import DistanceName
from labeler.stats.levels import SIGNIFICANT

WEEKS_OF_A_YEAR = 52

WEEKLY_LEVEL = SIGNIFICANT / WEEKS_OF_A_YEAR
"""Each week is tested at this level: a year without a change then has a false alarm with a chance
of 5 % at most, however the weeks hang together (Bonferroni)."""


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """How queries' density is measured.

    A query's distance to the corpus is the mean of those to its first `passages` passages. Weeks
    are compared with the first `reference_weeks` of the log; `recent_weeks` are what queries are
    proposed from. Of a week with fewer than
    `fewest` sessions nothing is said; a search without a session counts as one. Of
    each week at most `searches` are looked at, whole sessions at random. A query is shown, counted
    apart or proposed only where it was searched for `min_count` times, in so many sessions where
    the log has some. `add` is how many queries are proposed.
    """

    passages: int = 3
    reference_weeks: int = 8
    recent_weeks: int = 4
    fewest: int = 20
    searches: int = 3000
    min_count: int = 5
    add: int = 40
    distance: DistanceName = "energy"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("passages", "reference_weeks", "recent_weeks", "min_count"):
            if getattr(self, name) < 1:
                raise Misuse(f"{name} counts from 1", parameter=name)
        if self.fewest < 10:
            problem = "a week of fewer than 10 sessions says nothing; expected 10 or more"
            raise Misuse(problem, parameter="fewest")
        if self.searches < 100:
            raise Misuse("expected 100 searches of a week or more", parameter="searches")
        if self.add < 0:
            raise Misuse("expected how many queries to propose, from 0", parameter="add")
