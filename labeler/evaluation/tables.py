"""An evaluation's scores and comparisons as tables, and as the command's JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labeler.evaluation.comparison.discrimination import Discrimination
from labeler.evaluation.comparison.paired import Comparison
from labeler.evaluation.scores import RunScores
from labeler.evaluation.summary import COLORS, is_alone, verdict_text
from labeler.metrics import parse
from labeler.report.table import Cell, Column, Ends, Interval, Table

if TYPE_CHECKING:
    from pandas import DataFrame

CORRECTED = "p_corrected"
P_TITLES = {"holm": "p Holm", "hsd": "p HSD"}
_P_OF_PROGRAMS = ("p_holm", "p_max_t", "p_hsd", "correction", "p_least", "p_attainable")


def score_table(runs: Sequence[RunScores], measures: Sequence[str]) -> Table:
    """A row for each run: means with their intervals, then the shares judged."""
    judged = [name for name in runs[0].judged if name not in measures]
    alike = len({run.scores.queries for run in runs}) == 1
    # of all runs alike, the sentence above the table says how many queries there are
    columns = [Column("run", align="left"), Column("queries", only="programs" if alike else "")]
    columns += [measure_column(name) for name in measures]
    columns += [Column(name) for name in judged]
    rows: list[list[Cell]] = []
    for run in runs:
        means = [Interval(*values.values()) for values in run.values().values()]
        shares = [run.judged[name] for name in judged]
        rows.append([run.name, len(run.scores.queries), *means, *shares])
    return Table("scores", columns, rows)


def measure_column(name: str) -> Column:
    """The column of a measure: means with their intervals."""
    spec = ".0f" if parse(name).definition.summary == "sum" else ".4f"
    return Column(name, format=spec, ends=".3f", undefined="undefined")


def scenario_table(runs: Sequence[RunScores]) -> Table:
    """What unjudged documents leave open, a row for each run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        *map(Column, ("score", "unjudged irrelevant", "unjudged of top grade")),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends=".4f", only="people"),
    ]
    return Table("scenarios", columns, list(_scenario_rows(runs)))


def _scenario_rows(runs: Sequence[RunScores]) -> Iterator[list[Cell]]:
    for run in runs:
        means = run.scores.means()
        for name, case in run.scenarios.items():
            cases = case["unjudged_irrelevant"], case["unjudged_top"]
            ends = Ends(case.get("low"), case.get("high"))
            yield [run.name, name, means[name], *cases, *ends, ends]


def query_table(runs: Sequence[RunScores], measures: Sequence[str]) -> Table:
    """A row for each run and query, a column for each measure."""
    columns = [Column("run", align="left"), Column("query", align="left"), *map(Column, measures)]
    rows: list[list[Cell]] = [
        [run.name, query, *values.values()]
        for run in runs
        for query, values in run.scores.per_query().items()
    ]
    return Table("queries", columns, rows)


def comparison_table(
    comparisons: Sequence[Comparison], discriminations: Sequence[Discrimination] = ()
) -> Table:
    """A row for each comparison with the baseline, which a header for people names."""
    baseline = comparisons[0].baseline if comparisons else "-"
    measures = list(dict.fromkeys(c.measure for c in comparisons))
    correction = comparisons[0].correction if comparisons else "holm"
    columns = [
        Column("run", align="left"),
        Column("baseline", only="programs"),
        Column("measure", align="left", only="programs" if len(measures) == 1 else ""),
        *(Column(name, only="programs") for name in ("queries", "difference", "percent")),
        Column("", format="", ends="+.4f", only="programs"),
        Column("", title="difference", format="+.4f", ends="+.3f", only="people"),
        *(Column(name, only="programs") for name in ("wins", "ties", "losses")),
        Column("w/t/l", only="people"),
        Column("p", only="programs"),
        Column(CORRECTED, title=P_TITLES[correction], only="people"),
        *(Column(name, only="programs") for name in _P_OF_PROGRAMS),
        Column("verdict", only="programs"),
        Column("verdict", only="people", colors=COLORS),
    ]
    by = f" by {measures[0]}" if len(measures) == 1 else ""
    rows = [list(_comparison_row(c)) for c in comparisons]
    discriminated = [d for d in discriminations if measures == [d.measure]]
    note = _allowance(comparisons, discriminated) if comparisons else ""
    return Table("comparisons", columns, rows, f"against {baseline}{by}", note)


def _allowance(comparisons: Sequence[Comparison], discriminated: Sequence[Discrimination]) -> str:
    """What the p of the table allows for, where there is more than one pair of runs."""
    runs = len({c.run for c in comparisons})
    if runs == 1:
        return ""
    alone = "; intervals are of each pair alone" if any(map(is_alone, comparisons)) else ""
    if comparisons[0].correction == "holm":
        baseline = comparisons[0].baseline
        return f"p allows for the {runs} runs compared with {baseline} (Holm){alone}"
    apart = "".join(f", of which {d.measure} tells {d.told_apart} apart" for d in discriminated)
    pairs = (runs + 1) * runs // 2
    return f"p allows for all {pairs} pairs of runs (randomised HSD){apart}{alone}"


def _comparison_row(c: Comparison) -> Iterator[Cell]:
    yield from (c.run, c.baseline, c.measure, c.queries, c.difference, c.percent)
    yield from (Ends(c.low, c.high), Interval(c.difference, c.low, c.high))
    yield from (c.wins, c.ties, c.losses, f"{c.wins}/{c.ties}/{c.losses}", c.p, c.p_corrected)
    yield from (c.p_holm, c.p_max_t, c.p_hsd, c.correction, c.p_least, c.p_attainable)
    yield from (c.verdict, verdict_text(c))


def scores_frame(runs: Sequence[RunScores]) -> DataFrame:
    """A row for each run and measure, with its interval."""
    import pandas as pd

    values = [
        {"run": run.name, "queries": len(run.scores.queries), "measure": name, **value}
        for run in runs
        for name, value in run.values().items()
    ]
    return pd.DataFrame(values)


def run_as_json(run: RunScores, *, per_query: bool = False) -> dict[str, Any]:
    """One run's scores; what is undefined is None."""
    entry: dict[str, Any] = {
        "run": run.name,
        "queries": len(run.scores.queries),
        "scores": {measure: defined(values) for measure, values in run.values().items()},
        "judged": defined(run.judged),
        "scenarios": {measure: defined(case) for measure, case in run.scenarios.items()},
    }
    if run.scores.weighting is not None:
        entry["effective_queries"] = run.scores.weighting.effective
    if per_query:
        values = run.scores.per_query()
        entry["per_query"] = {query: defined(scores) for query, scores in values.items()}
    return entry


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison's fields and its verdict."""
    return defined(asdict(comparison)) | {"verdict": comparison.verdict}


def defined(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with None for nan, which JSON does not have, and plain floats."""
    return {
        name: (None if math.isnan(value) else float(value)) if isinstance(value, float) else value
        for name, value in values.items()
    }
