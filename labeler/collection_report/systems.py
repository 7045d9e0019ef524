"""The scores of a collection's systems, as `evaluate` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from labeler.collection_report.contents import CollectionContents
from labeler.collection_report.options import ReportOptions
from labeler.data import Query
from labeler.errors import Misuse
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.options import EvaluationOptions, Grouping, Scoring
from labeler.evaluation.query_facts import MOST_GROUPS
from labeler.evaluation.score_report import Report

GROUPS = ("origin", "kind")
"""The fields of queries by whose values scores and grades are shown apart."""


def runs_to_report(contents: CollectionContents, names: Sequence[str]) -> Mapping[str, Path]:
    """The runs of these names, by default all; `Misuse` lists those there are."""
    for name in names:
        if name not in contents.runs:
            listed = ", ".join(contents.runs) or "none"
            folder = contents.collection.folder
            raise Misuse(f"no run {name!r} in {folder}; there are: {listed}", parameter="runs")
    return {name: contents.runs[name] for name in names} if names else contents.runs


def scores_of_systems(
    contents: CollectionContents, scoring: str | None, options: ReportOptions
) -> Report | None:
    """The scores by a set of grades; None where there is no run, or no grade."""
    runs = runs_to_report(contents, options.runs)
    if not runs or scoring is None:
        if options.baseline is not None:
            problem = "no system is scored, so that none is a baseline"
            raise Misuse(problem, parameter="baseline")
        return None
    how = EvaluationOptions(
        options.measures,
        Scoring(stale=options.stale),
        baseline=options.baseline,
        seed=options.seed,
        grouping=Grouping(tuple(fields_with_groups(contents.queries, contents.qrels[scoring]))),
        progress=options.progress,
    )
    return report_on(contents.collection.qrels(scoring), dict(runs), how)


def fields_with_groups(queries: Mapping[str, Query], judged: Iterable[str]) -> Iterator[str]:
    """Those of `GROUPS` in which queries with a judgement have several values, and not too many.

    A field in which some query has no single value, as a list, is passed over.
    """
    with_grades = [queries[query] for query in judged if query in queries]
    for field in GROUPS:
        values = [query.metadata.get(field) for query in queries.values()]
        if all(value is None or isinstance(value, str | int | float) for value in values):
            groups = {group_of(query, field) for query in with_grades}
            if 1 < len(groups) <= MOST_GROUPS:
                yield field


def group_of(query: Query, field: str) -> str:
    """A query's value of a field of its metadata as text; empty where it has none."""
    value = query.metadata.get(field)
    return "" if value is None else str(value)
