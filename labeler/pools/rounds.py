"""What rounds of expanding a pool brought, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from labeler.messages import count_of


class RoundFound(NamedTuple):
    """What a round of expansion brought: its pairs, those judged, and the relevant among them.

    `relevant_in_pool` are those of the whole pool but for its random sample.
    """

    round: int
    pairs: int
    judged: int
    relevant: int
    relevant_in_pool: int

    @property
    def share(self) -> float:
        """The share of all relevant documents that this round brought."""
        return self.relevant / self.relevant_in_pool if self.relevant_in_pool else 0.0

    def __str__(self) -> str:
        documents = count_of(self.relevant, "relevant document", "relevant documents")
        return (
            f"round {self.round} brought {documents} in {count_of(self.pairs, 'pair', 'pairs')}, "
            f"{self.share:.1%} of the {self.relevant_in_pool:,} there are"
        )


@dataclass(frozen=True, slots=True)
class Expanded:
    """What an expansion did: `last` is what the round before it brought, None before the first.

    `seeds` relevant documents have `added` pairs of neighbors, in the round `round`; where
    `stopped`, none were looked for, as the last round brought less than the share `until`.
    `left_out` counts the pairs that a bound on the pool left no room for.
    """

    round: int
    seeds: int
    added: int
    stopped: bool
    until: float
    last: RoundFound | None = None
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        """The counts, and those of the round before."""
        last = None if self.last is None else {**self.last._asdict(), "share": self.last.share}
        return {
            "round": self.round,
            "seeds": self.seeds,
            "added": self.added,
            "left_out": self.left_out,
            "stopped": self.stopped,
            "until": self.until,
            "last": last,
        }

    def sentences(self) -> list[str]:
        """What the round before brought, and whether there is another."""
        lines = [str(self.last)] if self.last else []
        if self.stopped:
            return [*lines, f"stopped: that is less than {self.until:.1%}; nothing was added"]
        seeds = count_of(self.seeds, "relevant document", "relevant documents")
        pairs = count_of(self.added, "pair", "pairs")
        if self.left_out:
            more = count_of(self.left_out, "pair", "pairs")
            lines.append(f"the pool is at the size that was set for it; left out: {more}")
        if not self.added and self.left_out:
            return [*lines, "stopped: nothing was added; set a larger size to go on"]
        if not self.added:
            return [*lines, f"stopped: the pool has all neighbors of {seeds} already"]
        return [*lines, f"round {self.round}: {pairs} added, from {seeds}; judge them, then repeat"]
