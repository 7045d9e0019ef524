"""The report of a collection: everything that its page shows, gathered from the rooms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labeler.agreement.overview import short
from labeler.agreement.report import as_json as agreement_as_json
from labeler.collection.layout import Collection, open_collection
from labeler.collection.scale import grade_names
from labeler.collection_report.agreed import AgreementWithPeople, agreement_with_people
from labeler.collection_report.chosen import ChosenSets, choose_sets
from labeler.collection_report.contents import CollectionContents, contents_of
from labeler.collection_report.grades import GradesOfGroup, grades_by_group
from labeler.collection_report.options import ReportOptions
from labeler.collection_report.private import Private
from labeler.collection_report.provenance import Provenance, provenance_of
from labeler.collection_report.returned import (
    GradesAndReasons,
    ReasonsAndFailures,
    ReportedQuery,
    first_documents,
    reasons_in,
    reported_queries,
)
from labeler.collection_report.sentences import three_sentences
from labeler.collection_report.systems import GROUPS, runs_to_report, scores_of_systems
from labeler.collection_report.waiting import NextStep
from labeler.data import Pair
from labeler.evaluation.score_report import Report
from labeler.judging.status import SetStatus, status
from labeler.messages import count_of
from labeler.report.finding import Finding, merged


@dataclass(frozen=True, eq=False)
class GatheredReport:
    """What one collection says: contents, scores, agreement, grades, costs, queries, provenance."""

    contents: CollectionContents
    sets: ChosenSets
    options: ReportOptions
    scores: Report | None
    agreement: AgreementWithPeople
    grades: tuple[GradesOfGroup, ...]
    judged: tuple[SetStatus, ...]
    queries: tuple[ReportedQuery, ...]
    reasons: ReasonsAndFailures
    provenance: Provenance
    scale_names: Mapping[int, str]
    private: Private

    @property
    def missing(self) -> tuple[NextStep, ...]:
        """What the collection lacks, with the commands that make it."""
        by_people = self.sets.human is not None
        return tuple(self.contents.missing(judged_by_people=by_people))

    @property
    def runs(self) -> Mapping[str, Path]:
        """The runs that are reported, by name."""
        return runs_to_report(self.contents, self.options.runs)

    @property
    def reasons_of_main(self) -> Mapping[Pair, str]:
        """The reasons that the main assessor gave."""
        main = self.agreement.main
        if main is None or main.assessor == self.sets.scoring:
            return self.reasons.reasons
        return reasons_in(self.contents.collection.judgements(main.assessor)).reasons

    @property
    def sentences(self) -> tuple[str, str, str]:
        """What was measured, how sure it is, and how far the assessor agrees with people."""
        three = three_sentences(self.contents, self.sets, self.scores, self.agreement)
        first, second, third = map(self.private, three)
        return first, second, third

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader should know of the figures, warnings first, each once."""
        every = sorted(merged(self._findings()), key=_importance)
        shown = {_shown(finding, self.private): finding.level for finding in every}
        return tuple(Finding(text, level=level) for text, level in shown.items())

    def _findings(self) -> Iterator[Finding]:
        yield from self._without_people()
        for name in self.contents.ungraded:
            yield Finding(f"{name}: no pair of these judgements has a grade; nothing rests on them")
        for judged in self.judged:
            reported_elsewhere = (self.sets.scoring, *self.contents.ungraded)
            if judged.tally.failed and judged.tally.name not in reported_elsewhere:
                failed = count_of(judged.tally.failed, "pair has", "pairs have")
                of = f"of {judged.tally.pairs:,}"
                yield Finding(f"{judged.tally.name}: {failed} no grade, {of}", level="note")
        yield from self.contents.findings
        yield from self.sets.findings
        if self.scores is not None:
            yield from self.scores.findings
        yield from self.agreement.findings
        yield from self._of_agreement()

    def _of_agreement(self) -> Iterator[Finding]:
        """What a reader should know of the main assessor's agreement, and what each is about."""
        main = self.agreement.main
        if main is None:
            return
        yield from main.notes
        for finding in main.agreement.warnings:
            yield replace(finding, text=f"agreement with people: {finding.text}")
        for finding in () if main.board is None else main.board.own_findings:
            order = f"order of the systems by {short(main.human)} and {short(main.assessor)}"
            yield replace(finding, text=f"{order}: {finding.text}")

    def _without_people(self) -> Iterator[Finding]:
        for rater, pairs in self.contents.waiting.items():
            graded = count_of(pairs, "pair", "pairs")
            yield Finding(
                f"{rater} graded {graded} on the page that no qrels hold: none counts here"
            )
        if self.contents.waiting:
            return
        if self.sets.scoring is not None and self.sets.human is None:
            text = "no person has judged a pair: all figures rest on an assessor nobody has checked"
            yield Finding(text)

    def as_json(self) -> dict[str, Any]:
        """Everything but the documents, by name; figures as their commands give them."""
        reports = self.agreement.reports
        return {
            "title": self.contents.title,
            "sentences": list(self.sentences),
            "warnings": [finding.text for finding in self.findings if finding.level == "warning"],
            "notes": [finding.text for finding in self.findings if finding.level == "note"],
            "missing": [step._asdict() for step in self.missing],
            "qrels": self.sets.scoring,
            "human": self.sets.human,
            "evaluation": None if self.scores is None else self.scores.as_json(per_query=True),
            "agreement": agreement_as_json(reports, details=False) if reports else None,
            "grades": [group.as_json() for group in self.grades],
            "judgements": [judged.as_json() for judged in self.judged],
            "provenance": self.provenance.as_json(),
        }


