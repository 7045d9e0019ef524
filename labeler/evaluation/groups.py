"""Scores of groups of queries, and what queries weigh, by their metadata or a file about them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labeler.collection.layout import Collection
from labeler.errors import BadInput, Misuse
from labeler.evaluation.inputs import AnyQrels, collection_around, folder_of
from labeler.evaluation.options import EvaluationOptions, Facts, Grouping
from labeler.evaluation.scores import RunScores, Weights, intervals, measure_column
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of
from labeler.files.boundary import finite
from labeler.messages import count_of, meant, no_query_in_common
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Row, Table, shown
from labeler.trec.values import shown as value_text

# The groups and the weights of queries.

NO_GROUP = "(none)"
"""The group of queries that lack the field."""
MOST_GROUPS = 60
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-12, 1e12
WEIGHT, CHANCE = "weight", "chance"
"""What a sample of a log says of a query: what it stands for, and its chance of being drawn."""
COUNTS = (
    "counts, and no chance of each query to be drawn: where frequent queries may be missing from "
    "the sample, intervals are too narrow; queries from-log draws by frequency"
)


@dataclass(frozen=True)
class QueryFields:
    """What is known of queries beside their texts, and what messages call it."""

    facts: Facts = field(default_factory=dict)
    name: str = "the queries"

    def groups(self, by: str, queries: Iterable[str]) -> dict[str, str]:
        """The group of each of the queries, and of those that stand here alone."""
        self._check_field(by, "by")
        every = dict.fromkeys([*queries, *self.facts])
        facts = self.facts
        groups = {q: _group(by, q, value_at(facts.get(q, {}), by)) for q in every}
        distinct = len(set(groups.values()))
        if distinct > MOST_GROUPS:
            raise Misuse(
                f"{by} has {distinct} values in {count_of(len(groups), 'query')}; "
                f"expected a field of {MOST_GROUPS} values at most, as kind",
                parameter="by",
            )
        return groups

    def findings(self, queries: Sequence[str]) -> list[Finding]:
        """Which of these queries stand in one place alone; `BadInput` where none is common."""
        common = [query for query in queries if query in self.facts]
        if not common:
            raise BadInput(no_query_in_common("the qrels", queries, self.name, self.facts))
        findings = []
        if unknown := len(queries) - len(common):
            stands = count_of(unknown, "query of the qrels is", "queries of the qrels are")
            findings.append(Finding(f"{stands} not in {self.name}"))
        if unjudged := len(self.facts) - len(common):
            queries = count_of(len(self.facts), "query")
            stand = f"{queries} of {self.name} {'is' if unjudged == 1 else 'are'} not in the qrels"
            findings.append(Finding(f"{unjudged:,} of {stand}, and so in no score"))
        return findings

    def weights(self, by: str) -> Weights:
        """The weight of each query that has one; `BadInput` where one is no number above 0."""
        self._check_field(by, "weights")
        weights = {}
        for query, facts in self.facts.items():
            value = value_at(facts, by)
            if value is None or value == "":
                continue
            weight = finite(number_of(value), _SMALLEST_WEIGHT, _LARGEST_WEIGHT)
            if weight is None:
                raise BadInput(
                    f"{self.name}: {by} of the query {query:.80}: expected a number above 0, "
                    f"found {value_text(value)}"
                )
            weights[query] = weight
        drawn = {query: finite(number_of(self.facts[query].get(CHANCE)), 0, 1) for query in weights}
        chances = {query: chance for query, chance in drawn.items() if chance}
        is_known = by == WEIGHT and len(chances) == len(weights)
        return Weights(by, weights, self.name, chances if is_known else {})

    def _check_field(self, by: str, parameter: str) -> None:
        if any(value_at(facts, by) not in (None, "") for facts in self.facts.values()):
            return
        names = list(dict.fromkeys(name for facts in self.facts.values() for name in facts))
        hint, listed = meant(by, names), ", ".join(f"{name:.40}" for name in names[:12]) or "none"
        problem = f"no query of {self.name} has {by!r:.60}; {hint}fields: {listed}"
        raise Misuse(problem, parameter=parameter)


@dataclass(frozen=True)
class QueryScope:
    """The groups of queries by each field asked for, and their weights where some are."""

    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    weights: Weights | None = None
    findings: tuple[Finding, ...] = ()


def scope_of(grouping: Grouping, qrels: AnyQrels, queries: Sequence[str]) -> QueryScope:
    """What the grouping asks for of these queries of the qrels."""
    fields = fields_of(grouping.queries, qrels)
    findings = fields.findings(queries)
    groups = {by: fields.groups(by, queries) for by in dict.fromkeys(grouping.by)}
    weights = fields.weights(grouping.weights) if grouping.weights else None
    sizes = weights.weights.values() if weights and not weights.chances else ()
    if any(size > 1 and size % 1 == 0 for size in sizes):
        findings.append(Finding(f"{grouping.weights}: {COUNTS}"))
    if weights and (left := weights.has(queries).count(False)):
        lacks = count_of(left, "query has", "queries have")
        findings.append(Finding(f"{lacks} no {weights.by}, and so no part in a mean: left out"))
    return QueryScope(groups, weights, tuple(findings))


def _group(by: str, query: str, value: Any) -> str:
    """A value as the name of a group; `Misuse` where it is no single one."""
    if value is None or value == "":
        return NO_GROUP
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        text = value if isinstance(value, str) else value_text(value)
        return " ".join(text.split()) or NO_GROUP
    raise Misuse(f"{by} of the query {query:.80} is no single value: {value!r:.40}", parameter="by")


def grouping_of(
    by: str | Sequence[str] | Mapping[str, str],
    weights: str | Mapping[str, float],
    queries: str | os.PathLike[str] | Facts | None,
    fewest: int,
) -> Grouping:
    """Groups and weights as names of fields, where they may be dicts by query id."""
    given: dict[str, dict[str, Any]] = {}
    for name, values in (("group", by), ("weight", weights)):
        for query, value in values.items() if isinstance(values, Mapping) else ():
            given.setdefault(query, {})[name] = value
    if given and queries is not None:
        raise Misuse(
            "groups or weights are given by query; leave the queries out", parameter="queries"
        )
    fields = ("group",) if isinstance(by, Mapping) else (by,) if isinstance(by, str) else tuple(by)
    weight = "weight" if isinstance(weights, Mapping) else weights
    return Grouping(tuple(filter(None, fields)), weight, given or queries, fewest)


def fields_of(queries: str | os.PathLike[str] | Facts | None, qrels: AnyQrels) -> QueryFields:
    """What is known of queries: from a file, a dict, or the collection that the qrels stand in."""
    if isinstance(queries, Mapping):
        return QueryFields(queries)
    folder = folder_of(queries if queries is not None else qrels)
    if queries is not None and folder is None:
        from labeler.exchange.formats import read_query_facts

        return QueryFields(read_query_facts(queries), str(queries))
    around = Collection(folder) if folder else collection_around(qrels)
    if around is None or not (file := around.queries).is_file():
        nowhere = "the qrels stand in no collection" if queries is None else f"{folder} is none"
        raise Misuse(f"{nowhere}; name a file with the queries' fields", parameter="queries")
    from labeler.collection.queries import read_queries  # takes long to load

    return QueryFields({q.id: q.metadata for q in read_queries(file).values()}, str(file))


# Runs' scores of each group.


@dataclass(frozen=True)
class GroupScore:
    """A run's score of one group by one measure, with its interval over queries of that group.

    `effective` is how many queries of equal weight say as much: `queries` where all count alike.
    """

    group: str
    run: str
    measure: str
    queries: int
    value: float
    low: float
    high: float
    judged: float
    thin: bool
    effective: float


@dataclass(frozen=True, repr=False)
class ByGroup(Result):
    """The scores of runs by the groups of one field; `judged` names the shares judged."""

    by: str
    fewest: int
    sizes: Mapping[str, int]
    scores: tuple[GroupScore, ...]
    judged: Hidden[str]

    @shown
    def thin(self) -> dict[str, int]:
        """The groups too thin to be held against a gate, with their queries that are scored."""
        queries: dict[str, int] = {}
        for score in self.scores:
            if score.thin:
                n = math.floor(score.effective)
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

    @shown
    def without_field(self) -> int:
        """How many queries lack the field."""
        return self.sizes.get(NO_GROUP, 0)


def grouped_by(
    scope: QueryScope, runs: Sequence[RunScores], options: EvaluationOptions
) -> tuple[ByGroup, ...]:
    """The scores by group of each field that was asked for."""
    share, fewest = next(iter(runs[0].judged), "judged"), options.grouping.min_queries
    grouped = []
    for by, groups in scope.groups.items():
        sizes, scores = Counter(groups.values()), list[GroupScore]()
        with options.progress(f"runs by {by}") as advance:
            for number, run in enumerate(runs, start=1):
                scores += _scores(run, sorted(sizes), groups, options)
                advance(number, len(runs))
        grouped.append(ByGroup(by, fewest, sizes, tuple(scores), share))
    return tuple(grouped)


def _scores(
    run: RunScores, names: Sequence[str], groups: Mapping[str, str], options: EvaluationOptions
) -> Iterator[GroupScore]:
    of = np.array([groups[query] for query in run.scores.queries], dtype=object)
    share = next(iter(run.judged))
    for name in names:
        mask = of == name
        scores = run.scores.choose(mask)
        judged = run.shares.choose(mask).means()[share] if mask.any() else np.nan
        means, ends = scores.means(), intervals(scores, options.seed)
        for measure in scores.measures:
            is_defined = ~np.isnan(scores.of(measure))
            n, text = int(is_defined.sum()), str(measure)
            effective = float(n)
            if scores.weighting is not None and n:
                effective = scores.weighting.choose(is_defined).effective
            value = means[text] if n else np.nan
            is_thin = effective < options.grouping.min_queries
            figures = (n, value, *ends[text], judged, is_thin, effective)
            yield GroupScore(name, run.name, text, *figures)


# Scores by group as tables.

MOST_MEASURES = 2
"""People see a column for each measure of so many, else for the first alone."""


def group_rows(groupings: Sequence[ByGroup]) -> Table:
    """For programs: a row for each field, group, run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("by", "group", "run", "measure")),
        *map(Column, ("queries", "value", "low", "high", "judged", "thin", "effective")),
    ]
    rows = [(g.by, *{**vars(s), "thin": int(s.thin)}.values()) for g in groupings for s in g.scores]
    return Table("groups", columns, rows)


