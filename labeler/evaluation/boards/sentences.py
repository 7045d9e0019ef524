"""What two leaderboards say, in sentences that need no statistics to be understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from labeler.evaluation.boards.systems import Swap, System
from labeler.evaluation.boards.two_sided import PairCounts
from labeler.messages import count_of
from labeler.report.table import number_text
from labeler.stats.pairwise import Decisions
from labeler.stats.rankings import Correlation

ALONE = "each pair alone at p < .05"


class Board(Protocol):
    """What sentences need to know of a `Leaderboard`."""

    @property
    def measure(self) -> str:
        """What ranks the systems."""

    @property
    def queries(self) -> Sequence[str]:
        """The queries that both judged."""

    @property
    def systems(self) -> Sequence[System]:
        """The systems with their means by both."""

    @property
    def statistics(self) -> Mapping[str, Correlation]:
        """How alike the two orders are."""

    @property
    def swaps(self) -> Sequence[Swap]:
        """The pairs of which the two put another system first."""

    @property
    def decisions(self) -> Mapping[str, Decisions]:
        """How far the two agree on which pairs differ."""

    @property
    def pairs(self) -> PairCounts:
        """What the two judged."""

    @property
    def shared(self) -> bool:
        """Whether scores are on the pairs that both judged."""

    @property
    def ceiling(self) -> float | None:
        """The tau-b of two sets of as many queries."""


def board_sentences(board: Board, first: str, second: str) -> Iterator[str]:
    """How alike the orders are, on which differences the two agree, what queries' noise allows.

    `first` and `second` are what sentences call the two; `people` is a plural.
    """
    yield order_sentence(board, first, second)
    if len(board.systems) > 2:
        yield significance_sentence(board.decisions["alone"], first, second)
        if board.ceiling is not None:
            queries = count_of(len(board.queries), "such query", "such queries")
            yield (
                f"For comparison: another {queries}, graded by {first}, would order these systems"
                f" with a tau-b of about {_plain(board.ceiling)} to the order by {first} here."
            )


def order_sentence(board: Board, first: str, second: str) -> str:
    """How alike the two orders are, and which pairs change places."""
    tau = board.statistics["tau_b"]
    if tau.value is None:
        return f"Whether {second} would order systems as {first} {_do(first)} cannot be told."
    count = len(board.systems)
    both = count_of(board.pairs.both, "pair", "pairs")
    over = f", over the {both} that both judged," if board.shared else ""
    likeness = _likeness(tau, first)
    swaps = _swaps(board.swaps, count * (count - 1) // 2, first, second)
    return f"By {board.measure}{over} {second} orders {count} systems {likeness}: {swaps}."


def _do(who: str) -> str:
    return "do" if who == "people" else "does"


def _likeness(tau: Correlation, first: str) -> str:
    """A word where both ends of the interval allow for it, else the value and its ends."""
    value, low, high, is_open = tau
    assert value is not None
    ends = "" if low is None or high is None else f"{_plain(low)} to {_plain(high)}"
    if is_open:
        ends = "nearly anything"
    sure = f"; over all queries like these {ends}" if ends else ""
    if value > 1 - 1e-9:
        word = "exactly as"
    elif low is None or high is None or _word(low) != _word(high):
        return f"with a tau-b of {_plain(value)} to {first}'s order (1: the same{sure})"
    else:
        word = _word(value)
    return f"{word} {first} {_do(first)} (tau-b {_plain(value)}{sure})"


def _word(tau: float) -> str:
    return "nearly as" if tau >= 0.9 else "much as" if tau >= 0.7 else "not as"


def _plain(value: float) -> str:
    return number_text(float(value), ".2f")


def _swaps(swaps: Sequence[Swap], pairs: int, first: str, second: str) -> str:
    """Which pairs change places, and by whose grades these can be told apart."""
    if pairs == 1 and not swaps:
        return "they keep their places"
    if pairs == 1:
        return f"they change places{_who_can(swaps, first, second, 'them')}"
    change = "changes" if len(swaps) == 1 else "change"
    number = f"{len(swaps):,}" if swaps else "none"
    counted = f"{number} of the {pairs:,} pairs of systems {change} places"
    return counted + (_who_can(swaps, first, second, "those") if swaps else "")


def _who_can(swaps: Sequence[Swap], first: str, second: str, them: str) -> str:
    """Whose grades tell the pairs that change places apart; not being told apart is no equality."""
    ours = sum(swap.significant for swap in swaps)
    theirs = sum(swap.significant_by_second for swap in swaps)
    if not ours and not theirs:
        return (
            f"; neither's grades tell any of {them} apart ({ALONE}), which is no sign of equality"
        )
    return f"; of {them}, {first}'s grades tell {ours:,} apart, {second}'s {theirs:,} ({ALONE})"


def significance_sentence(of: Decisions, first: str, second: str) -> str:
    """Which of the second's significant differences are the first's too."""
    counts = (
        f"{first}'s grades tell {of.first:,} of the {of.pairs:,} pairs apart, "
        f"{second}'s {of.second:,} ({ALONE})"
    )
    if not of.second:
        return f"{counts}."
    if not of.unconfirmed:
        return f"{counts}; the latter are all among the former."
    share = f"{100 * of.unconfirmed / of.second:.0f} %"
    turned = of.active_disagreements
    other_way = f", {turned:,} of them the other way round" if turned else ""
    are = "is" if of.unconfirmed == 1 else "are"
    return (
        f"{counts}; {of.unconfirmed:,} of the latter ({share}) {are} not by {first}'s{other_way}."
    )
