"""The chart of a routing: the agreement to expect, by how many pairs people grade."""

from __future__ import annotations

from labeler.agreement.overview import short
from labeler.errors import Misuse
from labeler.lab.route import RouteResult
from labeler.report.charts import Axis, Drawing, Point, Series, plane


def route_drawing(result: RouteResult) -> Drawing:
    """What is expected of routed pairs, and of as many drawn by chance."""
    if not result.expected:
        problem = "nothing is expected without people's grades of pairs drawn by chance"
        raise Misuse(problem, parameter="people")
    routed, by_chance, these = [], [], []
    for at in result.expected:
        e, pairs = at.routed, f"{at.pairs:,} pairs"
        routed.append(Point(at.share, e.value, e.low, e.high, pairs))
        by_chance.append(Point(at.share, at.at_random.value, name=pairs))
        if at is result.point:
            these.append(Point(at.share, e.value, name=pairs))
    series = [
        Series(f"routed by {result.by}", routed, "dot", "line", band=True),
        Series("drawn by chance", by_chance, "other", "line faint"),
        Series("these pairs", these, "out", named="alarm"),
    ]
    share = Axis(f"share of {result.candidates:,} pairs that people grade", ".0%")
    message = "The area is the 95 % interval over queries."
    expected = Axis(f"{result.statistic} to expect")
    return plane(f"Routing by {short(result.names[0])}", series, (share, expected), message)
