"""Online measures of a log: clicks by rank, attention, whole searches, variants, interleaving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput
from labeler.monitoring.log.log import EventLog
from labeler.monitoring.online.behavior import AT, BehaviorSums, median_delay
from labeler.monitoring.online.cascade import cascade_reading
from labeler.monitoring.online.counterfactual import RankedSums, Rankings, counterfactual
from labeler.monitoring.online.estimates import GroupedSums
from labeler.monitoring.online.figures import OnlineFigures, RankFigures
from labeler.monitoring.online.interleaving import InterleavingOutcome, TeamSums, outcome_of
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.orders import OfflineScores, SystemOrders, system_orders
from labeler.monitoring.online.pairs import PairsAtRanks
from labeler.monitoring.online.propensities import Propensities, propensities
from labeler.monitoring.online.result import OnlineMeasures
from labeler.monitoring.online.variants import MEASURES, Variants, variants_of
from labeler.report.table import Interval


@dataclass(frozen=True)
class OfflineSide:
    """What is known offline of the systems that a log's variants are.

    `scores` are each system's scores of queries by `measure`, `rankings` each system's documents by
    the query's text; `systems` say which variant of the log is which system, where the two do not
    have one name.
    """

    measure: str = ""
    scores: OfflineScores = field(default_factory=dict, hash=False)
    rankings: Mapping[str, Rankings] = field(default_factory=dict, hash=False)
    systems: Mapping[str, str] = field(default_factory=dict, hash=False)


def online(
    log: EventLog, options: OnlineOptions | None = None, offline: OfflineSide | None = None
) -> OnlineMeasures:
    """What users' clicks say of a search, and whether that agrees with what is known offline.

    Goes through the log once, a part at a time.
    """
    options, offline = options or OnlineOptions(), offline or OfflineSide()
    gathered = _Gathered(log, options, offline)
    for part in log.parts():
        gathered.behavior.add(part)
        gathered.pairs.add(part)
        for ranked in gathered.ranked.values():
            ranked.add(part)
        for teams in gathered.teams:
            teams.add(part)
    return OnlineMeasures(_measured(log, options, offline, gathered))


class _Gathered:
    """What is added up over the parts of a log."""

    def __init__(self, log: EventLog, options: OnlineOptions, offline: OfflineSide) -> None:
        self.behavior = BehaviorSums(options, len(log.variants))
        self.pairs = PairsAtRanks(options.depth, options.most_pairs)
        self.ranked = {
            name: RankedSums(rankings, options.depth) for name, rankings in offline.rankings.items()
        }
        order = sorted(range(len(log.teams)), key=lambda number: log.teams[number])
        self.teams = [TeamSums(order[0] + 1, order[1] + 1)] if len(order) > 1 else []


def _measured(
    log: EventLog, options: OnlineOptions, offline: OfflineSide, gathered: _Gathered
) -> OnlineFigures:
    sums, seed = gathered.behavior, options.seed
    attention = propensities(gathered.pairs, seed)
    of_all = GroupedSums(sums.searches.sum(axis=1), seed)
    whole = {
        measure.name: of_all.share((AT[measure.part],), (AT[measure.whole],))
        for measure in MEASURES
        if measure.name in _measurable(log, sums)
        if measure.name != "clicks/search"
    }
    variants = None
    if int((sums.users > 0).sum()) > 1:
        variants = variants_of(sums, log.variants, options.shares, _measurable(log, sums))
    return OnlineFigures(
        log.reading,
        options,
        _by_rank(sums, attention, seed),
        attention,
        cascade_reading(gathered.pairs, sums, seed),
        _weighted_ctr(sums, attention, options),
        whole,
        GroupedSums(sums.delays, seed).estimate(median_delay),
        variants,
        _interleaved(log, gathered, seed),
        tuple(
            counterfactual(name, ranked, attention, options.clip, seed)
            for name, ranked in gathered.ranked.items()
            if attention.is_linked.any()
        ),
        _orders(variants, offline, seed),
    )


def _measurable(log: EventLog, sums: BehaviorSums) -> list[str]:
    """The measures that the log's columns allow for."""
    totals = sums.searches.sum(axis=(0, 1))
    names = [measure.name for measure in MEASURES if totals[AT[measure.whole]] > 0]
    has_searches = bool({"session", "user", "search"} & set(log.columns))
    has_clicks = log.reading.clicks > 0
    needs_clicks = {"CTR", "clicked", "clicks/search"}
    return [
        name
        for name in names
        if (has_clicks or name not in needs_clicks)
        and (has_searches or name not in {"clicked", "clicks/search", "bought"})
        and (name != "bought" or totals[AT["bought"]] > 0)
    ]


def _by_rank(sums: BehaviorSums, attention: Propensities, seed: int) -> tuple[RankFigures, ...]:
    grouped = GroupedSums(sums.ranks, seed)
    total = grouped.total
    return tuple(
        RankFigures(
            rank + 1,
            float(total[rank, 0]),
            float(total[rank, 1]),
            grouped.share((rank, 1), (rank, 0)),
            attention.estimates[rank],
        )
        for rank in range(sums.options.depth)
        if total[rank, 0] > 0
    )


def _weighted_ctr(sums: BehaviorSums, attention: Propensities, options: OnlineOptions) -> Interval:
    """Clicks over impressions, each click weighted by one over its rank's attention.

    It is what the share would be if users looked at each rank as at the first. Its interval takes
    the propensities as they are.
    """
    with np.errstate(divide="ignore"):
        weights = np.minimum(1 / attention.values, options.clip)
    usable = ~np.isnan(weights)

    def compute(of: Floats) -> Floats:
        clicks = (of[..., usable, 1] * weights[usable]).sum(axis=-1)
        shown = of[..., usable, 0].sum(axis=-1)
        return np.where(shown > 0, clicks / np.where(shown > 0, shown, 1.0), np.nan)

    return GroupedSums(sums.ranks, options.seed).estimate(compute)


def _interleaved(log: EventLog, gathered: _Gathered, seed: int) -> InterleavingOutcome | None:
    if not gathered.teams or not gathered.teams[0].sums.any():
        return None
    return outcome_of(gathered.teams[0], log.teams, seed)


def _orders(variants: Variants | None, offline: OfflineSide, seed: int) -> SystemOrders | None:
    """The systems' order offline beside that of their variants, by clicks."""
    if variants is None or not offline.scores:
        return None
    names = [offline.systems.get(name, name) for name in variants.names]
    both = [number for number, name in enumerate(names) if name in offline.scores]
    lost = sorted(set(offline.systems) - set(variants.names))
    if lost:
        problem = f"no variant {lost[0]!r:.60}; there are {', '.join(variants.names)}"
        raise BadInput(problem, parameter="systems")
    measure = "CTR" if "CTR" in variants.drawn else next(iter(variants.drawn), "")
    if len(both) < 2 or not measure:
        return None
    scores = {names[number]: offline.scores[names[number]] for number in both}
    values = {row.variant: row.value for row in variants.rows if row.measure.name == measure}
    drawn: Any = variants.drawn[measure][:, both]
    return system_orders(
        scores,
        [values[variants.names[number]] for number in both],
        drawn,
        (offline.measure, measure),
        seed,
    )
