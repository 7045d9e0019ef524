"""The groups and the weights of queries, from their metadata or a file about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from labeler.collection.layout import Collection
from labeler.errors import BadInput, Misuse
from labeler.evaluation.inputs import AnyQrels, folder_of, qrels_path
from labeler.evaluation.options import Facts, Grouping
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of, shown
from labeler.files.boundary import finite
from labeler.files.paths import true_path
from labeler.messages import count_of, no_query_in_common
from labeler.metrics.scores import Weighting
from labeler.report.finding import Finding

NO_GROUP = "(none)"
"""The group of queries that lack the field."""
MOST_GROUPS = 60
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-12, 1e12
_MOST_TIMES = 1e9
"""A query of so many times another's weight leaves digits enough to tell its share from all."""


@dataclass(frozen=True)
class QueryFields:
    """What is known of queries beside their texts, and what messages call it."""

    facts: Facts = field(default_factory=dict)
    name: str = "the queries"

    def groups(self, by: str, queries: Iterable[str]) -> dict[str, str]:
        """The group of each of the queries, and of those that stand here alone."""
        self._check_field(by, "by")
        every = dict.fromkeys([*queries, *self.facts])
        groups = {query: _group(by, query, value_at(self._of(query), by)) for query in every}
        distinct = len(set(groups.values()))
        if distinct > MOST_GROUPS:
            many = f"{distinct} values in {count_of(len(groups), 'query', 'queries')}"
            problem = f"{by} has {many}; expected a field of {MOST_GROUPS} values at most, as kind"
            raise Misuse(problem, parameter="by")
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
            queries = count_of(len(self.facts), "query", "queries")
            stand = f"{queries} of {self.name} {'is' if unjudged == 1 else 'are'} not in the qrels"
            findings.append(Finding(f"{unjudged:,} of {stand}, and so in no score"))
        return findings

    def weights(self, by: str) -> Weights:
        """The weight of each query that has one; `BadInput` where one is no number above 0."""
        self._check_field(by, "weights")
        weights: dict[str, float] = {}
        for query, facts in self.facts.items():
            value = value_at(facts, by)
            if value is None or value == "":
                continue
            weight = finite(number_of(value), _SMALLEST_WEIGHT, _LARGEST_WEIGHT)
            if weight is None:
                problem = f"expected a number above 0, found {shown(value)}"
                raise BadInput(f"{self.name}: {by} of the query {query:.80}: {problem}")
            weights[query] = weight
        self._check_range(by, weights)
        return Weights(by, weights, self)

    def _check_range(self, by: str, weights: Mapping[str, float]) -> None:
        """`BadInput` where one weight is so much larger than another that the other is lost."""
        if not weights:
            return
        most, least = max(weights, key=weights.__getitem__), min(weights, key=weights.__getitem__)
        if weights[most] > _MOST_TIMES * weights[least]:
            ends = (
                f"{weights[most]:g} of the query {most:.80} and {weights[least]:g} of {least:.80}"
            )
            problem = f"expected weights within a factor of {_MOST_TIMES:,.0f}, found {ends}"
            raise BadInput(f"{self.name}: {by}: {problem}", parameter="weights")

    def _of(self, query: str) -> Mapping[str, Any]:
        return self.facts.get(query, {})

    def _check_field(self, by: str, parameter: str) -> None:
        if any(value_at(facts, by) not in (None, "") for facts in self.facts.values()):
            return
        names = list(dict.fromkeys(name for facts in self.facts.values() for name in facts))
        close = get_close_matches(by, names, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        listed = ", ".join(f"{name:.40}" for name in names[:12]) or "none"
        problem = f"no query of {self.name} has {by!r:.60}{hint}; fields: {listed}"
        raise Misuse(problem, parameter=parameter)


@dataclass(frozen=True)
class Weights:
    """The weights of queries by a field of their metadata."""

    by: str
    weights: Mapping[str, float]
    fields: QueryFields

    def has(self, queries: Sequence[str]) -> list[bool]:
        """Which queries have a weight; `BadInput` where none has."""
        mask = [query in self.weights for query in queries]
        if not any(mask):
            problem = f"no query of {self.fields.name} that is scored has a {self.by}"
            raise BadInput(problem, parameter="weights")
        return mask

    def of(self, queries: Sequence[str]) -> Weighting:
        """The weights of these queries."""
        return Weighting(np.array([self.weights[query] for query in queries], dtype=np.float64))


@dataclass(frozen=True)
class QueryScope:
    """The groups of queries by each field asked for, and their weights where some are."""

    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    weights: Weights | None = None
    findings: tuple[Finding, ...] = ()


def scope_of(grouping: Grouping, qrels: AnyQrels, queries: Sequence[str]) -> QueryScope:
    """What the grouping asks for of these queries of the qrels."""
    if not grouping.by and not grouping.weights:
        return QueryScope()
    fields = fields_of(grouping.queries, qrels)
    findings = fields.findings(queries)
    groups = {by: fields.groups(by, queries) for by in dict.fromkeys(grouping.by)}
    if not grouping.weights:
        return QueryScope(groups, None, tuple(findings))
    weights = fields.weights(grouping.weights)
    if left := sum(not has for has in weights.has(queries)):
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
        text = " ".join(shown(value).split()) if isinstance(value, int | float) else value
        return " ".join(text.split()) or NO_GROUP
    problem = f"{by} of the query {query:.80} is no single value: {value!r:.40}"
    raise Misuse(problem, parameter="by")


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
        problem = "groups or weights are given by query; leave the queries out"
        raise Misuse(problem, parameter="queries")
    fields = ("group",) if isinstance(by, Mapping) else (by,) if isinstance(by, str) else tuple(by)
    weight = "weight" if isinstance(weights, Mapping) else weights
    return Grouping(tuple(filter(None, fields)), weight, given or queries, fewest)


def fields_of(queries: str | os.PathLike[str] | Facts | None, qrels: AnyQrels) -> QueryFields:
    """What is known of queries: from a file, a dict, or the collection that the qrels stand in."""
    if isinstance(queries, Mapping):
        return QueryFields(queries)
    folder = folder_of(queries if queries is not None else qrels)
    if queries is not None and folder is None:
        from labeler.exchange.any_table import read_query_facts

        return QueryFields(read_query_facts(queries), str(queries))
    path = qrels_path(qrels) if folder is None else None
    if path is not None and path.parent.name == "qrels":
        folder = true_path(path).parent.parent
    if folder is None or not Collection(folder).queries.is_file():
        nowhere = "the qrels stand in no collection" if queries is None else f"{folder} is none"
        problem = f"{nowhere}; name a file with the queries' fields"
        raise Misuse(problem, parameter="queries")
    from labeler.collection.queries import read_queries  # takes long to load

    file = Collection(folder).queries
    return QueryFields({q.id: q.metadata for q in read_queries(file).values()}, str(file))
