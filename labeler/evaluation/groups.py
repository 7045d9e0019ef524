"""Runs' scores of groups of queries, which group is the lowest, and where runs differ by group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.evaluation.comparison.paired import (
    COLORS,
    MEANS,
    UNBOUNDED,
    Comparison,
    difference_interval,
)
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.query_facts import NO_GROUP, QueryScope, Weights
from labeler.evaluation.scores import (
    NAMED,
    RunScores,
    intervals,
    listed,
    measure_column,
    over_common_queries,
)
from labeler.metrics import Measure, Scores, parse
from labeler.metrics.scores import whole_queries
from labeler.report.finding import Finding
from labeler.report.result import Result, as_plain
from labeler.report.table import Cell, Column, Ends, Interval, Table, number_text
from labeler.stats.groups import GroupMean, interaction_p, least_mean, may_be_least
from labeler.stats.randomization import holm, randomization_test, wins_ties_losses
from labeler.stats.student import SIGNIFICANT

# Runs against a baseline in each group of queries, and whether that depends on the group.


@dataclass(frozen=True)
class GroupDifference:
    """A run against the baseline over one group's queries; `p_corrected` allows for all groups."""

    run: str
    baseline: str
    measure: str
    group: str
    queries: int
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float
    p_corrected: float
    thin: bool
    verdict: str = ""


@dataclass(frozen=True)
class Interaction:
    """Whether a run's difference from the baseline depends on the group.

    `groups` were tested: those that are not thin. `p_corrected` allows for the runs compared.
    """

    run: str
    baseline: str
    measure: str
    groups: int
    p: float
    p_corrected: float

    @property
    def is_shown(self) -> bool:
        """Whether the difference is shown to depend on the group."""
        return self.p_corrected < SIGNIFICANT


class GroupsCompared(NamedTuple):
    """The differences of runs in each group, and the tests of whether these depend on it."""

    differences: tuple[GroupDifference, ...] = ()
    interactions: tuple[Interaction, ...] = ()


def compare_groups(
    runs: Sequence[RunScores],
    comparison: Comparison,
    masks: Callable[[Scores], Mapping[str, Flags]],
    options: EvaluationOptions,
) -> GroupsCompared:
    """All runs against the baseline of a comparison, by each measure that is a mean.

    Where the best of the same scores is the baseline, p allows for all pairs of runs.
    """
    common = over_common_queries({run.name: run.scores for run in runs})
    base = common[comparison.baseline]
    several = len(common) / 2 if comparison.correction == "hsd" and len(common) > 2 else 1.0
    differences: list[GroupDifference] = []
    interactions: list[Interaction] = []
    for measure in base.measures:
        if measure.definition.summary in MEANS:
            compared = _Compared(measure, common, comparison.baseline, masks(base), several)
            tested = compared.interactions(options)
            interactions += tested
            differences += compared.differences(tested, options)
    return GroupsCompared(tuple(differences), tuple(interactions))


