"""Online measures of a log: clicks by rank, whole searches, variants."""

from __future__ import annotations

from labeler.monitoring.log.log import EventLog
from labeler.monitoring.online.behavior import AT, BehaviorSums, median_delay
from labeler.monitoring.online.estimates import GroupedSums
from labeler.monitoring.online.figures import OnlineFigures, RankFigures
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.result import OnlineMeasures
from labeler.monitoring.online.variants import MEASURES, variants_of


def online(log: EventLog, options: OnlineOptions | None = None) -> OnlineMeasures:
    """What users' clicks say of a search.

    Goes through the log once, a part at a time.
    """
    sums = BehaviorSums(options or OnlineOptions(), len(log.variants))
    for part in log.parts():
        sums.add(part)
    return OnlineMeasures(_measured(log, sums))


def _measured(log: EventLog, sums: BehaviorSums) -> OnlineFigures:
    options, seed = sums.options, sums.options.seed
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
        _by_rank(sums),
        whole,
        GroupedSums(sums.delays, seed).estimate(median_delay),
        variants,
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


def _by_rank(sums: BehaviorSums) -> tuple[RankFigures, ...]:
    grouped = GroupedSums(sums.ranks, sums.options.seed)
    total = grouped.total
    return tuple(
        RankFigures(
            rank + 1,
            float(total[rank, 0]),
            float(total[rank, 1]),
            grouped.share((rank, 1), (rank, 0)),
        )
        for rank in range(sums.options.depth)
        if total[rank, 0] > 0
    )
