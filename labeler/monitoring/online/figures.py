"""What is measured online, as plain figures."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.monitoring.log.reading import LogReading
from labeler.monitoring.online.cascade import CascadeReading
from labeler.monitoring.online.counterfactual import CounterfactualEstimate
from labeler.monitoring.online.interleaving import InterleavingOutcome
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.orders import SystemOrders
from labeler.monitoring.online.propensities import Propensities
from labeler.monitoring.online.variants import Variants
from labeler.report.table import Interval


@dataclass(frozen=True)
class RankFigures:
    """A rank: how often documents were shown at it and clicked, and how likely users look at it.

    `propensity` is beside the first rank's.
    """

    rank: int
    shown: float
    clicks: float
    ctr: Interval
    propensity: Interval


@dataclass(frozen=True)
class OnlineFigures:
    """What users' clicks say of a search.

    `whole` are measures of searches by name, `first_click` the median of the seconds to the first
    click. `weighted_ctr` is the share of looks that end in a click, after `attention`. What the log
    has no column for is None or empty.
    """

    reading: LogReading
    options: OnlineOptions
    ranks: tuple[RankFigures, ...]
    attention: Propensities
    cascade: CascadeReading
    weighted_ctr: Interval
    whole: dict[str, Interval]
    first_click: Interval
    variants: Variants | None
    interleaving: InterleavingOutcome | None
    counterfactuals: tuple[CounterfactualEstimate, ...]
    orders: SystemOrders | None
