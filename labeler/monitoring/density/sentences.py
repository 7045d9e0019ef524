"""What is said of queries' density, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from labeler.messages import count_of
from labeler.monitoring.density.figures import DensityFigures, WeekDensity
from labeler.monitoring.density.proposal import Proposal
from labeler.report.finding import Finding
from labeler.stats.blocked import BlockShare
from labeler.stats.blocks import SampleShift

Note = partial(Finding, level="note")


def alarms(of: DensityFigures) -> list[Finding]:
    """What is wrong in the last week with sessions enough."""
    last, raised = of.last, list[Finding]()
    if last is None:
        return raised
    if last.is_alarm and last.drift is not None:
        words = f"{_week(last)} differ from those of {_reference(of)}"
        size = f"energy distance {_distance(last.drift.shift)}, {_p(last.drift.p)}"
        size = size if of.options.distance == "energy" else size.replace("energy", "kernel", 1)
        raised.append(Finding(f"Queries of {words}: {size}.", about="query-drift"))
    if of.has_risen and last.uncovered is not None and of.rise_p is not None:
        text = (
            f"The corpus does not cover {_share(last.uncovered)} of the searches of {_week(last)}, "
            f"more than in {_reference(of)}, {_p(of.rise_p)}."
        )
        raised.append(Finding(text, about="uncovered-queries"))
    return raised


def findings(of: DensityFigures) -> Iterator[Finding]:
    """What else a reader should know."""
    last = of.last
    if last is None:
        few = of.options.fewest
        yield Finding(f"No week has {few} sessions or more, so that nothing is said of any.")
        return
    yield from _of_tests(of, last)
    yield from _of_changes(of)
    yield from _of_coverage(of, last)
    yield from _of_clusters(of)
    yield from _of_set(of, last)
    if of.proposal is not None:
        yield from _of_proposal(of, of.proposal)
    yield from _of_reading(of)


def _of_tests(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    if last.is_reference or last.drift is None:
        yield Finding(
            "The log has too few weeks with sessions enough to compare one with another: "
            "two are needed, and the more the better."
        )
        return
    if not last.is_alarm:
        shift = last.drift.shift
        at_most = f", at most {shift.high:.3f}" if shift.high else ""
        yield Note(
            f"Queries of {_week(last)} cannot be told from those of {_reference(of)}: "
            f"energy distance {max(shift.value, 0):.3f}{at_most}, {_p(last.drift.p)}."
        )
    earlier = [week for week in of.weeks if week.is_alarm and week is not last]
    if earlier:
        weeks = ", ".join(week.monday.isoformat() for week in earlier[-5:])
        yield Note(f"Earlier weeks differed from {_reference(of)}, too: {weeks}.")
    if not last.drift.by_days:
        what = "sessions" if of.has_sessions else "searches"
        yield Finding(
            f"The test took {what} as independent, as there are too few days to compare: "
            "an event of a single day can make an alarm."
        )


def _of_changes(of: DensityFigures) -> Iterator[Finding]:
    if of.changes is None:
        return
    value, low, high = of.changes.changed
    if low > 0:
        yield Note(
            f"At least {value:.0%} [{low:.0%}, {high:.0%}] of the searches are other ones than in "
            f"{_reference(of)}: by so much more of them a classifier takes for new."
        )
    if of.changes.named:
        named = "; ".join(
            f"{_feature(change.kind, change.name)} {change.before.value:.1%} before, "
            f"{change.now.value:.1%} now"
            for change in of.changes.named[:5]
        )
        yield Note(f"What changed most surely: {named}.")


def _feature(kind: str, name: str) -> str:
    return f"“{name}”" if kind == "word" else f"{kind} “{name}”"


def _of_coverage(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    limit = of.threshold
    whose = "answered evaluation queries" if limit.answered else "evaluation queries"
    if limit.value is None:
        yield Finding(
            "Which queries the corpus does not cover cannot be said: from which distance on it "
            f"does not is learnt from {whose}, of which there are {limit.queries}; 19 are needed."
        )
        return
    if last.uncovered is not None and not of.has_risen:
        is_more = last.uncovered.low > 0.05
        text = (
            f"{_share(last.uncovered)} of the searches of {_week(last)} are farther from the "
            f"corpus than 95 % of {limit.queries:,} {whose} are."
        )
        yield Finding(text) if is_more else Note(text)
    if not limit.answered:
        yield Finding(
            "No grades say which evaluation queries have a relevant document, so that all of them "
            "count as covered by the corpus."
        )
    far, lacking = float(of.disagreement[1]), float(of.disagreement[2])
    if far + lacking >= 0.05:
        yield Note(
            f"Vectors and words disagree on {far + lacking:.0%} of recent searches: {far:.0%} are "
            f"far by vectors though the corpus has their words, {lacking:.0%} are near though it "
            "lacks half of their words or more."
        )


def _of_clusters(of: DensityFigures) -> Iterator[Finding]:
    shown = [cluster for cluster in of.clusters if cluster.label][:3]
    if shown:
        named = "; ".join(f"“{c.label}” ({c.share:.1%} of recent searches)" for c in shown)
        yield Note(f"What the corpus covers least, by traffic: {named}.")


def _of_set(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    if last.own is None:
        return
    count = count_of(of.queries, "evaluation query is", "evaluation queries are")
    worth = _worth(last.own.worth)
    ends = last.own.worth_ends
    between = f" [{_worth(ends[0])}, {_worth(ends[1])}]" if ends else ""
    text = (
        f"As a picture of the searches of {_week(last)}, the {count} worth {worth}{between} "
        f"searches drawn at random. A set so drawn is as far from them with {_p(last.own.p)}."
    )
    yield Finding(text) if last.own.worth < of.queries / 2 else Note(text)


def _of_proposal(of: DensityFigures, proposal: Proposal) -> Iterator[Finding]:
    if not proposal.queries:
        whose = f"none that the set lacks was searched for by {of.options.min_count} people"
        yield Note(f"No query is proposed: {whose}.")
        return
    if proposal.too_rare:
        rare = count_of(proposal.too_rare, "query", "queries")
        yield Note(f"{rare} of fewer than {of.options.min_count} people could not be proposed.")
    if not proposal.falls:
        return
    first, last = proposal.falls[0], proposal.falls[-1]
    count = count_of(last.added, "query", "queries")
    yield Note(
        f"The set's distance to recent searches is {first.as_it_is:.3f}; {first.weighted:.3f} with "
        f"the proposed weights alone; {last.as_it_is:.3f} with {count} of the log added, and "
        f"{max(last.weighted, 0):.3f} with both: measured on days that chose neither queries nor "
        "weights."
    )


def _of_reading(of: DensityFigures) -> Iterator[Finding]:
    if of.dropped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in of.dropped.items())
        yield Note(f"Searches left out: {reasons}.")
    sampled = [week for week in of.weeks if week.sampled < 0.9 * week.searches]
    if sampled:
        yield Note(
            f"Of {count_of(len(sampled), 'week', 'weeks')} a sample of about "
            f"{of.options.searches:,} searches was looked at."
        )


def _week(week: WeekDensity) -> str:
    return f"the week of {week.monday.isoformat()}"


def _reference(of: DensityFigures) -> str:
    count = len(of.reference)
    return f"the first {count} weeks" if count > 1 else "the first week"


def _distance(shift: SampleShift) -> str:
    if shift.low is None or shift.high is None:
        return f"{max(shift.value, 0):.3f}"
    return f"{max(shift.value, 0):.3f} [{shift.low:.3f}, {shift.high:.3f}]"


def _share(share: BlockShare) -> str:
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def _worth(worth: float) -> str:
    return f"{worth:,.0f}" if worth >= 1 and math.isfinite(worth) else "1" if worth < 1 else "all"
