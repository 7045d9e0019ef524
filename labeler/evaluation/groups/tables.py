"""Scores by group as tables, as sentences, and as the command's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from labeler.evaluation.groups.by_group import ByGroup, GroupScore
from labeler.evaluation.groups.differences import GroupDifference, Interaction
from labeler.evaluation.query_facts import NO_GROUP
from labeler.evaluation.summary import COLORS, NAMED
from labeler.evaluation.tables import defined, measure_column
from labeler.metrics import parse
from labeler.metrics.weighting import whole_queries
from labeler.report.table import Cell, Column, Ends, Interval, Table, number_text

MOST_MEASURES = 2
"""People see a column for each measure of so many, else for the first alone."""


def group_tables(
    grouped: ByGroup, runs: Sequence[str], measures: Sequence[str], compare: Sequence[str]
) -> list[Table]:
    """A table of scores, and one of differences by each measure to compare by."""
    differences = [group_differences_table(grouped, name, runs) for name in compare]
    return [
        group_table(grouped, runs, measures),
        *(table for table in differences if table.rows),
    ]


def groups_as_json(groupings: Sequence[ByGroup], weights: str) -> dict[str, Any]:
    """What is known by group, and by which field queries are weighted, where either was asked."""
    groups = {"groups": [by_group_as_json(grouped) for grouped in groupings]} if groupings else {}
    return groups | ({"weights": weights} if weights else {})


def group_table(grouped: ByGroup, runs: Sequence[str], measures: Sequence[str]) -> Table:
    """For people: a row for each group and run, the lowest group of the first run first."""
    shown = measures if len(measures) <= MOST_MEASURES else measures[:1]
    cells = {(s.group, s.run, s.measure): s for s in grouped.scores}
    groups = groups_in_order(grouped, runs[0], measures[0])
    columns = [
        Column(grouped.by, align="left"),
        Column("queries"),
        *([Column("run", align="left")] if len(runs) > 1 else []),
        *map(measure_column, shown),
        Column(grouped.judged, format=".2f"),
    ]
    rows: list[list[Cell]] = []
    for group in groups:
        for run in runs:
            first = cells[group, run, measures[0]]
            names = [run] if len(runs) > 1 else []
            means = [_interval(cells[group, run, measure]) for measure in shown]
            rows.append([group, _count(first), *names, *means, first.judged])
    note = "\n".join(_notes(grouped, runs, measures))
    return Table(f"by-{grouped.by}", columns, rows, f"by {grouped.by}", note)


def groups_in_order(grouped: ByGroup, run: str, measure: str) -> list[str]:
    """The groups, the worst of the run first, those without a score last."""
    sign = -1 if parse(measure).definition.lower_is_better else 1
    rows = [s for s in grouped.scores if (s.run, s.measure) == (run, measure)]
    undefined = [s for s in rows if not s.queries]
    ordered = sorted((s for s in rows if s.queries), key=lambda s: sign * s.value)
    return [s.group for s in (*ordered, *undefined)]


def _count(score: GroupScore) -> str:
    return f"thin {whole_queries(score.effective)}" if score.thin else str(score.queries)


def _interval(score: GroupScore) -> Interval:
    return Interval(score.value, score.low, score.high)


def _notes(grouped: ByGroup, runs: Sequence[str], measures: Sequence[str]) -> Iterator[str]:
    """Sentences about the worst group of each run by the first measure."""
    measure = measures[0]
    if len(measures) > MOST_MEASURES:
        yield f"{measure} alone is shown; JSON and CSV have all {len(measures)} measures"
    rows = [
        w for run in runs[:NAMED] for w in grouped.worst if (w.run, w.measure) == (run, measure)
    ]
    for worst in rows:
        others = [group for group in worst.possible if group != worst.group]
        may = ""
        if len(others) == worst.of - 1:
            may = "; any group may truly be the worst"
        elif others:
            may = f"; {_listed(others)} may truly be the worst, too"
        score = number_text(worst.value, ".4f")
        which = f"the {worst.of} groups" + (" that are not thin" if grouped.thin else "")
        yield (
            f"{worst.run}: by {measure} {worst.group} is the worst of {which}, {score}"
            f"{may}. The truly worst one has {worst.low:.3f} to {worst.high:.3f} (95 %)."
        )
    if not rows and len(grouped.sizes) > 1:
        yield f"fewer than two groups have {grouped.fewest} queries: none is called the worst"


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def group_rows(groupings: Sequence[ByGroup]) -> Table:
    """For programs: a row for each field, group, run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("by", "group", "run", "measure")),
        *(Column(name) for name in ("queries", "value", "low", "high", "judged", "thin")),
        Column("effective"),
    ]
    rows: list[list[Cell]] = [
        [
            *(g.by, s.group, s.run, s.measure, s.queries, s.value, s.low, s.high, s.judged),
            *(int(s.thin), s.effective),
        ]
        for g in groupings
        for s in g.scores
    ]
    return Table("groups", columns, rows)


