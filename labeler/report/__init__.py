"""What results look like: one table, one finding, and every form in which they are shown."""

from labeler.report.finding import Finding, Setting
from labeler.report.render import FORMS, FormName, render, rendered_all
from labeler.report.table import Cell, Column, Ends, Interval, Row, Table

__all__ = [
    "FORMS",
    "Cell",
    "Column",
    "Ends",
    "Finding",
    "FormName",
    "Interval",
    "Row",
    "Setting",
    "Table",
    "render",
    "rendered_all",
]
