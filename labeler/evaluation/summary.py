"""What an evaluation says in a sentence: which run leads, by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from labeler.evaluation.comparison.paired import Comparison, mean_of
from labeler.evaluation.scores import RunScores
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.metrics.weighting import whole_queries
from labeler.report.table import number_text

NAMED = 3
"""So many runs are named; of more their number is said."""


def headline(
    runs: Sequence[RunScores], comparisons: Sequence[Comparison], measure: str
) -> list[str]:
    """Which run has the best score by the measure, and which of the others it can be told from.

    `runs` stand in order, the best first.
    """
    best = runs[0]
    value = best.scores.means()[measure]
    if math.isnan(value):
        return [f"{measure} is undefined for every query, so that nothing is said of the runs."]
    score, over = number_text(value, _spec(measure)), _queries(best, measure)
    if len(runs) == 1:
        return [f"{best.name}: {measure} is {score} over {over}{_between(best, measure)}."]
    level = "lowest" if parse(measure).definition.lower_is_better else "highest"
    alike = [r.name for r in runs[1:] if math.isclose(r.scores.means()[measure], value)]
    also = f", {'as has' if len(alike) == 1 else 'as have'} {_listed(alike)}" if alike else ""
    leads = f"{best.name} has the {level} {measure}, {score} over {over}{also}"
    by_measure = [c for c in comparisons if c.measure == measure]
    if not by_measure:
        return [f"{leads}."]
    baseline = by_measure[0].baseline
    if baseline == best.name:
        return [f"{leads}{_told_from(by_measure)}."]
    return [f"{leads}.", f"Against {baseline}, {_by_verdict(by_measure)}."]


class Compared(Protocol):
    """A run that was compared with a baseline."""

    @property
    def run(self) -> str:
        """Its name."""

    @property
    def p_corrected(self) -> float:
        """The p of the difference, corrected for the number of comparisons."""

    @property
    def verdict(self) -> str:
        """Better, worse, or neither."""


def told_apart(compared: Sequence[Compared], baseline: str) -> str:
    """Which runs are better and worse than the baseline, and which cannot be told from it."""
    parts = []
    for verdict in ("better", "worse"):
        if runs := [c for c in compared if c.verdict == verdict]:
            parts.append(f"{names_of(runs)} {_is(runs)} {verdict}{at_most(runs)}")
    if runs := [c for c in compared if c.verdict not in ("better", "worse")]:
        parts.append(f"{names_of(runs)} cannot be told from it")
    return f"Against {baseline}, {'; '.join(parts)}."


def in_order(runs: Sequence[RunScores], measure: str) -> list[RunScores]:
    """The runs by their score, the best first; undefined ones last, equal ones as they stood."""
    sign = 1 if parse(measure).definition.lower_is_better else -1
    means = {run.name: run.scores.means()[measure] for run in runs}
    return sorted(runs, key=lambda run: mean_of(means[run.name], sign))


def _spec(measure: str) -> str:
    return ".0f" if _is_sum(measure) else ".4f"


def _queries(run: RunScores, measure: str) -> str:
    """How many queries the run is scored over, and how they count; in a sum they count alike."""
    queries = count_of(len(run.scores.queries), "query", "queries")
    if run.scores.weighting is None or _is_sum(measure):
        return queries
    alike = count_of(whole_queries(run.scores.weighting.effective), "query", "queries")
    return f"{queries} by weight (as precise as {alike} of equal weight)"


def _is_sum(measure: str) -> bool:
    return parse(measure).definition.summary == "sum"


def _between(run: RunScores, measure: str) -> str:
    low, high = run.intervals[measure]
    over_all = f"; over all queries like these {low:.3f} to {high:.3f}, at 95 %"
    return "" if math.isnan(low) else over_all


def _told_from(comparisons: Sequence[Comparison]) -> str:
    """Of the best run: which of the others are worse, and which cannot be told from it."""
    worse, open_, unresolvable = _by_kind(comparisons)
    parts = []
    if worse:
        everyone = "all others" if len(comparisons) > 1 else "the other"
        whom = everyone if len(worse) == len(comparisons) else names_of(worse)
        parts.append(f", better than {whom}{at_most(worse)}")
    if open_:
        but = "but " if not worse else "and "
        parts.append(f", {but}cannot be told from {names_of(open_)}{_at_least(open_)}")
    if unresolvable:
        also = "and " if open_ else "but "
        parts.append(f", {also}{_too_few(unresolvable)}")
    return "".join(parts)


def _by_kind(
    comparisons: Sequence[Comparison],
) -> tuple[list[Comparison], list[Comparison], list[Comparison]]:
    """Those that are told apart, those that are not, and those that could not have been."""
    apart = [c for c in comparisons if c.verdict in ("better", "worse")]
    unresolvable = [c for c in comparisons if c.verdict in ("unresolvable", "undefined")]
    return apart, [c for c in comparisons if c.verdict == "cannot tell apart"], unresolvable


def _by_verdict(comparisons: Sequence[Comparison]) -> str:
    """Of a baseline that was asked for: who is better, worse, or neither."""
    parts = []
    for verdict in ("better", "worse"):
        alike = [c for c in comparisons if c.verdict == verdict]
        if alike:
            parts.append(f"{names_of(alike)} {_is(alike)} {verdict}{at_most(alike)}")
    _, open_, unresolvable = _by_kind(comparisons)
    if open_:
        parts.append(f"{names_of(open_)} cannot be told from it{_at_least(open_)}")
    if unresolvable:
        parts.append(_too_few(unresolvable))
    return "; ".join(parts)


def _too_few(comparisons: Sequence[Comparison]) -> str:
    """That no outcome could have told these runs from the baseline."""
    least = min(c.p_attainable for c in comparisons)
    differ = max(c.wins + c.losses for c in comparisons)
    queries = f"at most {differ}" if len(comparisons) > 1 else f"{differ}"
    few = f"{queries} {'query differs' if differ == 1 else 'queries differ'}"
    smallest = f"no p below {least:.2g} could come of that"
    return f"could not be told from {names_of(comparisons)} by any outcome: {few}, and {smallest}"


def _is(comparisons: Sequence[Compared]) -> str:
    return "is" if len(comparisons) == 1 else "are"


def names_of(comparisons: Sequence[Compared]) -> str:
    """The runs' names; of many, how many they are."""
    return _listed([c.run for c in comparisons])


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def at_most(comparisons: Sequence[Compared]) -> str:
    """The largest of the comparisons' p."""
    largest = max(c.p_corrected for c in comparisons)
    below = "p" if len(comparisons) == 1 else "p at most"
    return f" ({below} {largest:.2g})"


def _at_least(comparisons: Sequence[Comparison]) -> str:
    """The difference of the one run, else the smallest p of the several."""
    if len(comparisons) == 1:
        c = comparisons[0]
        ends = "" if math.isnan(c.low) else f", {c.low:+.3f} to {c.high:+.3f}"
        alone = ", which allows for no other run" if is_alone(c) else ""
        return f" (p {c.p_corrected:.2g}{ends}{alone})"
    return f" (p at least {min(c.p_corrected for c in comparisons):.2g})"


def is_alone(comparison: Comparison) -> bool:
    """Whether the interval leaves out 0 where p, which allows for the other runs, shows nothing."""
    is_open = comparison.verdict == "cannot tell apart"
    return is_open and (comparison.low > 0 or comparison.high < 0)


def verdict_text(comparison: Comparison) -> str:
    """The verdict for people, with the smallest p that could have been where that decides."""
    if comparison.verdict != "unresolvable":
        return comparison.verdict
    return f"unresolvable (p ≥ {comparison.p_attainable:.2g})"


COLORS: Mapping[str, str] = {"better": "green", "worse": "red"}
