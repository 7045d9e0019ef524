"""What a reader of corrected scores should know, one finding each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.errors import BadInput
from labeler.evaluation.correction.corrected import CorrectedScores
from labeler.evaluation.correction.coverage import COVERED
from labeler.evaluation.correction.means import ScoredByBoth
from labeler.report.finding import Finding
from labeler.stats.ppi import CorrectedMean

MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""


def correction_findings(
    runs: Sequence[ScoredByBoth], scores: Sequence[CorrectedScores]
) -> Iterator[Finding]:
    """All that there is to know; `BadInput` where people left out too much of their queries."""
    yield Finding("the intervals hold if the queries that people judged are a random sample of all")
    yield from _of_few(scores)
    yield from _of_unjudged(runs)
    yield from _of_no_interval(scores)
    yield from _not_followed(scores)


def _of_few(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """That few queries are judged: how often so few were enough, where that is known."""
    judged = max(row.means.judged for row in scores)
    if any(row.means.judged == row.means.queries for row in scores):
        return
    shares = []
    for measure in dict.fromkeys(row.measure for row in scores):
        if ends := COVERED.get(measure, {}).get(judged):
            low, high = (f"{100 * end:.0f}" for end in ends)
            shares.append(f"{measure} in {low if low == high else f'{low} to {high}'}")
    if shares:
        yield Finding(
            f"few queries are judged: with {judged} of the 43 of TREC DL 2019, intervals of 95 %"
            f" held the mean of all 43 for {', '.join(shares)} of 100 samples"
        )


def _of_unjudged(runs: Sequence[ScoredByBoth]) -> Iterator[Finding]:
    """That people left out documents which the assessor judged: their scores are too low."""
    worst = max(runs, key=lambda both: both.unjudged)
    share = f"{worst.unjudged:.1%} of what the assessor did in the top ten of {worst.run}"
    text = f"people did not judge {share}, so their scores are too low"
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{text}; correcting needs people's grades of whole queries")
    if worst.unjudged > 0:
        yield Finding(text, about=worst.run)


def _of_no_interval(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where all judged queries are alike, and no bound says how far others could be from them."""
    names = ", ".join(f"{row.run}'s {row.measure}" for row in scores if _has_no_ends(row.means))
    if names:
        yield Finding(f"{names}: no interval, as the judged queries do not differ")


def _has_no_ends(means: CorrectedMean) -> bool:
    return means.corrected.low is None


def _not_followed(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where the assessor was not followed though people did not judge all queries, and why."""
    partly_judged = [row for row in scores if row.means.judged < row.means.queries]
    count = sum(row.means.weight == 0 for row in partly_judged)
    why = "the judged queries do not show that following the assessor makes intervals narrower"
    if count:
        yield Finding(
            f"lambda is 0 for {count} of {len(partly_judged)} scores, which are people's own: {why}"
        )