@dataclass(frozen=True)
class _Compared:
    """All runs against the baseline by one measure; `several` multiplies every p."""

    measure: Measure
    runs: Mapping[str, Scores]
    baseline: str
    masks: Mapping[str, Flags]
    several: float

    def _values(self) -> Iterator[tuple[str, Floats]]:
        base = self.runs[self.baseline].of(self.measure)
        for name, scores in self.runs.items():
            if name != self.baseline:
                yield name, scores.of(self.measure) - base

    def interactions(self, options: EvaluationOptions) -> list[Interaction]:
        """For each run whether its difference depends on the group."""
        tested = []
        for name, values in self._values():
            groups = [defined_in(values[mask]) for mask in self.masks.values()]
            thick = [group for group in groups if len(group) >= options.grouping.min_queries]
            tested.append((name, len(thick), interaction_p(thick, options.seed)))
        corrected = np.minimum(holm(np.array([p for *_, p in tested])) * self.several, 1.0)
        return [
            Interaction(name, self.baseline, str(self.measure), count, p, float(p_corrected))
            for (name, count, p), p_corrected in zip(tested, corrected, strict=True)
        ]

    def differences(
        self, interactions: Sequence[Interaction], options: EvaluationOptions
    ) -> Iterator[GroupDifference]:
        """Each run's difference in each group, with a verdict where it depends on the group."""
        rows = [
            (name, group, defined_in(values[mask]))
            for name, values in self._values()
            for group, mask in self.masks.items()
        ]
        p = [_alone(values, options.seed) for *_, values in rows]
        fewest = options.grouping.min_queries
        held = np.array([len(values) >= fewest for *_, values in rows])
        corrected = np.ones(len(rows))
        if held.any():
            corrected[held] = np.minimum(holm(np.array(p)[held]) * self.several, 1.0)
        shown = {i.run for i in interactions if i.is_shown}
        lower = self.measure.definition.lower_is_better
        for (name, group, values), alone, p_corrected in zip(rows, p, corrected, strict=True):
            low, high = difference_interval(self.measure, values, options.interval, options.seed)
            mean = float(values.mean()) if len(values) else math.nan
            is_significant = name in shown and p_corrected < SIGNIFICANT
            yield GroupDifference(
                name,
                self.baseline,
                str(self.measure),
                group,
                len(values),
                mean,
                low,
                high,
                *wins_ties_losses(-values if lower else values),
                alone,
                float(p_corrected),
                len(values) < fewest,
                ("better" if (mean > 0) != lower else "worse") if is_significant else "",
            )


def _alone(values: Floats, seed: int) -> float:
    """The p of one group's differences; 1 of none."""
    return float(randomization_test(values[None, :], seed)[0][0]) if len(values) else 1.0


def masks_of(names: Sequence[str], scores: Scores, groups: Mapping[str, str]) -> dict[str, Flags]:
    """Which of the queries stand in each group."""
    of = np.array([groups[query] for query in scores.queries], dtype=object)
    return {name: np.asarray(of == name, dtype=np.bool_) for name in names}


def defined_in(values: Floats) -> Floats:
    """The values without those that are undefined."""
    return values[~np.isnan(values)]


@dataclass(frozen=True)
class GroupScore:
    """A run's score of one group by one measure, with its interval over queries of that group.

    `effective` is how many queries of equal weight say as much: `queries` where all count alike.
    """

    run: str
    group: str
    measure: str
    queries: int
    value: float
    low: float
    high: float
    judged: float
    effective: float
    thin: bool


