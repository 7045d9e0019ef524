"""An evaluation's report as rows of a table and as the JSON that `--json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labeler.evaluation.compare import Comparison
from labeler.evaluation.evaluate import Report, RunScores
from labeler.metrics import parse

if TYPE_CHECKING:
    from pandas import DataFrame

Cell = str | int | float | None
Table = tuple[list[str], list[list[Cell]]]

PAIRED = ("table", "markdown", "latex")
"""Forms for people, in which a value and its interval share a cell."""


def score_rows(report: Report, form: str = "table") -> Table:
    """A table of the runs: means with their intervals, then the shares judged.

    Other forms than `table`, `markdown` and `latex` have the ends of an interval in columns.
    """
    paired = form in PAIRED
    header = ["run", "queries"]
    for name in report.measures:
        header += [name] if paired else [name, f"{name} low", f"{name} high"]
    rows = []
    for run in report.runs:
        row: list[Cell] = [run.name, len(run.scores.queries)]
        for name, value in run.values().items():
            row += [_with_interval(name, value)] if paired else map(_number, value.values())
        rows.append(row + [_number(value) for value in _beside(report, run).values()])
    return header + list(_beside(report, report.runs[0])), rows


def _beside(report: Report, run: RunScores) -> dict[str, float]:
    """The shares judged that are not among the measures already."""
    return {name: value for name, value in run.judged.items() if name not in report.measures}


def _with_interval(name: str, value: dict[str, float]) -> str:
    if math.isnan(value["value"]):
        return "undefined"
    if parse(name).definition.summary == "sum":
        return f"{value['value']:.0f}"
    if math.isnan(value["low"]):
        return f"{value['value']:.4f}"
    return f"{value['value']:.4f} [{value['low']:.3f}, {value['high']:.3f}]"


def scenario_rows(report: Report, form: str = "table") -> Table:
    """What unjudged documents leave open, a row for each run and measure."""
    header = ["run", "measure", "score", "unjudged irrelevant", "unjudged of top grade"]
    rows: list[list[Cell]] = []
    for run in report.runs:
        means = run.scores.means()
        for name, entry in run.scenarios.items():
            cases = (means[name], entry["unjudged_irrelevant"], entry["unjudged_top"])
            rows.append([run.name, name, *map(_number, cases), *_bounds(entry, form)])
    return [*header, *(["least and most"] if form in PAIRED else ["least", "most"])], rows


def _bounds(entry: Mapping[str, float], form: str) -> list[Cell]:
    if "low" not in entry:
        return [None] if form in PAIRED else [None, None]
    low, high = entry["low"], entry["high"]
    return [f"[{low:.4f}, {high:.4f}]"] if form in PAIRED else [_number(low), _number(high)]


def query_rows(report: Report) -> Table:
    """A row for each run and query."""
    rows: list[list[Cell]] = [
        [run.name, query, *map(_number, values.values())]
        for run in report.runs
        for query, values in run.scores.per_query().items()
    ]
    return ["run", "query", *report.measures], rows


def comparison_rows(report: Report, form: str) -> Table:
    """A row for each comparison with the baseline; a header for people names it."""
    if form not in PAIRED:
        objects = [_comparison(comparison) for comparison in report.comparisons]
        return list(objects[0]), [list(row.values()) for row in objects]
    header = [f"against {report.comparisons[0].baseline}", "measure", "difference"]
    header += ["95 % interval", "%", "win/tie/loss", "p", "p Holm", "p max-T", "verdict"]
    rows: list[list[Cell]] = [
        [
            c.run,
            c.measure,
            _signed(c.difference, 4),
            None if math.isnan(c.low) else f"[{_signed(c.low, 4)}, {_signed(c.high, 4)}]",
            _signed(c.percent, 1),
            f"{c.wins}/{c.ties}/{c.losses}",
            c.p,
            c.p_holm,
            c.p_max_t,
            c.verdict,
        ]
        for c in report.comparisons
    ]
    return header, rows


def _signed(value: float, places: int) -> str | None:
    """`+0.0301`; what rounds to nothing has no sign, what is undefined no text."""
    if math.isnan(value):
        return None
    text = f"{value:+.{places}f}"
    return text if float(text) else text[1:]


def frame(report: Report, *, per_query: bool = False) -> DataFrame:
    """The scores as a pandas DataFrame: a row for each run and measure, with its interval.

    With `per_query` a row for each run and query, and a column for each measure.
    """
    import pandas as pd

    if per_query:
        header, rows = query_rows(report)
        return pd.DataFrame(rows, columns=pd.Index(header))
    values = [
        {"run": run.name, "queries": len(run.scores.queries), "measure": name, **value}
        for run in report.runs
        for name, value in run.values().items()
    ]
    return pd.DataFrame(values)


def as_json(report: Report, *, per_query: bool = False) -> dict[str, Any]:
    """The report as `--json` prints it; what is undefined is null."""
    runs = []
    for run in report.runs:
        entry: dict[str, Any] = {
            "run": run.name,
            "queries": len(run.scores.queries),
            "scores": {m: {k: _number(v) for k, v in s.items()} for m, s in run.values().items()},
            "judged": {name: _number(value) for name, value in run.judged.items()},
            "scenarios": {
                m: {k: _number(v) for k, v in s.items()} for m, s in run.scenarios.items()
            },
        }
        if per_query:
            entry["per_query"] = {
                q: {m: _number(v) for m, v in row.items()}
                for q, row in run.scores.per_query().items()
            }
        runs.append(entry)
    return {
        "qrels": report.qrels,
        "measures": report.measures,
        "runs": runs,
        "comparisons": [_comparison(comparison) for comparison in report.comparisons],
        "warnings": report.warnings,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """A comparison's fields and its verdict."""
    fields = asdict(comparison)
    numbers = {k: _number(v) if isinstance(v, float) else v for k, v in fields.items()}
    return numbers | {"verdict": comparison.verdict}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
