"""The counts of a set of judgements: what has a grade, what failed and how, and what it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labeler.data import FAILURES, Failure, Judged, Pair
from labeler.errors import BudgetReached

EXAMPLES = 3


Projected = Sequence[float]
"""About how much it is, and an interval of 95 %; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What some pairs of a run say of all `total` of them.

    `without_grade` is the share of failed pairs, `thoughts` of those that the model thought about.
    Tokens are those of a pair; `dollars` and `hours` those of all pairs, empty where no price is
    known, or nothing was asked anew.
    """

    pairs: int
    failed: int
    total: int
    without_grade: Projected
    thoughts: float
    tokens_in: float
    tokens_out: float
    dollars: Projected
    hours: Projected

    def sentences(self) -> list[str]:
        """What the pilot showed, and what all pairs would take."""
        failed = "{:.0%} [{:.0%}, {:.0%}] without a grade".format(*self.without_grade)
        took = f"{self.tokens_in:,.0f} tokens in and {self.tokens_out:,.0f} out a pair"
        thoughts = f"{self.thoughts:.0%} after thoughts"
        cost, hours = "${:,.4g} [{:,.4g}, {:,.4g}]", "{:.2g} [{:.2g}, {:.2g}] hours"
        takes = [cost.format(*self.dollars)] if self.dollars else []
        takes += [hours.format(*self.hours)] if self.hours else []
        return [
            f"pilot of {self.pairs} pairs: {failed}, {thoughts}, {took}",
            f"all {self.total:,} pairs: about {', '.join(takes) or 'nothing'}",
        ]


@dataclass(slots=True)
class Tally:
    """Counts of the set `name`; `judged` and all `failures` add up to the pairs that are done.

    `examples` holds the first pairs of each kind of failure; `models` the names that the server
    gave in this run, `served` those of all replies; `listed` counts pairs whose documents stood in
    lists; `suspicions` counts pairs by what looks suspicious about their documents, of which
    `suspicious` have any, and `suspicious_pairs` are the first; `stopped` is what ended it before
    all pairs were done. `by_passages` counts pairs whose document was too long to be shown whole;
    `pilot` is what the first pairs said of all, where they were looked at. `sent` holds what was
    sent with requests, each once.
    """

    name: str = ""
    pairs: int = 0
    judged: int = 0
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    examples: dict[str, list[tuple[Pair, str]]] = field(
        default_factory=lambda: {status: [] for status in FAILURES}
    )
    models: dict[str, None] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    remembered: int = 0
    shared: int = 0
    listed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    suspicious: int = 0
    suspicions: Counter[str] = field(default_factory=Counter)
    suspicious_pairs: list[Pair] = field(default_factory=list)
    stopped: BudgetReached | None = None
    by_passages: int = 0
    pilot: Pilot | None = None

    def add(self, judged: Judged) -> None:
        """Count one pair."""
        self.pairs += 1
        if isinstance(judged.outcome, Failure):
            outcome = judged.outcome
            self.failures[outcome.status] += 1
            if len(self.examples[outcome.status]) < EXAMPLES:
                self.examples[outcome.status].append((outcome.pair, outcome.detail))
        else:
            self.judged += 1
            self.by_passages += bool(judged.outcome.passages)
        self.suspicious += bool(judged.suspicions)
        if judged.suspicions and len(self.suspicious_pairs) < EXAMPLES:
            self.suspicious_pairs.append(judged.outcome.pair)
        self.suspicions.update(judged.suspicions)
        self.remembered += judged.remembered
        self.shared += judged.shared
        self.listed += judged.listed is not None
        self.served.add(judged.model)
        if judged.sent and judged.sent not in self.sent:
            self.sent.append(dict(sorted(judged.sent.items())))
        if judged.model and not judged.remembered:
            self.models[judged.model] = None
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens
        self.cached_tokens += judged.cached_tokens

    @property
    def failed(self) -> int:
        """How many pairs have no grade."""
        return self.pairs - self.judged

    @property
    def failures_by_status(self) -> dict[str, int]:
        """How many pairs failed in each way that occurred."""
        return {status: count for status, count in self.failures.items() if count}
