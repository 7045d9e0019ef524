"""What `route` returns: the pairs for people, the expected gain, tables and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.agreement.estimate import Estimate
from labeler.agreement.route.criteria import ABOUT, Criterion
from labeler.agreement.route.forecast import ForecastPoint
from labeler.agreement.sentences import plain, short, signed
from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.estimates import Mean

if TYPE_CHECKING:
    from pandas import DataFrame


class RoutedPair(NamedTuple):
    """A pair for a person, the grade that stands until then, and how much it is needed."""

    pair: Pair
    grade: int
    need: float


@dataclass(frozen=True, eq=False, repr=False)
class RouteResult:
    """The pairs whose grades people should check, the most needed first.

    `candidates` counts the pairs that nobody has looked at. `expected` are points of the curve of
    agreement by how many of them people grade; empty where `people` graded no random sample.
    """

    names: tuple[str, ...]
    by: Criterion
    pairs: tuple[RoutedPair, ...]
    candidates: int
    people: str = ""
    statistic: str = "kappa"
    expected: tuple[ForecastPoint, ...] = ()
    collection: Collection | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def point(self) -> ForecastPoint | None:
        """What is expected of the pairs that were chosen."""
        return next((p for p in self.expected if p.pairs == len(self.pairs)), None)

    @property
    def sentences(self) -> list[str]:
        """Which pairs these are, and what to expect of grading them."""
        pairs = count_of(len(self.pairs), "pair", "pairs")
        queries = len({routed.pair.query_id for routed in self.pairs})
        these = (
            f"{pairs} of {self.candidates:,} that nobody has graded, in "
            f"{count_of(queries, 'query', 'queries')}: chosen by {self.by}, {ABOUT[self.by]}."
        )
        point = self.point
        if point is None or point.routed.value is None:
            return [these]
        now = self.expected[0].routed
        expected = (
            f"Grade these {pairs} and expect {self.statistic} {_ends(point.routed)} with people "
            f"over all {self.candidates:,}, where {short(self.names[0])} alone has {_ends(now)}; "
            f"as many drawn by chance would bring {_ends(point.at_random)}."
        )
        return [these, expected, *self._gain(point)]

    def _gain(self, point: ForecastPoint) -> list[str]:
        """Whether routing is worth it, as far as people's drawn grades can tell."""
        gain = point.gain
        if gain.low is None or gain.high is None:
            return []
        ends = f"{signed(gain.value, 2)} [{signed(gain.low, 2)}, {signed(gain.high, 2)}]"
        if gain.low <= 0 <= gain.high:
            return [f"People's drawn pairs do not tell routing from chance: a gain of {ends}."]
        return [f"Routing gains {ends} over chance."]

    def tables(self, limit: int | None = None) -> list[Table]:
        """The tables `expected` and `pairs`, of which at most `limit` are shown."""
        pairs = [
            Column("query_id", align="left"),
            Column("doc_id", align="left"),
            Column("grade", format="d"),
            Column("need", format=".3f"),
        ]
        rows: list[Row] = [
            [*routed.pair, routed.grade, routed.need] for routed in self.pairs[:limit]
        ]
        left = len(self.pairs) - len(rows)
        note = f"… and {left:,} more" if left else ""
        listed = Table("pairs", pairs, rows, title="the most needed first", note=note)
        return [self._expected_table(), listed] if self.expected else [listed]

    def _expected_table(self) -> Table:
        columns = [
            Column("pairs", format=",d"),
            Column("share", title="of all", format=".0%"),
            Column("routed", format=".3f", ends=".3f"),
            Column("at random", format=".3f", ends=".3f"),
            Column("gain", format="+.3f", ends="+.3f"),
        ]
        rows: list[Row] = [
            [
                point.pairs,
                point.share,
                _cell(point.routed),
                _cell(point.at_random),
                _cell(point.gain),
            ]
            for point in self.expected
        ]
        title = f"{self.statistic} to expect, by how many pairs people grade"
        return Table("expected", columns, rows, title=title)

    def frame(self) -> DataFrame:
        """The pairs as a pandas DataFrame."""
        return self.tables()[-1].frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `route`."""
        return {
            "assessors": list(self.names),
            "by": self.by,
            "people": self.people or None,
            "statistic": self.statistic,
            "candidates": self.candidates,
            "expected": [asdict(point) for point in self.expected],
            "pairs": [
                {**routed.pair._asdict(), "grade": routed.grade, "need": routed.need}
                for routed in self.pairs
            ],
            "warnings": [f.text for f in self.findings if f.level == "warning"],
        }

    def __repr__(self) -> str:
        return f"RouteResult({len(self.pairs)} of {self.candidates} pairs, by {self.by})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.sentences)


def _cell(estimate: Estimate | Mean) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def _ends(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    value = plain(estimate.value, 2)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{plain(estimate.low, 2)}, {plain(estimate.high, 2)}]"
