"""What a report computes: scores, agreement with people, and what each query got."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from labeler.agreement.agree import AgreeOptions, agree_all
from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.report import AssessorReport
from labeler.agreement.sources import sources_of
from labeler.collection_report.contents import ChosenSets, CollectionContents, ReportOptions
from labeler.data import Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.evaluation.evaluate import Report, report_on
from labeler.evaluation.groups import MOST_GROUPS
from labeler.evaluation.options import EvaluationOptions, Grouping, Scoring
from labeler.pipeline.query_lists import (
    ShownDocument,
    ShownQuery,
    first_documents,
    ranks_of,
)
from labeler.report.finding import Finding

FACTS = ("origin", "kind")
"""The fields of queries by whose values figures tell them apart."""


def scores_of_systems(
    contents: CollectionContents, scoring: str | None, options: ReportOptions
) -> Report | None:
    """The scores by a set of grades; None where there is no run, or no grade."""
    runs = contents.chosen_runs(options.runs)
    if not runs or scoring is None:
        if options.baseline is not None:
            raise Misuse("no system is scored, so that none is a baseline", parameter="baseline")
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
    """Those of `FACTS` in which queries with a judgement have several values, and not too many.

    A field in which some query has no single value, as a list, is passed over.
    """
    with_grades = [queries[query] for query in judged if query in queries]
    for name in FACTS:
        values = [query.metadata.get(name) for query in queries.values()]
        is_plain = all(value is None or isinstance(value, str | int | float) for value in values)
        if is_plain and 1 < len({q.metadata.get(name) for q in with_grades}) <= MOST_GROUPS:
            yield name


class FarPair(NamedTuple):
    """A pair to which people and the assessor gave grades far apart."""

    pair: Pair
    human: int
    assessor: int

    @property
    def distance(self) -> int:
        """How many grades lie between them."""
        return abs(self.assessor - self.human)


@dataclass(frozen=True, eq=False)
class AgreementWithPeople:
    """The reports of assessors beside people, the main one first, and its pairs farthest apart.

    `apart` are all pairs with unequal grades.
    """

    reports: Sequence[AssessorReport] = ()
    apart: Sequence[FarPair] = ()
    findings: Sequence[Finding] = ()

    @property
    def main(self) -> AssessorReport | None:
        """The main assessor's report; None where people and assessors share no pair."""
        return self.reports[0] if self.reports else None


def agreement_with_people(
    contents: CollectionContents, sets: ChosenSets, options: ReportOptions
) -> AgreementWithPeople:
    """How far each assessor agrees with people; empty where nobody, or only people, judged."""
    if sets.human is None or not sets.assessors:
        return AgreementWithPeople()
    names = [os.fspath(contents.collection.folder), sets.human, *sets.assessors]
    sources = sources_of(names[0], names[1:], more_humans=sets.more_humans, stale=options.stale)
    runs = {name: sources.runs[name] for name in options.runs or sources.runs}
    sources = replace(sources, runs=runs if len(runs) > 1 else {})  # one run has no order
    how = AgreeOptions(
        statistics=StatisticOptions(seed=options.seed), measure=str(options.measures[0])
    )
    reports, findings = [], []
    for source in sources.assessors:
        with suppress(BadInput):  # they have no pair in common
            (report,) = agree_all(replace(sources, assessors=(source,)), how)
            if report.agreement.pairs:
                reports.append(report)
        if not reports or reports[-1].assessor != source.name:
            text = "have no pair in common with grades of one scale: not compared"
            findings.append(Finding(f"{source.name} and {sets.human} {text}"))
    if not reports:
        return AgreementWithPeople(findings=tuple(findings))
    apart = _apart(reports[0].agreement.paired)
    return AgreementWithPeople(tuple(reports), apart, tuple(findings))


def _apart(paired: GradeMatrix) -> Sequence[FarPair]:
    """The pairs with unequal grades, the farthest first; equally far ones by their documents' ids,
    so that the first few are of many queries.
    """
    unequal = paired.keep(paired.values[:, 0] != paired.values[:, 1])
    rows = zip(unequal.pairs.pairs(), unequal.numbers.astype(int).tolist(), strict=True)
    apart = (FarPair(pair, *of_both) for pair, of_both in rows)
    return sorted(apart, key=lambda far: (-far.distance, far.pair.doc_id, far.pair.query_id))


def reported_queries(
    contents: CollectionContents,
    sets: ChosenSets,
    failures: Mapping[Pair, str],
    scores: Report | None,
    options: ReportOptions,
) -> Iterator[ShownQuery]:
    """The queries in the order of the collection, then those that stand in the grades alone."""
    scoring = contents.qrels.get(sets.scoring or "", {})
    human = contents.qrels.get(sets.human or "", {}) if sets.human != sets.scoring else {}
    tops = first_documents(contents.chosen_runs(options.runs), options.top)
    by_system = {
        run.name: dict(zip(run.scores.queries, run.scores.values[0].tolist(), strict=True))
        for run in (scores.ranked if scores else ())
    }
    for query_id in dict.fromkeys([*contents.queries, *scoring]):
        grades, of_people = (
            {doc_id: grade for doc_id, grade in qrels.get(query_id, {}).items() if grade >= 0}
            for qrels in (scoring, human)
        )
        ranks = ranks_of(tops, query_id)
        if not tops:
            best = sorted(grades, key=lambda doc_id: (-grades[doc_id], doc_id))[: options.top]
            ranks = {doc_id: {} for doc_id in best}
        shown = [
            ShownDocument(
                doc_id,
                own,
                grades.get(doc_id),
                human=of_people.get(doc_id),
                failure=failures.get(Pair(query_id, doc_id), ""),
            )
            for doc_id, own in ranks.items()
        ]
        relevant = [doc_id for doc_id, grade in grades.items() if grade > 0]
        yield ShownQuery(
            contents.queries.get(query_id) or Query(query_id, ""),
            {name: row[query_id] for name, row in by_system.items() if query_id in row},
            tuple(shown),
            len(relevant),
            sum(doc_id not in ranks for doc_id in relevant),
        )