def group_table(grouped: ByGroup, runs: Sequence[str], measures: Sequence[str]) -> Table:
    """For people: a row for each group and run, the worst group of the first run first."""
    visible = measures if len(measures) <= MOST_MEASURES else measures[:1]
    cells = {(s.group, s.run, s.measure): s for s in grouped.scores}
    columns = [
        Column(grouped.by, align="left"),
        Column("queries"),
        *([Column("run", align="left")] if len(runs) > 1 else []),
        *map(measure_column, visible),
        Column(grouped.judged, format=".2f"),
    ]
    first_rows = [s for s in grouped.scores if (s.run, s.measure) == (runs[0], measures[0])]
    # those without a score come last
    worst = sorted(first_rows, key=lambda s: (not s.queries, s.value if s.queries else 0.0))
    rows: list[Row] = []
    for group in (score.group for score in worst):
        for run in runs:
            means = [cells[group, run, measure] for measure in visible]
            first, names = means[0], [run] if len(runs) > 1 else []
            count = f"thin {math.floor(first.effective)}" if first.thin else str(first.queries)
            rows.append((group, count, *names, *means, first.judged))
    alone = f"{visible[0]} alone is shown; JSON and CSV have all {len(measures)} measures"
    note = alone if len(visible) < len(measures) else ""
    return Table(f"by-{grouped.by}", columns, rows, f"by {grouped.by}", note)
