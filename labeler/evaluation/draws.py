"""The queries of a decision between two systems, in the order of drawing, and what grades tell.

Queries are drawn by how far the two may differ there at most (`labeler.stats.sequential`). What is
not judged leaves a difference open between bounds (`labeler.evaluation.differences`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from labeler.arrays import Floats
from labeler.collection.stale import hash_of
from labeler.data import Pair
from labeler.evaluation.differences import Credit, Credits, Differences, Span
from labeler.report.table import Column, Interval
from labeler.stats.sequential import Drawn, draw_order, draws_until, estimate, sum_bounds
from labeler.stats.student import t_of

Grades = Mapping[str, Mapping[str, int]]
FEWEST = 4
"""So many queries are drawn at once, and an eighth of those drawn before if that is more."""
CLOSED = 1e-9
"""A difference that can vary by less is settled."""
GRADED_FIRST = 10
"""So many queries whose grades are there say how the others are likely to go on."""
FUTURES, LIKELY = 25, 0.75
"""So many pairs are likely to be needed as suffice in this part of so many possible futures."""


@dataclass(frozen=True)
class DrawnDifference:
    """What the `judged` pairs tell of the mean difference, once so many queries are drawn.

    `next_set` is where it lies on another set of as many queries like these.
    """

    drawn: int
    judged: int
    difference: float
    low: float
    high: float
    next_set: Annotated[Interval, Column(title="on other queries", format="", ends="+.3f")]

    def verdict(self, margin: float) -> str:
        """What it tells of the new system; empty where it tells nothing yet."""
        if self.low > CLOSED or self.high < -CLOSED:
            return "better" if self.low > 0 else "worse"
        return "as good" if max(-self.low, self.high) <= margin else ""


@dataclass(frozen=True, eq=False)
class Draws:
    """The queries of a decision in the order of drawing, with what was settled of each before.

    `documents` say of each query what its documents count; `before` are the grades that were there.
    `forecasts` are the grades of an assessor who gave all of them when `since` queries were drawn.
    """

    differences: Differences
    documents: Mapping[str, Credits]
    before: Grades
    seed: str = ""
    forecasts: Grades = field(default_factory=dict)
    since: int = 0

    def span(self, query: str, grades: Grades) -> Span:
        """What a query may differ by."""
        return self.differences.span(self.documents[query], grades.get(query, {}))

    def ends(self, queries: Iterable[str], grades: Grades) -> Floats:
        """`(queries, 2)`: the least and the most that each may differ by."""
        return np.array([self.span(query, grades) for query in queries]).reshape(-1, 2)

    @cached_property
    def first(self) -> dict[str, Span]:
        """The span of each query before any is drawn."""
        return {query: self.span(query, self.before) for query in self.documents}

    @cached_property
    def order(self) -> list[str]:
        """The queries that are open, as they are drawn."""
        widths = {q: high - low for q, (low, high) in self.first.items() if high - low > CLOSED}
        return [[*widths][number] for number in draw_order([*widths.values()], self.seed)]

    @cached_property
    def drawn_from(self) -> Drawn:
        """What was known of the open queries, in the order of drawing, before any was drawn."""
        low, high = self.ends(self.order, self.before).T
        if not self.forecasts:
            return Drawn(low, high)
        return Drawn(low, high, self.forecast(self.order, self.forecasts), self.since)

    @property
    def forecasts_hash(self) -> str:
        """What tells the forecasts of the open queries from others; empty without any."""
        forecasts = self.drawn_from.forecast
        return "" if forecasts is None else hash_of(str(forecasts.tolist()))

    def forecast(self, queries: Iterable[str], forecasts: Grades) -> Floats:
        """What queries differ by as an assessor grades what the systems return."""
        ends = [
            self.differences.span(self.returned[query], forecasts.get(query, {}))
            for query in queries
        ]
        return np.asarray(np.reshape(ends, (-1, 2)).mean(axis=1), dtype=np.float64)

    @cached_property
    def returned(self) -> dict[str, Credits]:
        """Of each query the documents that a system returns."""
        nothing = Credit()
        return {
            query: {doc: credit for doc, credit in documents.items() if credit != nothing}
            for query, documents in self.documents.items()
        }

    def graded(self, grades: Grades) -> list[str]:
        """The queries that grades have settled."""
        return [
            query
            for query in self.documents
            if query in grades and self._is_open(query, {}) and not self._is_open(query, grades)
        ]

    def _is_open(self, query: str, grades: Grades) -> bool:
        low, high = self.span(query, grades)
        return high - low > CLOSED

    @cached_property
    def settled(self) -> float:
        """What the closed queries differ by together."""
        return sum(self.first[query][0] for query in self.first.keys() - {*self.order})

    def further(self, drawn: int) -> int:
        """How many queries are drawn after the next batch."""
        return min(len(self.order), drawn + max(FEWEST, drawn // 8))

    def to_judge(
        self, grades: Grades, drawn: int, asked: Container[Pair] = frozenset()
    ) -> list[Pair]:
        """What to judge next of the first queries that was not `asked`; nothing of settled ones."""
        pairs = list[Pair]()
        for query in self.order[:drawn]:
            documents, judged = self.documents[query], grades.get(query, {})
            left = {
                d: c for d, c in documents.items() if d in judged or Pair(query, d) not in asked
            }
            docs = self.differences.to_judge(left, judged)
            pairs += [Pair(query, doc) for doc in docs if self._is_open(query, grades)]
        return pairs

    def unjudged(self, grades: Grades, queries: Iterable[str] | None = None) -> list[Pair]:
        """The pairs of some queries, by default of the open ones, that have no grade."""
        of = self.order if queries is None else queries
        pairs = (Pair(query, doc) for query in of for doc in self.documents[query])
        return [pair for pair in pairs if pair.doc_id not in grades.get(pair.query_id, ())]

    def look(self, grades: Grades, drawn: int) -> DrawnDifference:
        """What the grades of the first queries tell of the mean difference over all queries."""
        of, now = self.drawn_from, self.ends(self.order[:drawn], grades)
        least, most = now.T
        ends = sum_bounds(of, least, most)
        middle = np.clip(estimate(of, (least + most) / 2), *ends)
        # rounded, as both ends of an exact difference are one number
        value, below, above = [
            round(float(self.settled + s) / len(self.documents), 12) for s in (middle, *ends)
        ]
        return DrawnDifference(
            drawn,
            len(self.unjudged(self.before)) - len(self.unjudged(grades)),
            value,
            below,
            above,
            _on_next_set(
                value, below, above, self.first | dict(zip(self.order, now.tolist(), strict=False))
            ),
        )

    def likely(self, grades: Grades, margin: float, forecasts: Grades) -> int | None:
        """About how many pairs are to be judged yet until it is decided, with such forecasts.

        So many suffice in three of four futures, in which the open queries lie as far from their
        forecasts as some of those with grades; without forecasts, where these lie. None where few
        have grades.
        """
        if len(graded := self.graded(grades)) < GRADED_FIRST:
            return None
        (_, _, by_grades, expected), (low, width, _, others) = (
            self._shares(queries, grades, forecasts) for queries in (graded, self.order)
        )
        has_forecast = [query in forecasts for query in self.order]
        # how many queries were drawn until the last one that is settled
        places = enumerate(self.order, start=1)
        drawn = max((n for n, query in places if not self._is_open(query, grades)), default=0)
        ends = self.ends(self.order, grades)
        since = self.since if self.forecasts else drawn
        goals = np.array([-margin, 0.0, margin]) * len(self.documents) - self.settled
        draw, until = np.random.default_rng(0), list[int]()
        for _ in range(FUTURES):
            # queries that are like the graded ones, as far as so few of these show it
            shown = draw.integers(len(graded), size=len(graded))
            like = draw.choice(shown, size=len(self.order))
            forecast = low + width * np.where(has_forecast, others, expected[like])
            values = np.clip(forecast + width * (by_grades - expected)[like], *ends.T)
            of = replace(self.drawn_from, forecast=forecast if forecasts else None, since=since)
            until.append(draws_until(of, values, goals))
        further = self.order[: max(int(np.quantile(until, LIKELY)), drawn)]
        # of a query that is settled, as large a part of its pairs as of those before
        now, before = (len(self.unjudged(by, self.order[:drawn])) for by in (grades, self.before))
        part = 1 - now / before if before else 1.0
        left = [query for query in further if self._is_open(query, grades)]
        return round(part * len(self.unjudged(grades, left)))

    def _shares(
        self, queries: Sequence[str], grades: Grades, forecasts: Grades
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Where queries may differ from, by how much, and their shares of that way.

        The shares are those by grades and by forecasts, a half where there are none.
        """
        low, high = self.ends(queries, {}).T
        width, by = np.maximum(high - low, CLOSED), self.ends(queries, grades).mean(axis=1)
        has_forecast = [query in forecasts for query in queries]
        share = np.where(has_forecast, (self.forecast(queries, forecasts) - low) / width, 0.5)
        return low, width, (by - low) / width, share


def _on_next_set(difference: float, low: float, high: float, spans: Mapping[str, Span]) -> Interval:
    """A mean difference over queries of these spans, with where another set's lies.

    Both sets vary about the mean of all such queries. A query that is not settled may lie anywhere
    in its span.
    """
    ends = np.array([*spans.values()])
    if len(ends) < 2:
        return Interval(difference, None, None)
    variance = ends.mean(axis=1).var(ddof=1) + (np.diff(ends) ** 2).mean() / 12
    reach = t_of(len(ends) - 1) * float(np.sqrt(2 * variance / len(ends)))
    return Interval(difference, max(low - reach, -1.0), min(high + reach, 1.0))
