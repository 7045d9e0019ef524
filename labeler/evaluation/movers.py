"""The queries that one run answers better than another, and worse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labeler.evaluation.evaluate import Report, RunScores
from labeler.evaluation.tables import PAIRED, Cell, Table


@dataclass(frozen=True)
class Move:
    """A query's value with the baseline and with another run."""

    run: str
    baseline: str
    measure: str
    query: str
    text: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """How much the run gained, or lost if negative."""
        return self.after - self.before

    def as_dict(self) -> dict[str, Any]:
        """The fields and the difference."""
        return asdict(self) | {"difference": self.difference}


def moves(report: Report, many: int, texts: Mapping[str, str]) -> list[Move]:
    """The queries that gained and lost most by the first measure, for each run, best first."""
    if not report.comparisons:
        return []
    baseline = report.comparisons[0].baseline
    base = next(run for run in report.runs if run.name == baseline)
    found: list[Move] = []
    for run in report.runs:
        if run is not base:
            found += _of_run(run, base, many, texts)
    return found


def _of_run(run: RunScores, base: RunScores, many: int, texts: Mapping[str, str]) -> list[Move]:
    measure = str(run.scores.measures[0])
    before = dict(zip(base.scores.queries, base.scores.values[0].tolist(), strict=True))
    after = dict(zip(run.scores.queries, run.scores.values[0].tolist(), strict=True))
    listed = [
        Move(run.name, base.name, measure, query, texts.get(query, ""), before[query], new)
        for query, new in after.items()
        if query in before and not math.isnan(before[query] - new)
    ]
    better = -1 if run.scores.measures[0].definition.lower_is_better else 1
    listed.sort(key=lambda move: (-better * move.difference, move.query))
    gained = [move for move in listed[:many] if better * move.difference > 0]
    lost = [move for move in listed[-many:] if better * move.difference < 0]
    return gained + lost


def move_rows(moved: list[Move], form: str = "table") -> Table:
    """A table of them; for people differences have a sign, in a narrow one texts are cut."""
    widest = 60 if form == "table" else None
    rows: list[list[Cell]] = []
    for move in moved:
        gained: Cell = f"{move.difference:+z.4f}" if form in PAIRED else move.difference
        text = _cut(move.text, widest)
        rows.append([move.run, move.query, text, move.before, move.after, gained])
    baseline, measure = (moved[0].baseline, moved[0].measure) if moved else ("-", "-")
    return ["run", "query", "text", f"{measure} of {baseline}", "of the run", "gained"], rows


def _cut(text: str, widest: int | None) -> str:
    flat = " ".join(text.split())
    return flat if widest is None or len(flat) <= widest else flat[: widest - 1] + "…"
