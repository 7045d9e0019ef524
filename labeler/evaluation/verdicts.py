"""What is said of runs that were compared: which may be the best, which can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from labeler.evaluation.scores import NAMED, NOT_KNOWN, listed
from labeler.messages import count_of
from labeler.report.table import Column
from labeler.stats.families import FEW, Family

TOLD = ("better", "worse", "not the best")
"""The verdicts that tell two runs apart."""


class Compared(Protocol):
    """A run beside a baseline, by scores as they are or corrected ones: what is said of both."""

    @property
    def run(self) -> str:
        """The run's name."""

    @property
    def baseline(self) -> str:
        """The name of the run that it is held against."""

    @property
    def measure(self) -> str:
        """What both are compared by."""

    @property
    def family(self) -> Family:
        """The comparisons that p allows for."""

    @property
    def p(self) -> float:
        """The p that the verdict goes by."""

    @property
    def verdict(self) -> str:
        """Which is better, in words, or that it cannot be told."""


def may_be_best(compared: Sequence[Compared]) -> list[str]:
    """Which runs may be the best, where they were compared with the best of the same scores."""
    of_best = any(c.family in ("best", "may be best") for c in compared)
    if not of_best or all(c.verdict == NOT_KNOWN for c in compared):
        return []
    measure, best = compared[0].measure, compared[0].baseline
    names = [best, *(c.run for c in compared if not c.verdict.startswith(TOLD))]
    if len(names) == 1:
        return [f"{best} is the best of these {len(compared) + 1} runs by {measure}."]
    if len(names) > NAMED:
        others = count_of(len(names) - 1, "other", "others")
        return [f"{best} or one of {others} may be the best by {measure}."]
    named = f"{', '.join(names[:-1])} or {names[-1]}"
    return [f"{named} may be the best by {measure}."]


def told_apart(compared: Sequence[Compared], best: str) -> list[str]:
    """Which runs are better or worse than the baseline, and which cannot be told from it."""
    parts = []
    if any(c.family == "all pairs" for c in compared):
        apart = sum(c.verdict.startswith(TOLD) for c in compared)
        return [f"{apart:,} of the {len(compared):,} pairs of runs can be told apart."]
    by_verdict: dict[str, list[Compared]] = {}
    for each in compared:
        by_verdict.setdefault(each.verdict, []).append(each)
    for verdict in sorted(by_verdict, key=_rank):
        of = by_verdict[verdict]
        names, p, is_one = listed([c.run for c in of]), [c.p for c in of], len(of) == 1
        if verdict.startswith("may be the best"):
            continue
        if verdict.startswith(TOLD):
            most = "p" if is_one else "p at most"
            parts.append(f"{names} {'is' if is_one else 'are'} {verdict} ({most} {max(p):.2g})")
        elif verdict.startswith("cannot tell apart"):
            least = "p" if is_one else "p at least"
            parts.append(f"{names} cannot be told apart ({least} {min(p):.2g})")
        else:
            parts.append(f"too few queries differ to tell {names} apart by any outcome")
    if not parts:
        return []
    baseline = "it" if compared[0].baseline == best else compared[0].baseline
    return [f"Against {baseline}, {'; '.join(parts)}."]


def _rank(verdict: str) -> int:
    """Where a verdict comes in a sentence."""
    order = (*TOLD, "may be the best", "cannot tell apart", "unresolvable", "undefined")
    return next(rank for rank, words in enumerate(order) if verdict.startswith(words))


# The columns and the note of their tables.


def beside(compared: Sequence[Compared]) -> list[Column]:
    """The columns of runs and, where there are several, of what each is compared with."""
    run, baseline = Column("run", align="left"), Column("baseline", "against", align="left")
    return [run, baseline] if len({c.baseline for c in compared}) > 1 else [run]


def against(compared: Sequence[Compared]) -> str:
    """What a table says of its one baseline."""
    return "" if len(beside(compared)) > 1 else f"against {compared[0].baseline}"


def allowance(compared: Sequence[Compared]) -> str:
    """What p and intervals allow for; empty of one pair."""
    runs, pairs = len({c.run for c in compared}), len({(c.run, c.baseline) for c in compared})
    return {
        "pair": "",
        "baseline": f"p and intervals allow for the {runs} runs compared with the baseline",
        "best": f"p and intervals allow for the choice of the best of {runs + 1} runs",
        "may be best": f"fewer than {FEW} queries: each run alone may be the best, or is not",
        "all pairs": f"p and intervals allow for all {pairs} pairs of runs",
        "hsd": f"p and intervals allow for all {(runs + 1) * runs // 2} pairs of runs (HSD)",
    }[compared[0].family]
