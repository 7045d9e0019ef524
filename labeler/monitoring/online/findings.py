"""What online measures say, in sentences that are computed from them."""

from __future__ import annotations

from collections.abc import Iterator

from labeler.messages import count_of
from labeler.monitoring.online.figures import OnlineFigures
from labeler.monitoring.online.interleaving import InterleavingOutcome
from labeler.monitoring.online.orders import SystemOrders
from labeler.monitoring.online.variants import MISMATCH, Variants
from labeler.report.finding import Finding
from labeler.report.table import Interval
from labeler.stats.levels import SIGNIFICANT

MIXED = 0.01
"""More users served by several variants are an alarm."""
CLIPPED, SEEN = 0.05, 0.9
"""More clicks clipped, or fewer of a system's documents shown, are worth a warning."""


def findings_of(of: OnlineFigures) -> list[Finding]:
    """What a reader of the figures should know, alarms first."""
    parts = (
        alarms_of(of),
        _about_attention(of),
        _about_searches(of),
        _about_variants(of.variants),
        _about_teams(of.interleaving),
        _about_systems(of),
        _about_orders(of.orders),
        of.reading.findings(),
    )
    return [finding for part in parts for finding in part]


def alarms_of(of: OnlineFigures) -> list[Finding]:
    """What is wrong with the experiment, or with what it says of the offline measures."""
    return [*_alarms_of_variants(of.variants), *_alarms_of_orders(of.orders)]


def _alarms_of_variants(of: Variants | None) -> Iterator[Finding]:
    if of is None:
        return
    if of.is_mismatched:
        users = ", ".join(f"{name} {n:,}" for name, n in zip(of.names, of.users, strict=True))
        way = "evenly" if of.is_meant_even else "as they were meant to be"
        other = "; if another split was meant, name its shares" if of.is_meant_even else ""
        yield Finding(
            f"sample ratio mismatch: users are not split {way} ({users};"
            f" p {_p(of.mismatch)}, below {MISMATCH}): no difference of variants can be believed"
            f" before that is explained{other}",
            about="sample-ratio",
        )
    if of.mixed > MIXED * sum(of.users):
        yield Finding(
            f"{of.mixed:,} users were served by more than one variant: each variant's figures hold"
            " some of the other's effect",
            about="mixed-users",
        )


def _alarms_of_orders(of: SystemOrders | None) -> Iterator[Finding]:
    for pair in of.reversed_pairs if of else ():
        better, worse = (pair.first, pair.second)
        if pair.offline < 0.5:
            better, worse = worse, better
        if of is not None:
            yield Finding(
                f"{of.measure} puts {better} above {worse}, users the other way round"
                f" ({of.online_measure}): the offline order does not hold online",
                about="offline-order",
            )


def _about_attention(of: OnlineFigures) -> Iterator[Finding]:
    if not of.reading.impressions:
        yield Finding("the log does not say what was shown: there are no figures by rank")
        return
    if not of.reading.clicks:
        yield Finding("the log has no click")
        return
    if not of.attention.is_linked.any():
        yield Finding(
            "hardly any document was shown at two ranks for one query: how much of a rank's clicks"
            " is attention, and how much better documents, cannot be told"
        )
        return
    missing = [str(row.rank) for row in of.ranks if row.propensity.value is None]
    if missing:
        yield Finding(f"attention to rank {', '.join(missing)} cannot be told from this log")
    if of.attention.share < 1:
        yield Finding(
            f"attention was estimated from {of.attention.share:.2%} of the queries, drawn by"
            " chance, as more pairs of queries and documents do not fit",
            level="note",
        )
    yield from _about_cascade(of)


def _about_cascade(of: OnlineFigures) -> Iterator[Finding]:
    figure, ends = of.cascade.after_click.value, _ends(of.cascade.after_click)
    if of.cascade.is_cascade:
        yield Finding(
            f"below a click, the same document is clicked {figure:.2f} times as often{ends} as"
            " where nothing above was clicked: users stop once they have clicked, so attention does"
            " not hang on the rank alone; propensities and what is weighted by them are biased"
        )
    elif of.cascade.is_eager:
        yield Finding(
            f"below a click, the same document is clicked {figure:.2f} times as often{ends} as"
            " where nothing above was clicked: some users or searches click more than others do,"
            " whatever the rank",
            level="note",
        )


def _about_searches(of: OnlineFigures) -> Iterator[Finding]:
    clicked = of.whole.get("clicked")
    if clicked is not None and clicked.value is not None:
        yield Finding(
            f"{1 - clicked.value:.1%} of searches were abandoned without a click; the log cannot"
            " tell those whose results answered without one",
            level="note",
        )


def _about_variants(of: Variants | None) -> Iterator[Finding]:
    for row in of.rows if of else ():
        low, high = row.difference.low, row.difference.high
        if of is None or low is None or high is None or row.difference.value is None:
            continue
        if low > 0 or high < 0:
            is_better = (row.difference.value > 0) == row.measure.up
            yield Finding(
                f"{row.variant} is {'better' if is_better else 'worse'} than {of.names[0]} by"
                f" {row.measure.name}: {row.difference.value:+.4f}{_ends(row.difference, '+.4f')}",
                about=row.variant,
                level="note",
            )


def _about_teams(of: InterleavingOutcome | None) -> Iterator[Finding]:
    if of is None:
        return
    if of.p < SIGNIFICANT:
        winner = of.teams[0] if of.wins > of.losses else of.teams[1]
        text = f"users prefer {winner}: {of.wins:,} clicked more of {of.teams[0]}'s documents,"
        text += f" {of.losses:,} more of {of.teams[1]}'s (sign test, p {_p(of.p)})"
    else:
        text = f"users' clicks do not tell {of.teams[0]} from {of.teams[1]}: {of.wins:,} wins,"
        text += f" {of.losses:,} losses (sign test, p {_p(of.p)})"
    yield Finding(text, level="note")


def _about_systems(of: OnlineFigures) -> Iterator[Finding]:
    for estimate in of.counterfactuals:
        if not estimate.searches:
            yield Finding(f"no search of the log is of a query of {estimate.system}")
            continue
        if estimate.seen < SEEN:
            yield Finding(
                f"{1 - estimate.seen:.0%} of what {estimate.system} would show was not shown: its"
                " clicks are a lower bound",
                about=estimate.system,
            )
        if estimate.clipped > CLIPPED:
            yield Finding(
                f"{estimate.clipped:.0%} of the clicks for {estimate.system} were clipped to"
                f" {of.options.clip:g}: its estimate is too low",
                about=estimate.system,
            )


def _about_orders(of: SystemOrders | None) -> Iterator[Finding]:
    if of is None:
        return
    clear = [pair for pair in of.pairs if pair.agrees is not None]
    agreeing = sum(pair.agrees is True for pair in clear)
    if not clear:
        yield Finding(
            f"whether {of.measure} orders systems as users do cannot be told: no pair of systems is"
            " far enough apart both offline and online"
        )
        return
    pairs = count_of(len(of.pairs), "pair", "pairs")
    yield Finding(
        f"of {pairs} of systems, {len(clear)} can be told apart both offline and online;"
        f" {of.measure} and {of.online_measure} order {agreeing} of them alike",
        level="note",
    )


def _ends(of: Interval, spec: str = ".2f") -> str:
    if of.low is None or of.high is None:
        return ""
    return f" [{of.low:{spec}}, {of.high:{spec}}]"


def _p(p: float) -> str:
    return "below 0.0001" if p < 0.0001 else f"{p:.4f}"
