"""What a published figure can say: a mean over so many queries, as a table or a page gives it.

Nothing else is known of it, neither the values of single queries nor how they vary. So the interval
holds for whatever values between 0 and 1 have that mean: Hoeffding's bound (1963, JASA 58, theorem
1). Where each query's value is 0 or 1, as that of Success, it is Clopper and Pearson's, and means
that no such values have are found (Brown and Heathers 2017, GRIM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.options import COUNT, Options, option
from labeler.report.result import Result
from labeler.report.table import shown
from labeler.stats.means import largest_share
from labeler.stats.student import SIGNIFICANT, crossed

ZERO_OR_ONE = ("Success",)
"""Measures whose value for a query is 0 or 1."""


class MeanBounds(NamedTuple):
    """The least and the largest value of something."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AuditOptions(Options):
    """The published figure: the mean of a measure as it is printed, over how many queries."""

    measure: str = option("nDCG@10", "The measure.", flags="-m --measure")
    value: str = option("", "Its mean, in the digits in which it is printed.")
    queries: int = option(1, "Over so many queries.", COUNT)
    binary: bool = option(False, "The value of each query is 0 or 1, as with one answer each.")


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What a mean over so many queries says of all queries like them.

    `interval` has 95 % coverage for whatever values lie between 0 and 1, `rounding` is what the
    printed digits leave open. `is_possible` is false where no values of 0 and 1 have such a mean.
    `differing` is how many queries have to differ, all in one direction, for the sign test to tell
    two systems apart; None where these are too few.
    """

    measure: str
    value: float
    queries: int
    is_binary: bool
    rounding: MeanBounds
    interval: MeanBounds

    @shown
    def is_possible(self) -> bool | None:
        """Whether values of 0 and 1 have such a mean; None where values lie between."""
        if not self.is_binary:
            return None
        low, high = (end * self.queries for end in self.rounding)
        return math.floor(high + _DIGITS) >= math.ceil(low - _DIGITS)

    @shown
    def differing(self) -> int | None:
        """How many queries have to differ for the sign test, two-sided."""
        return _LEAST_DIFFERING if self.queries >= _LEAST_DIFFERING else None

    @property
    def sentences(self) -> list[str]:
        """What the figure leaves open, and what would say more."""
        low, high = self.interval
        over = count_of(self.queries, "query")
        lines = [
            f"{self.measure} {self.value:g} over {over}: the mean over all queries like these may "
            f"be anything from {low:.3f} to {high:.3f}"
        ]
        if self.is_possible is False:
            lines.append(f"no {self.queries:,} values of 0 and 1 have the mean {self.value:g}")
        if self.differing is None:
            lines.append(
                f"so few tell no two systems apart: {_LEAST_DIFFERING} have to differ, all alike"
            )
        else:
            lines.append(
                f"two systems are told apart where {self.differing} queries or more differ, all in "
                "one direction; it takes more where some go the other way"
            )
        return lines


_DIGITS = 1e-9
_LEAST_DIFFERING = math.ceil(1 - math.log2(SIGNIFICANT))
"""2 ** (1 - n) is the two-sided p of n differences in one direction."""


def audit(options: AuditOptions | None = None, **settings: Any) -> Audit:
    """What a published mean can say; `settings` are fields of `AuditOptions`.

    Raises `Misuse` where the value is no number from 0 to 1.

    >>> found = audit(measure="Success@5", value="1.00", queries=10)
    >>> round(found.interval.low, 3), found.differing
    (0.692, 6)
    """
    how = options or AuditOptions(**settings)
    try:
        value = float(how.value)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise Misuse(
            f"a mean is a number from 0 to 1, as 0.87, not {how.value!r:.40}", parameter="value"
        )
    measure = parse(how.measure)
    half = 0.5 * 10.0 ** -len(how.value.strip().partition(".")[2]) if "e" not in how.value else 0.0
    rounding = MeanBounds(max(0.0, value - half), min(1.0, value + half))
    is_binary = how.binary or measure.name in ZERO_OR_ONE
    # the two-sided 95 % interval of all queries' mean, by a mean within the rounding
    level, bound = SIGNIFICANT / 2, _exact if is_binary else _hoeffding
    low = 1 - bound(1 - rounding.low, how.queries, level)
    interval = MeanBounds(low, bound(rounding.high, how.queries, level))
    return Audit(str(measure), value, how.queries, is_binary, rounding, interval)


def _exact(share: float, queries: int, level: float) -> float:
    """Clopper and Pearson's upper bound, of as many ones as may have that share."""
    return largest_share(min(queries, math.floor(share * queries + _DIGITS)), queries, level)


def _hoeffding(mean: float, queries: int, level: float) -> float:
    """The largest mean m of all with exp(-n KL(mean, m)) of `level`; KL is of two coins."""

    def is_likely(m: float) -> bool:
        return m < 1 and (m <= mean or math.exp(-queries * _divergence(mean, m)) > level)

    return crossed(is_likely, 1.0, 0.0, 1e-9)


def _divergence(p: float, q: float) -> float:
    """The Kullback-Leibler divergence of a coin of chance `p` from one of `q`, 0 < q < 1."""
    of_ones = p * math.log(p / q) if p else 0.0
    of_zeros = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return of_ones + of_zeros
