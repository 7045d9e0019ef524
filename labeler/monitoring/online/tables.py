"""Online measures as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.monitoring.online.counterfactual import CounterfactualEstimate
from labeler.monitoring.online.figures import OnlineFigures, RankFigures
from labeler.monitoring.online.interleaving import InterleavingOutcome
from labeler.monitoring.online.orders import SystemOrders
from labeler.monitoring.online.variants import MEASURES, Variants
from labeler.report.table import Column, Row, Table

ABOUT = {measure.name: measure.about for measure in MEASURES}


def tables_of(of: OnlineFigures) -> Iterator[Table]:
    """A table for each kind of measure; one that the log has no columns for is empty."""
    yield _ranks(of.ranks)
    yield _whole(of)
    yield _variants(of.variants)
    yield _teams(of.interleaving)
    yield _counterfactuals(of.counterfactuals)
    yield _systems(of.orders)
    yield _orders(of.orders)
    yield of.reading.table()


def _ranks(rows: Sequence[RankFigures]) -> Table:
    columns = (
        Column("rank"),
        Column("shown", format=",.0f"),
        Column("clicks", format=",.0f"),
        Column("CTR", ends=".4f"),
        Column("attention", ends=".3f", format=".3f"),
    )
    cells = [(row.rank, row.shown, row.clicks, row.ctr, row.propensity) for row in rows]
    return Table("ranks", columns, cells, "Clicks by rank", "attention: beside that to rank 1")


def _whole(of: OnlineFigures) -> Table:
    columns = (
        Column("measure", align="left"),
        Column("value", ends=".4f"),
        Column("about", "share of", align="left"),
    )
    rows: list[Row] = [(name, value, ABOUT[name]) for name, value in of.whole.items()]
    if of.first_click.value is not None:
        rows.append(("first click", of.first_click, "seconds to the first click, the median"))
    if of.weighted_ctr.value is not None:
        rows.append(
            (
                "weighted CTR",
                of.weighted_ctr,
                "clicks of documents shown, if users looked at each rank as at the first",
            )
        )
    return Table("measures", columns, rows, "All searches")


def _variants(of: Variants | None) -> Table:
    columns = (
        Column("measure", align="left"),
        Column("variant", align="left"),
        Column("users"),
        Column("value", ends=".4f"),
        Column("difference", ends="+.4f", format="+.4f"),
    )
    users = dict(zip(of.names, of.users, strict=True)) if of else {}
    rows = [
        (row.measure.name, row.variant, users[row.variant], row.value, row.difference)
        for row in (of.rows if of else ())
    ]
    title = f"Variants; differences are from {of.names[0]}" if of else ""
    return Table("variants", columns, rows, title)


def _teams(of: InterleavingOutcome | None) -> Table:
    columns = (
        Column("team", align="left"),
        Column("wins"),
        Column("ties"),
        Column("losses"),
        Column("rate", "win rate", ends=".3f", format=".3f"),
        Column("p", format=".4f"),
    )
    rows = [(of.teams[0], of.wins, of.ties, of.losses, of.rate, of.p)] if of else []
    title = (
        f"Users who clicked more of {of.teams[0]}'s documents than of {of.teams[1]}'s" if of else ""
    )
    return Table("interleaving", columns, rows, title)


def _counterfactuals(of: Sequence[CounterfactualEstimate]) -> Table:
    columns = (
        Column("system", align="left"),
        Column("clicks", "clicks a search", ends=".4f"),
        Column("searches"),
        Column("seen", "documents shown", format=".3f"),
        Column("clipped", "clicks clipped", format=".3f"),
        Column("effective", "effective impressions", format=",.0f"),
    )
    rows = [(c.system, c.clicks, c.searches, c.seen, c.clipped, c.effective) for c in of]
    title = "Clicks that systems would get, as far as their documents were shown"
    return Table("counterfactuals", columns, rows, title)


def _systems(of: SystemOrders | None) -> Table:
    columns = (
        Column("system", align="left"),
        Column("offline", of.measure if of else "", ends=".4f"),
        Column("online", of.online_measure if of else "", ends=".4f"),
    )
    rows = list(zip(of.systems, of.offline, of.online, strict=True)) if of else []
    return Table("systems", columns, rows, "Systems offline and online")


def _orders(of: SystemOrders | None) -> Table:
    columns = (
        Column("first", align="left"),
        Column("second", align="left"),
        Column("offline", "first better offline", format=".3f"),
        Column("online", "first better online", format=".3f"),
        Column("same", "same order", format=".3f"),
        Column("agrees", align="left"),
    )
    words = {True: "yes", False: "no", None: "cannot be told"}
    pairs = of.pairs if of else ()
    cells = [(p.first, p.second, p.offline, p.online, p.same, words[p.agrees]) for p in pairs]
    return Table("orders", columns, cells, "How likely each order is, and both the same")
