"""Charts as SVG, made of plain numbers, with their message in words and their numbers as a table.

Each function takes a title, what is drawn and the `Axis` that it is drawn on, and returns a
`Drawing`: the same chart for a wide and for a narrow page, and what it says to who cannot see it.
"""

from labeler.report.charts.bars import bars
from labeler.report.charts.control import Moment, control
from labeler.report.charts.drawing import Axis, Drawing, NamedValue
from labeler.report.charts.intervals import intervals
from labeler.report.charts.matrix import matrix
from labeler.report.charts.scatter import Spot, scatter
from labeler.report.charts.shares import NamedCounts, shares
from labeler.report.charts.strip import NamedValues, strip

__all__ = [
    "Axis",
    "Drawing",
    "Moment",
    "NamedCounts",
    "NamedValue",
    "NamedValues",
    "Spot",
    "bars",
    "control",
    "intervals",
    "matrix",
    "scatter",
    "shares",
    "strip",
]