def group_differences_table(grouped: ByGroup, measure: str, runs: Sequence[str]) -> Table:
    """A row for each run and group: the difference from the baseline, and what it shows."""
    rows = [d for run in runs for d in grouped.differences if (d.run, d.measure) == (run, measure)]
    tested = [
        i for run in runs for i in grouped.interactions if (i.run, i.measure) == (run, measure)
    ]
    several, has_verdicts = len({d.run for d in rows}) > 1, any(d.verdict for d in rows)
    columns = [
        *([Column("run", align="left")] if several else []),
        Column(grouped.by, align="left"),
        Column("queries"),
        Column("", title="difference", format="+.4f", ends="+.3f", only="people"),
        Column("difference", only="programs"),
        Column("", format="", ends="+.4f", only="programs"),
        Column("w/t/l"),
        *(Column(name, only="programs") for name in ("p", "p_corrected")),
        *([Column("verdict", colors=COLORS)] if has_verdicts else []),
    ]
    cells = [
        [*([d.run] if several else []), *_difference_row(d), *([d.verdict] if has_verdicts else [])]
        for d in rows
    ]
    baseline = rows[0].baseline if rows else "-"
    who = f"{rows[0].run} against {baseline}" if rows and not several else f"against {baseline}"
    note = "\n".join(_tested(grouped, tested))
    title = f"by {grouped.by}: {who}, by {measure}"
    return Table(f"differences-by-{grouped.by}", columns, cells, title, note)


def _difference_row(d: GroupDifference) -> Iterator[Cell]:
    yield from (d.group, f"thin {d.queries}" if d.thin else str(d.queries))
    yield from (Interval(d.difference, d.low, d.high), d.difference, Ends(d.low, d.high))
    yield from (f"{d.wins}/{d.ties}/{d.losses}", d.p, d.p_corrected)


def _tested(grouped: ByGroup, interactions: Sequence[Interaction]) -> Iterator[str]:
    """What the tests of runs' interactions say; runs of which nothing is shown share a sentence."""
    few = f"fewer than two groups have {grouped.fewest} queries"
    yield from (_shown(grouped, i) for i in interactions if i.is_shown)
    if runs := [i for i in interactions if i.groups >= 2 and not i.is_shown]:
        least, most = (f"{end(i.p_corrected for i in runs):.2g}" for end in (min, max))
        p = f"p {least}" if least == most else f"p at least {least}"
        yield f"{_differences_of(runs)} not shown to depend on {grouped.by} ({p})"
    if runs := [i for i in interactions if i.groups < 2]:
        yield f"{_differences_of(runs)} not tested for depending on {grouped.by}: {few}"


def _differences_of(interactions: Sequence[Interaction]) -> str:
    """The one run, or how many, and the beginning of what is said of the differences."""
    if len(interactions) == 1:
        return f"{interactions[0].run}: its difference is"
    return f"{len(interactions)} runs: their differences are"


def _shown(grouped: ByGroup, interaction: Interaction) -> str:
    """That a run's difference depends on the group, and the groups where it is better and worse."""
    by, run, p = grouped.by, interaction.run, f"p {interaction.p_corrected:.2g}"
    significant = [
        d
        for d in grouped.differences
        if (d.run, d.measure) == (run, interaction.measure) and d.verdict
    ]
    parts = [
        f"{verdict} on {_listed([d.group for d in significant if d.verdict == verdict])}"
        for verdict in ("better", "worse")
        if any(d.verdict == verdict for d in significant)
    ]
    shown = f"; {run} is {' and '.join(parts)}" if parts else "; no group alone shows how"
    return f"{run}: its difference depends on {by} ({p}){shown}"


def by_group_as_json(grouped: ByGroup) -> dict[str, Any]:
    """All that is known by one field; what is undefined is None."""
    return {
        "by": grouped.by,
        "fewest": grouped.fewest,
        "sizes": dict(grouped.sizes),
        "to_answer": dict(grouped.to_answer),
        "thin": dict(grouped.thin),
        "without_field": grouped.sizes.get(NO_GROUP, 0),
        "scores": [defined(asdict(row)) for row in grouped.scores],
        "worst": [defined(asdict(row)) for row in grouped.worst],
        "differences": [defined(asdict(row)) for row in grouped.differences],
        "interactions": [
            defined(asdict(row)) | {"shown": row.is_shown} for row in grouped.interactions
        ],
    }
