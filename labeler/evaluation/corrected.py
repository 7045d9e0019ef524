"""Scores corrected by people's labels: what was found, as JSON and as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from labeler.evaluation.tables import PAIRED
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.ppi import Corrected, Mean

HEADER = ("run", "measure", "people alone", "assessor alone", "corrected", "lambda")
Cells = list[list[str | int | float | None]]
Table = tuple[list[str], Cells]


@dataclass(frozen=True)
class CorrectedScores:
    """A run's figure by one measure, and what people's labels leave open in its queries.

    `unjudged` is the share of what the assessor judged among its first ten documents, in people's
    queries, that people did not: above 0 people's score is too low. `by_query` holds people's score
    (`None` where they did not label) and the assessor's.
    """

    run: str
    measure: str
    found: Corrected
    unjudged: float
    by_query: Mapping[str, tuple[float | None, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class CorrectedDifference:
    """A run less the baseline by one measure, over the queries that count for both.

    `p` is of the corrected difference, `p_holm` allows for all runs compared by this measure.
    """

    run: str
    baseline: str
    measure: str
    found: Corrected
    p: float
    p_holm: float
    lower_is_better: bool

    @property
    def verdict(self) -> str:
        """In words, at the 5 % level after Holm's correction."""
        if not self.p_holm < SIGNIFICANT:
            return "cannot tell apart"
        return "better" if (self.found.corrected.value > 0) != self.lower_is_better else "worse"


@dataclass(frozen=True)
class Corrections:
    """All runs by all measures, the runs against a baseline, and what a reader should know."""

    target: str
    rows: tuple[CorrectedScores, ...]
    comparisons: tuple[CorrectedDifference, ...]
    warnings: tuple[str, ...]


def unused(rows: Sequence[CorrectedScores]) -> list[str]:
    """Where the assessor was not followed though queries are unlabelled, and why."""
    open_ones = [row for row in rows if row.found.labelled < row.found.queries]
    count = sum(row.found.weight == 0 for row in open_ones)
    if not count:
        return []
    why = "the labelled queries do not show that the assessor foretells people's score"
    return [f"lambda is 0 for {count} of {len(open_ones)} scores, people's own: {why}"]


def as_json(corrections: Corrections, *, per_query: bool = False) -> dict[str, Any]:
    """What `labeler evaluate --people … --json` prints."""
    rows = []
    for row in corrections.rows:
        head = {"run": row.run, "measure": row.measure, "unjudged": row.unjudged}
        entry: dict[str, Any] = {**head, **_as_json(row.found)}
        if per_query:
            entry["per_query"] = {
                query: {"people": ours, "assessor": theirs}
                for query, (ours, theirs) in row.by_query.items()
            }
        rows.append(entry)
    compared = [
        {"run": c.run, "baseline": c.baseline, "measure": c.measure}
        | _as_json(c.found)
        | {"p": c.p, "p_holm": c.p_holm, "verdict": c.verdict}
        for c in corrections.comparisons
    ]
    return {
        "target": corrections.target,
        "scores": rows,
        "comparisons": compared,
        "warnings": list(corrections.warnings),
    }


def _as_json(corrected: Corrected) -> dict[str, Any]:
    """The three means; lambda under the key `power`, which PPI++ names it after."""
    row = asdict(corrected)
    return {"power" if key == "weight" else key: value for key, value in row.items()}


def score_rows(corrections: Corrections, form: str = "table") -> Table:
    """A row a run and measure: people alone, the assessor alone, corrected, lambda.

    Forms for programs have the ends of an interval in columns of their own.
    """
    rows: Cells
    if form in PAIRED:
        rows = [
            [row.run, row.measure, *_three(row.found), f"{row.found.weight:.2f}"]
            for row in corrections.rows
        ]
        return list(HEADER), rows
    sides = ("people", "assessor", "corrected")
    header = [
        "run",
        "measure",
        *(f"{side}{end}" for side in sides for end in ("", " low", " high")),
    ]
    rows = [
        [
            row.run,
            row.measure,
            *(x for mean in _means(row.found) for x in astuple(mean)),
            row.found.weight,
        ]
        for row in corrections.rows
    ]
    return [*header, "lambda"], rows


def comparison_rows(corrections: Corrections) -> Table:
    """A header and a row for each comparison with the baseline."""
    header = [f"against {corrections.comparisons[0].baseline}", *HEADER[1:5], "p Holm", "verdict"]
    rows: Cells = [
        [c.run, c.measure, *_three(c.found, sign="+"), c.p_holm, c.verdict]
        for c in corrections.comparisons
    ]
    return header, rows


def query_rows(corrections: Corrections) -> Table:
    """A header and a row for each run, query and measure, with both scores."""
    rows: Cells = [
        [row.run, query, row.measure, ours, theirs]
        for row in corrections.rows
        for query, (ours, theirs) in row.by_query.items()
    ]
    return ["run", "query", "measure", "people", "assessor"], rows


def _means(found: Corrected) -> tuple[Mean, Mean, Mean]:
    return found.people, found.assessor, found.corrected


def _three(found: Corrected, sign: str = "") -> list[str]:
    return [_mean(mean, sign) for mean in _means(found)]


def _mean(mean: Mean, sign: str) -> str:
    if mean.low is None:
        return f"{mean.value:{sign}.4f}"
    return f"{mean.value:{sign}.4f} [{mean.low:{sign}.3f}, {mean.high:{sign}.3f}]"
