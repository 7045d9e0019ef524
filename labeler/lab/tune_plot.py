"""The chart of tuning: agreement with people against cost, and what no other assessor beats."""

from __future__ import annotations

from labeler.lab.standing import TuneResult
from labeler.report.charts import Axis, Drawing, Point, Series, plane


def tuning_drawing(result: TuneResult) -> Drawing:
    """Every candidate's agreement against its cost, with intervals; the efficient are joined."""
    points = [
        (standing.name in result.efficient, Point(result.cost(standing), *quality, name))
        for number, standing in enumerate(result.standings, start=1)
        for quality, name in [(result.quality(standing), f"{number}  {standing.name}")]
    ]
    best = sorted(point for is_efficient, point in points if is_efficient)
    others = [point for is_efficient, point in points if not is_efficient]
    series = [
        Series("no other is as good for less", best, "dot", "line thin", named="name"),
        Series("another is", others, "dot unclear", named="name"),
    ]
    cost = "dollars for 1,000 pairs" if result.has_costs else "tokens of a pair, prompt and reply"
    quality = Axis(f"{result.statistic} with {result.human}")
    of = f"{result.standings[0].queries} queries that the best was chosen by"
    message = f"On {of}. Lines are 95 % intervals; from 2 on, of the difference from 1."
    axes = Axis(cost, "$" if result.has_costs else ",.0f"), quality
    return plane("Agreement by cost", series, axes, message)
