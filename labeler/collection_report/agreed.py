"""How far assessors agree with people in a collection, as `agree` gives it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from labeler.agreement.agree import AgreeOptions, agree_all, scale_names
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.report import AssessorReport
from labeler.agreement.sources import Sources, open_sources
from labeler.collection_report.chosen import ChosenSets
from labeler.collection_report.contents import CollectionContents
from labeler.collection_report.options import ReportOptions
from labeler.data import Pair
from labeler.errors import BadInput
from labeler.report.finding import Finding
from labeler.trec.labels import number


@dataclass(frozen=True)
class FarPair:
    """A pair to which people and the assessor gave grades far apart."""

    pair: Pair
    human: int
    assessor: int

    @property
    def apart(self) -> int:
        """How many grades lie between them; positive where the assessor's is the higher."""
        return self.assessor - self.human


@dataclass(frozen=True, eq=False)
class AgreementWithPeople:
    """The reports of assessors beside people, the main one first, and its pairs farthest apart.

    `scale_names` are what the grades are called; `apart` are all pairs with unequal grades.
    """

    reports: tuple[AssessorReport, ...] = ()
    scale_names: Mapping[int, str] = None  # type: ignore[assignment]
    apart: tuple[FarPair, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def main(self) -> AssessorReport | None:
        """The main assessor's report; None where people and assessors share no pair."""
        return self.reports[0] if self.reports else None


def agreement_with_people(
    contents: CollectionContents, sets: ChosenSets, options: ReportOptions
) -> AgreementWithPeople:
    """How far each assessor agrees with people; empty where nobody, or only people, judged."""
    if sets.human is None or not sets.assessors:
        return AgreementWithPeople(scale_names={})
    folder = os.fspath(contents.collection.folder)
    names = [folder, sets.human, *sets.assessors]
    sources = open_sources(names, sets.more_humans, stale=options.stale)
    runs = {name: sources.runs[name] for name in options.runs or sources.runs}
    sources = replace(sources, runs=runs if len(runs) > 1 else {})  # one run has no order
    how = AgreeOptions(
        statistics=StatisticOptions(seed=options.seed), measure=str(options.measures[0])
    )
    reports, incomparable = [], []
    with options.progress("assessors compared with people") as advance:
        for done, source in enumerate(sources.assessors, start=1):
            try:
                (report,) = agree_all(replace(sources, assessors=(source,)), how)
                if report.agreement.pairs:
                    reports.append(report)
                else:
                    incomparable.append(source.name)
            except BadInput:  # they have no pair in common
                incomparable.append(source.name)
            advance(done, len(sources.assessors))
    findings = tuple(
        Finding(
            f"{name} and {sets.human} have no pair in common with grades of one scale: not compared"
        )
        for name in incomparable
    )
    if not reports:
        return AgreementWithPeople(scale_names={}, findings=findings)
    main = next(s for s in sources.assessors if s.name == reports[0].assessor)
    called = scale_names(sources, main, how)
    return AgreementWithPeople(tuple(reports), called, _apart(sources, main.name), findings)


def _apart(sources: Sources, name: str) -> tuple[FarPair, ...]:
    """The pairs with unequal grades, the farthest first; of equally far ones a query's first ones
    come before any query's second ones, so that the first few are of many queries.
    """
    source = next(source for source in sources.assessors if source.name == name)
    pairs = []
    for query_id, row in source.judged.labels.items():
        for doc_id, label in row.items():
            human, value = sources.human.get(query_id, {}).get(doc_id, -1), number(label)
            if human >= 0 and value is not None and value % 1 == 0 and int(value) != human:
                pairs.append(FarPair(Pair(query_id, doc_id), human, int(value)))
    counts: Counter[tuple[int, str]] = Counter()
    ordered = []
    for far in sorted(pairs, key=lambda far: far.pair):
        of_query = abs(far.apart), far.pair.query_id
        ordered.append((-abs(far.apart), counts[of_query], far))
        counts[of_query] += 1
    return tuple(far for *_, far in sorted(ordered, key=lambda item: (item[:2], item[2].pair)))
