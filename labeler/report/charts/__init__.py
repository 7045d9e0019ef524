"""Charts as SVG, made of plain numbers, with their message in words and their numbers as a table.

Each function takes a title, what is drawn and the `Axis` that it is drawn on, and returns a
`Drawing`: the chart, and what it says to who cannot see it.
"""

from labeler.report.charts.axes import Axis, Drawing
from labeler.report.charts.intervals import NamedValue, intervals

__all__ = [
    "Axis",
    "Drawing",
    "NamedValue",
    "intervals",
]
