"""Charts of a calibration: reliability at each cut, before and after, and learning."""

from __future__ import annotations

from labeler.agreement.overview import short
from labeler.errors import Misuse
from labeler.lab.calibrate import CalibrateResult, CutReliability
from labeler.report.charts import Axis, Drawing, Point, Series, plane


def calibration_drawings(result: CalibrateResult) -> list[Drawing]:
    """What was said against what came true, and the log loss by how much was graded."""
    if not result.cuts:
        raise Misuse("a saved fit that was applied has nothing to draw", parameter="picture")
    return [*(_reliability(cut) for cut in result.cuts), _curve(result)]


def _reliability(cut: CutReliability) -> Drawing:
    series = [
        Series(
            name, [Point(b.probability, b.true, name=f"{b.pairs:,} pairs") for b in side.bins], kind
        )
        for name, side, kind in (("before", cut.before, "other"), ("after", cut.after, "dot"))
    ]
    axes = Axis("probability", ".1f", 0.0, 1.0), Axis("share that people graded so high", ".1f")
    title = f"Grade {cut.after.cut} or more, on queries not fitted to"
    return plane(title, series, axes, diagonal=True)


def _curve(result: CalibrateResult) -> Drawing:
    points = []
    for at in result.curve:
        reach = 2 * (at.error or 0.0)
        ends = (at.log_loss - reach, at.log_loss + reach)
        points.append(Point(at.pairs, at.log_loss, *ends, f"{at.queries:,} queries"))
    alone = result.log_loss["shares alone"].value
    people = short(result.saved.origin.people)
    message = f"Upright: two standard errors. Dashed: the shares of {people}'s grades alone."
    axes = Axis("pairs graded", ",.0f"), Axis("log loss, other queries", reference=alone)
    return plane("What more grades bring", [Series("", points, "dot", "line")], axes, message)
