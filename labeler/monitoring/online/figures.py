"""What is measured online, as plain figures."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.monitoring.log.reading import LogReading
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.variants import Variants
from labeler.report.table import Interval


@dataclass(frozen=True)
class RankFigures:
    """A rank: how often documents were shown at it and clicked."""

    rank: int
    shown: float
    clicks: float
    ctr: Interval


@dataclass(frozen=True)
class OnlineFigures:
    """What users' clicks say of a search.

    `whole` are measures of searches by name, `first_click` the median of the seconds to the first
    click. What the log has no column for is None or empty.
    """

    reading: LogReading
    options: OnlineOptions
    ranks: tuple[RankFigures, ...]
    whole: dict[str, Interval]
    first_click: Interval
    variants: Variants | None
