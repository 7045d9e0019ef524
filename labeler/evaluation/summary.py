"""What an evaluation says in a sentence: which run leads, by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from labeler.evaluation.comparison.paired import Comparison, Discrimination, mean_of
from labeler.evaluation.groups import ByGroup, GroupDifference, GroupScore, Interaction
from labeler.evaluation.query_facts import NO_GROUP
from labeler.evaluation.scores import RunScores
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.metrics.scores import whole_queries
from labeler.report.table import Cell, Column, Ends, Interval, Table, number_text

if TYPE_CHECKING:
    from pandas import DataFrame

NAMED = 3
"""So many runs are named; of more their number is said."""


def headline(
    runs: Sequence[RunScores], comparisons: Sequence[Comparison], measure: str
) -> list[str]:
    """Which run has the best score by the measure, and which of the others it can be told from.

    `runs` stand in order, the best first.
    """
    best = runs[0]
    value = best.scores.means()[measure]
    if math.isnan(value):
        return [f"{measure} is undefined for every query, so that nothing is said of the runs."]
    score, over = number_text(value, _spec(measure)), _queries(best, measure)
    if len(runs) == 1:
        return [f"{best.name}: {measure} is {score} over {over}{_between(best, measure)}."]
    level = "lowest" if parse(measure).definition.lower_is_better else "highest"
    alike = [r.name for r in runs[1:] if math.isclose(r.scores.means()[measure], value)]
    also = f", {'as has' if len(alike) == 1 else 'as have'} {_listed(alike)}" if alike else ""
    leads = f"{best.name} has the {level} {measure}, {score} over {over}{also}"
    by_measure = [c for c in comparisons if c.measure == measure]
    if not by_measure:
        return [f"{leads}."]
    baseline = by_measure[0].baseline
    if baseline == best.name:
        return [f"{leads}{_told_from(by_measure)}."]
    return [f"{leads}.", f"Against {baseline}, {_by_verdict(by_measure)}."]


class Compared(Protocol):
    """A run that was compared with a baseline."""

    @property
    def run(self) -> str:
        """Its name."""

    @property
    def p_corrected(self) -> float:
        """The p of the difference, corrected for the number of comparisons."""

    @property
    def verdict(self) -> str:
        """Better, worse, or neither."""


def told_apart(compared: Sequence[Compared], baseline: str) -> str:
    """Which runs are better and worse than the baseline, and which cannot be told from it."""
    parts = []
    for verdict in ("better", "worse"):
        if runs := [c for c in compared if c.verdict == verdict]:
            parts.append(f"{names_of(runs)} {_is(runs)} {verdict}{at_most(runs)}")
    if runs := [c for c in compared if c.verdict not in ("better", "worse")]:
        parts.append(f"{names_of(runs)} cannot be told from it")
    return f"Against {baseline}, {'; '.join(parts)}."


def in_order(runs: Sequence[RunScores], measure: str) -> list[RunScores]:
    """The runs by their score, the best first; undefined ones last, equal ones as they stood."""
    sign = 1 if parse(measure).definition.lower_is_better else -1
    means = {run.name: run.scores.means()[measure] for run in runs}
    return sorted(runs, key=lambda run: mean_of(means[run.name], sign))


def _spec(measure: str) -> str:
    return ".0f" if _is_sum(measure) else ".4f"


def _queries(run: RunScores, measure: str) -> str:
    """How many queries the run is scored over, and how they count; in a sum they count alike."""
    queries = count_of(len(run.scores.queries), "query", "queries")
    if run.scores.weighting is None or _is_sum(measure):
        return queries
    alike = count_of(whole_queries(run.scores.weighting.effective), "query", "queries")
    return f"{queries} by weight (as precise as {alike} of equal weight)"


def _is_sum(measure: str) -> bool:
    return parse(measure).definition.summary == "sum"


def _between(run: RunScores, measure: str) -> str:
    low, high = run.intervals[measure]
    over_all = f"; over all queries like these {low:.3f} to {high:.3f}, at 95 %"
    return "" if math.isnan(low) else over_all


def _told_from(comparisons: Sequence[Comparison]) -> str:
    """Of the best run: which of the others are worse, and which cannot be told from it."""
    worse, open_, unresolvable = _by_kind(comparisons)
    parts = []
    if worse:
        everyone = "all others" if len(comparisons) > 1 else "the other"
        whom = everyone if len(worse) == len(comparisons) else names_of(worse)
        parts.append(f", better than {whom}{at_most(worse)}")
    if open_:
        but = "but " if not worse else "and "
        parts.append(f", {but}cannot be told from {names_of(open_)}{_at_least(open_)}")
    if unresolvable:
        also = "and " if open_ else "but "
        parts.append(f", {also}{_too_few(unresolvable)}")
    return "".join(parts)


def _by_kind(
    comparisons: Sequence[Comparison],
) -> tuple[list[Comparison], list[Comparison], list[Comparison]]:
    """Those that are told apart, those that are not, and those that could not have been."""
    apart = [c for c in comparisons if c.verdict in ("better", "worse")]
    unresolvable = [c for c in comparisons if c.verdict in ("unresolvable", "undefined")]
    return apart, [c for c in comparisons if c.verdict == "cannot tell apart"], unresolvable


def _by_verdict(comparisons: Sequence[Comparison]) -> str:
    """Of a baseline that was asked for: who is better, worse, or neither."""
    parts = []
    for verdict in ("better", "worse"):
        alike = [c for c in comparisons if c.verdict == verdict]
        if alike:
            parts.append(f"{names_of(alike)} {_is(alike)} {verdict}{at_most(alike)}")
    _, open_, unresolvable = _by_kind(comparisons)
    if open_:
        parts.append(f"{names_of(open_)} cannot be told from it{_at_least(open_)}")
    if unresolvable:
        parts.append(_too_few(unresolvable))
    return "; ".join(parts)


def _too_few(comparisons: Sequence[Comparison]) -> str:
    """That no outcome could have told these runs from the baseline."""
    least = min(c.p_attainable for c in comparisons)
    differ = max(c.wins + c.losses for c in comparisons)
    queries = f"at most {differ}" if len(comparisons) > 1 else f"{differ}"
    few = f"{queries} {'query differs' if differ == 1 else 'queries differ'}"
    smallest = f"no p below {least:.2g} could come of that"
    return f"could not be told from {names_of(comparisons)} by any outcome: {few}, and {smallest}"


def _is(comparisons: Sequence[Compared]) -> str:
    return "is" if len(comparisons) == 1 else "are"


def names_of(comparisons: Sequence[Compared]) -> str:
    """The runs' names; of many, how many they are."""
    return _listed([c.run for c in comparisons])


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def at_most(comparisons: Sequence[Compared]) -> str:
    """The largest of the comparisons' p."""
    largest = max(c.p_corrected for c in comparisons)
    below = "p" if len(comparisons) == 1 else "p at most"
    return f" ({below} {largest:.2g})"


def _at_least(comparisons: Sequence[Comparison]) -> str:
    """The difference of the one run, else the smallest p of the several."""
    if len(comparisons) == 1:
        c = comparisons[0]
        ends = "" if math.isnan(c.low) else f", {c.low:+.3f} to {c.high:+.3f}"
        alone = ", which allows for no other run" if is_alone(c) else ""
        return f" (p {c.p_corrected:.2g}{ends}{alone})"
    return f" (p at least {min(c.p_corrected for c in comparisons):.2g})"


def is_alone(comparison: Comparison) -> bool:
    """Whether the interval leaves out 0 where p, which allows for the other runs, shows nothing."""
    is_open = comparison.verdict == "cannot tell apart"
    return is_open and (comparison.low > 0 or comparison.high < 0)


def verdict_text(comparison: Comparison) -> str:
    """The verdict for people, with the smallest p that could have been where that decides."""
    if comparison.verdict != "unresolvable":
        return comparison.verdict
    return f"unresolvable (p ≥ {comparison.p_attainable:.2g})"


COLORS: Mapping[str, str] = {"better": "green", "worse": "red"}


# An evaluation's scores and comparisons as tables, and as the command's JSON.

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


# Scores by group as tables, as sentences, and as the command's JSON.

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
