"""What online measures say, in sentences that are computed from them."""

from __future__ import annotations

from collections.abc import Iterator

from labeler.monitoring.online.figures import OnlineFigures
from labeler.monitoring.online.variants import MISMATCH, Variants
from labeler.report.finding import Finding
from labeler.report.table import Interval

MIXED = 0.01
"""More users served by several variants are an alarm."""


def findings_of(of: OnlineFigures) -> list[Finding]:
    """What a reader of the figures should know, alarms first."""
    parts = (
        alarms_of(of),
        _about_clicks(of),
        _about_searches(of),
        _about_variants(of.variants),
        of.reading.findings(),
    )
    return [finding for part in parts for finding in part]


def alarms_of(of: OnlineFigures) -> list[Finding]:
    """What is wrong with the experiment."""
    return list(_alarms_of_variants(of.variants))


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


def _about_clicks(of: OnlineFigures) -> Iterator[Finding]:
    if not of.reading.impressions:
        yield Finding("the log does not say what was shown: there are no figures by rank")
    elif not of.reading.clicks:
        yield Finding("the log has no click")


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


def _ends(of: Interval, spec: str = ".2f") -> str:
    if of.low is None or of.high is None:
        return ""
    return f" [{of.low:{spec}}, {of.high:{spec}}]"


def _p(p: float) -> str:
    return "below 0.0001" if p < 0.0001 else f"{p:.4f}"
