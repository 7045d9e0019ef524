"""What a reader of corrected scores should know, one finding each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.errors import BadInput
from labeler.evaluation.corrected import CorrectedScores
from labeler.evaluation.correction import ScoredByBoth
from labeler.report.finding import Finding
from labeler.stats.ppi import CorrectedMean

MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""
FEW_JUDGED = 15


def correction_findings(
    runs: Sequence[ScoredByBoth], scores: Sequence[CorrectedScores]
) -> Iterator[Finding]:
    """All that there is to know; `BadInput` where people left out too much of their queries."""
    yield Finding("the intervals hold if the queries that people judged are a random sample of all")
    judged = max(len(both.judged) for both in runs)
    if judged < FEW_JUDGED:
        yield Finding(
            f"people judged only {judged} queries: on TREC DL 2019 with 10 of 43, corrected "
            "intervals held the truth 90 to 96 times of 100, people's alone 92 to 95"
        )
    yield from _of_unjudged(runs)
    yield from _of_no_width(scores)
    yield from _not_followed(scores)


def _of_unjudged(runs: Sequence[ScoredByBoth]) -> Iterator[Finding]:
    """That people left out documents which the assessor judged: their scores are too low."""
    worst = max(runs, key=lambda both: both.unjudged)
    share = f"{worst.unjudged:.1%} of what the assessor did in the top ten of {worst.run}"
    text = f"people did not judge {share}, so their scores are too low"
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{text}; correcting needs people's grades of whole queries")
    if worst.unjudged > 0:
        yield Finding(text, about=worst.run)


def _of_no_width(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where an interval has no width though people did not judge all queries."""
    names = ", ".join(f"{row.run}'s {row.measure}" for row in scores if _has_no_width(row.means))
    why = "the assessor's scores foretell people's exactly, or never vary, on the judged queries"
    if names:
        yield Finding(f"{names}: an interval of no width is no certainty; {why}")


def _has_no_width(means: CorrectedMean) -> bool:
    mean = means.corrected
    width = (mean.high or 0.0) - (mean.low or 0.0)
    return mean.low is not None and width < 1e-9 and means.judged < means.queries


def _not_followed(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where the assessor was not followed though people did not judge all queries, and why."""
    partly_judged = [row for row in scores if row.means.judged < row.means.queries]
    count = sum(row.means.weight == 0 for row in partly_judged)
    why = "the judged queries do not show that the assessor foretells people's score"
    if count:
        yield Finding(
            f"lambda is 0 for {count} of {len(partly_judged)} scores, people's own: {why}"
        )