def _importance(finding: Finding) -> tuple[bool, bool]:
    """Warnings before notes; what holds of groups of queries, or of single runs' files, last."""
    return finding.level != "warning", bool(finding.each) or finding.about in GROUPS


WHERE_UNJUDGED = " (see Unjudged documents)"
"""Where the page has more on documents that nobody judged."""


def _shown(finding: Finding, private: Private) -> str:
    """A finding's text for a reader who has no settings, and another folder."""
    more = any(setting.parameter == "scenarios" for setting in finding.settings)
    return private(words_without_settings(finding)) + (WHERE_UNJUDGED if more else "")


def words_without_settings(finding: Finding) -> str:
    """A finding's text without its advice, and without what settings would do."""
    text = finding.text.replace(finding.advice, "")
    for setting in finding.settings:
        text = re.sub(rf" \([^()]*{re.escape(str(setting))}[^()]*\)", "", text)
        text = text.replace(str(setting), setting.parameter)
    return text


def gathered(
    collection: Collection | Path | str, options: ReportOptions | None = None
) -> GatheredReport:
    """Everything that the report of a collection shows, at whatever stage the collection is."""
    how = options or ReportOptions()
    opened = open_collection(collection)
    contents = contents_of(opened)
    sets = choose_sets(contents, how)
    scores = scores_of_systems(contents, sets.scoring, how)
    agreement = agreement_with_people(contents, sets, how)
    scoring = contents.qrels.get(sets.scoring or "", {})
    human = contents.qrels.get(sets.human or "", {}) if sets.human != sets.scoring else {}
    reasons = reasons_in(opened.judgements(sets.scoring)) if sets.scoring else ReasonsAndFailures()
    tops = first_documents(runs_to_report(contents, how.runs), how.top, how.progress)
    graded = GradesAndReasons(scoring, human, reasons)
    return GatheredReport(
        contents,
        sets,
        how,
        scores,
        agreement,
        grades_by_group(scoring, contents.queries) if scoring else (),
        tuple(status(opened)),
        tuple(reported_queries(contents, graded, tops, scores, how.top)),
        reasons,
        provenance_of(contents),
        grade_names(opened, sets.scoring) if sets.scoring else {},
        Private(opened.folder),
    )