@dataclass(frozen=True)
class WorstGroup:
    """The group that a run answers worst by one measure, of those that are not thin.

    `low` and `high` hold the true score of the group that is truly the worst, whichever that is, in
    95 % of samples. `possible` are the groups that may be it; at 95 % it is among them. They are
    not told where queries have weights.
    """

    run: str
    measure: str
    group: str
    value: float
    low: float
    high: float
    of: int
    possible: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ByGroup(Result):
    """The scores of runs by the groups of one field; `judged` names the shares judged.

    `to_answer` is how many queries of each group count, whether or not a run answers them, or how
    many of equal weight are as precise.
    """

    by: str
    fewest: int
    sizes: Mapping[str, int]
    scores: tuple[GroupScore, ...]
    worst: tuple[WorstGroup, ...]
    differences: tuple[GroupDifference, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    judged: str = "judged"
    to_answer: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def thin(self) -> dict[str, int]:
        """The groups too thin to be held against a gate, with their queries that are scored."""
        queries: dict[str, int] = {}
        for score in self.scores:
            if score.thin:
                n = whole_queries(score.effective)
                queries[score.group] = min(n, queries.get(score.group, n))
        return queries

    @property
    def findings(self) -> list[Finding]:
        """Which groups are too thin to be held against a gate."""
        if not self.thin:
            return []
        thin = ", ".join(f"{self.by}={group} ({n})" for group, n in sorted(self.thin.items()))
        few = f"fewer than {self.fewest} queries, too few to decide a gate"
        return [Finding(f"{few}: {thin}", about=self.by)]

    def as_json(self) -> dict[str, Any]:
        """All that is known by one field."""
        return self.picked(
            *("by", "fewest", "sizes", "to_answer", "thin", "scores", "worst", "differences"),
            without_field=self.sizes.get(NO_GROUP, 0),
            interactions=[as_plain(each) | {"shown": each.is_shown} for each in self.interactions],
        )


def grouped_by(
    scope: QueryScope,
    queries: Sequence[str],
    runs: Sequence[RunScores],
    comparisons: Sequence[Comparison],
    options: EvaluationOptions,
) -> tuple[ByGroup, ...]:
    """The scores by group of each field that was asked for.

    `queries` count of a run that answers all of them. Runs are compared by group with the baseline
    of `comparisons`, where there are any, and where all queries count alike.
    """
    alike = comparisons if not options.grouping.weights else ()
    return tuple(
        replace(
            _by_group(by, groups, runs, alike, options),
            to_answer=_to_answer(groups, queries, scope.weights),
        )
        for by, groups in scope.groups.items()
    )


def _to_answer(
    groups: Mapping[str, str], queries: Sequence[str], weights: Weights | None
) -> dict[str, float]:
    """How many queries of each group a run is to answer, or as many of equal weight."""
    of_group: dict[str, list[str]] = {group: [] for group in groups.values()}
    for query in queries:
        of_group[groups[query]].append(query)
    if weights is None:
        return {group: float(len(held)) for group, held in of_group.items()}
    return {group: weights.of(held).effective if held else 0.0 for group, held in of_group.items()}


def uncompared(
    grouped: Sequence[ByGroup], comparisons: Sequence[Comparison], options: EvaluationOptions
) -> Iterator[Finding]:
    """That runs were compared over all queries alone, where weights are why."""
    if grouped and comparisons and options.grouping.weights:
        fields = " and ".join(by.by for by in grouped)
        yield Finding(f"with weights, runs are not compared by {fields}", level="note")


def _by_group(
    by: str,
    groups: Mapping[str, str],
    runs: Sequence[RunScores],
    comparisons: Sequence[Comparison],
    options: EvaluationOptions,
) -> ByGroup:
    sizes = Counter(groups.values())
    names = sorted(sizes)
    scores: list[GroupScore] = []
    apart = GroupsCompared()
    with options.progress(f"runs by {by}") as advance:
        total = len(runs) * (2 if comparisons else 1)
        for number, run in enumerate(runs, start=1):
            scores += _scores(run, names, groups, options)
            advance(number, total)
        if comparisons:
            masks = partial(masks_of, names, groups=groups)
            apart = compare_groups(runs, comparisons[0], masks, options)
            advance(total, total)
    worst = tuple(w for run in runs for w in _worst(run, names, groups, scores))
    share = next(iter(runs[0].judged), "judged")
    fewest = options.grouping.min_queries
    return ByGroup(by, fewest, dict(sizes), tuple(scores), worst, *apart, share)


def _scores(
    run: RunScores, names: Sequence[str], groups: Mapping[str, str], options: EvaluationOptions
) -> Iterator[GroupScore]:
    masks = masks_of(names, run.scores, groups)
    share = next(iter(run.judged))
    for name in names:
        mask = masks[name]
        scores = run.scores.choose(mask)
        judged = None if run.shares is None else run.shares.choose(mask)
        means, ends = scores.means(), intervals(scores, options)
        for measure in run.scores.measures:
            n = int((~np.isnan(scores.of(measure))).sum())
            text = str(measure)
            value = means[text] if n else math.nan
            of_judged = judged.means()[share] if judged is not None and mask.any() else math.nan
            effective = _effective(scores, measure)
            is_thin = effective < options.grouping.min_queries
            figures = (n, value, *ends[text], of_judged, effective, is_thin)
            yield GroupScore(run.name, name, text, *figures)


def _effective(scores: Scores, measure: Measure) -> float:
    """How many queries of equal weight say as much as those where the measure is defined."""
    is_defined = ~np.isnan(scores.of(measure))
    if scores.weighting is None or not is_defined.any():
        return float(is_defined.sum())
    return scores.weighting.choose(is_defined).effective


def _worst(
    run: RunScores,
    names: Sequence[str],
    groups: Mapping[str, str],
    scores: Sequence[GroupScore],
) -> Iterator[WorstGroup]:
    """The worst group by each measure that is a mean; none where fewer than two are not thin."""
    masks = masks_of(names, run.scores, groups)
    for measure in run.scores.measures:
        if measure.definition.summary not in MEANS:
            continue
        rows = [s for s in _of(scores, run.name, str(measure)) if not s.thin]
        if len(rows) < 2:
            continue
        sign = -1.0 if measure.definition.lower_is_better else 1.0
        means = [_signed(row, sign) for row in rows]
        ends = _within(measure, sign, least_mean(means))
        row = min(rows, key=lambda row: sign * row.value)
        values = [sign * defined_in(run.scores.of(measure)[masks[row.group]]) for row in rows]
        alike = run.scores.weighting is None
        possible = tuple(rows[i].group for i in may_be_least(values)) if alike else ()
        yield WorstGroup(run.name, str(measure), row.group, row.value, *ends, len(rows), possible)


def _signed(row: GroupScore, sign: float) -> GroupMean:
    ends = sorted((sign * row.low, sign * row.high))
    return GroupMean(sign * row.value, ends[0], ends[1], row.effective)


def _within(measure: Measure, sign: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Ends as the measure has them, within its range."""
    low, high = sorted((sign * ends[0], sign * ends[1]))
    if measure.name in UNBOUNDED:
        return max(low, UNBOUNDED[measure.name]), high
    return max(low, 0.0), min(high, 1.0)


# Scores and differences by group as tables.

MOST_MEASURES = 2
"""People see a column for each measure of so many, else for the first alone."""


def group_tables(
    grouped: ByGroup, runs: Sequence[str], measures: Sequence[str], compare: Sequence[str]
) -> list[Table]:
    """A table of scores, and one of differences by each measure to compare by."""
    differences = [_difference_table(grouped, name, runs) for name in compare]
    return [_score_table(grouped, runs, measures), *(t for t in differences if t.rows)]


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


def _score_table(grouped: ByGroup, runs: Sequence[str], measures: Sequence[str]) -> Table:
    """For people: a row for each group and run, the lowest group of the first run first."""
    shown = measures if len(measures) <= MOST_MEASURES else measures[:1]
    cells = {(s.group, s.run, s.measure): s for s in grouped.scores}
    columns = [
        Column(grouped.by, align="left"),
        Column("queries"),
        *([Column("run", align="left")] if len(runs) > 1 else []),
        *map(measure_column, shown),
        Column(grouped.judged, format=".2f"),
    ]
    rows: list[list[Cell]] = []
    for group in groups_in_order(grouped, runs[0], measures[0]):
        for run in runs:
            first = cells[group, run, measures[0]]
            count = f"thin {whole_queries(first.effective)}" if first.thin else str(first.queries)
            names = [run] if len(runs) > 1 else []
            means = [cells[group, run, measure] for measure in shown]
            rows.append([group, count, *names, *means, first.judged])
    note = "\n".join(_notes(grouped, runs, measures))
    return Table(f"by-{grouped.by}", columns, rows, f"by {grouped.by}", note)


Row = TypeVar("Row", GroupScore, WorstGroup, GroupDifference, Interaction)


def _of(rows: Iterable[Row], run: str, measure: str) -> list[Row]:
    """Those of one run by one measure."""
    return [row for row in rows if (row.run, row.measure) == (run, measure)]


def groups_in_order(grouped: ByGroup, run: str, measure: str) -> list[str]:
    """The groups, the worst of the run first, those without a score last."""
    sign = -1 if parse(measure).definition.lower_is_better else 1
    rows = _of(grouped.scores, run, measure)
    ordered = sorted((s for s in rows if s.queries), key=lambda s: sign * s.value)
    return [s.group for s in (*ordered, *(s for s in rows if not s.queries))]


def _notes(grouped: ByGroup, runs: Sequence[str], measures: Sequence[str]) -> Iterator[str]:
    """Sentences about the worst group of each run by the first measure."""
    measure, few = measures[0], f"fewer than two groups have {grouped.fewest} queries"
    if len(measures) > MOST_MEASURES:
        yield f"{measure} alone is shown; JSON and CSV have all {len(measures)} measures"
    rows = [worst for run in runs[:NAMED] for worst in _of(grouped.worst, run, measure)]
    for worst in rows:
        others = [group for group in worst.possible if group != worst.group]
        may = f"; {listed(others)} may truly be the worst, too" if others else ""
        may = "; any group may truly be the worst" if len(others) == worst.of - 1 else may
        score = number_text(worst.value, ".4f")
        which = f"the {worst.of} groups" + (" that are not thin" if grouped.thin else "")
        yield (
            f"{worst.run}: by {measure} {worst.group} is the worst of {which}, {score}"
            f"{may}. The truly worst one has {worst.low:.3f} to {worst.high:.3f} (95 %)."
        )
    if not rows and len(grouped.sizes) > 1:
        yield f"{few}: none is called the worst"


def _difference_table(grouped: ByGroup, measure: str, runs: Sequence[str]) -> Table:
    """A row for each run and group: the difference from the baseline, and what it shows."""
    rows = [d for run in runs for d in _of(grouped.differences, run, measure)]
    tested = [i for run in runs for i in _of(grouped.interactions, run, measure)]
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
    cells: list[list[Cell]] = [
        [
            *([d.run] if several else []),
            *(d.group, f"thin {d.queries}" if d.thin else str(d.queries)),
            *(Interval(d.difference, d.low, d.high), d.difference, Ends(d.low, d.high)),
            *(f"{d.wins}/{d.ties}/{d.losses}", d.p, d.p_corrected),
            *([d.verdict] if has_verdicts else []),
        ]
        for d in rows
    ]
    baseline = rows[0].baseline if rows else "-"
    who = f"{rows[0].run} against {baseline}" if rows and not several else f"against {baseline}"
    note = "\n".join(_tested(grouped, tested))
    title = f"by {grouped.by}: {who}, by {measure}"
    return Table(f"differences-by-{grouped.by}", columns, cells, title, note)


def _tested(grouped: ByGroup, interactions: Sequence[Interaction]) -> Iterator[str]:
    """What the tests of runs' interactions say; runs of which nothing is shown share a sentence."""
    yield from (_shown(grouped, i) for i in interactions if i.is_shown)
    if runs := [i for i in interactions if i.groups >= 2 and not i.is_shown]:
        least, most = (f"{end(i.p_corrected for i in runs):.2g}" for end in (min, max))
        p = f"p {least}" if least == most else f"p at least {least}"
        yield f"{_differences_of(runs)} not shown to depend on {grouped.by} ({p})"
    if runs := [i for i in interactions if i.groups < 2]:
        few = f"fewer than two groups have {grouped.fewest} queries"
        yield f"{_differences_of(runs)} not tested for depending on {grouped.by}: {few}"


def _differences_of(interactions: Sequence[Interaction]) -> str:
    """The one run, or how many, and the beginning of what is said of the differences."""
    if len(interactions) == 1:
        return f"{interactions[0].run}: its difference is"
    return f"{len(interactions)} runs: their differences are"


def _shown(grouped: ByGroup, interaction: Interaction) -> str:
    """That a run's difference depends on the group, and the groups where it is better and worse."""
    run, groups = interaction.run, dict[str, list[str]]()
    for d in _of(grouped.differences, run, interaction.measure):
        if d.verdict:
            groups.setdefault(d.verdict, []).append(d.group)
    parts = [f"{verdict} on {listed(of)}" for verdict, of in sorted(groups.items())]
    how = f"{run} is {' and '.join(parts)}" if parts else "no group alone shows how"
    return f"{run}: its difference depends on {grouped.by} (p {interaction.p_corrected:.2g}); {how}"
