"""What the report of a collection says, gathered from the rooms: figures, sentences, findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from labeler.agreement.shown import statistics_table, summary
from labeler.collection_report.contents import (
    ChosenSets,
    CollectionContents,
    NextStep,
    ReportOptions,
)
from labeler.collection_report.figures import (
    FACTS,
    AgreementWithPeople,
    FarPair,
)
from labeler.data import Document, Pair
from labeler.evaluation.evaluate import Report
from labeler.evaluation.inputs import short
from labeler.evaluation.verdicts import grades_used
from labeler.judging.status import SetStatus
from labeler.messages import count_of
from labeler.pipeline.query_lists import ShownQuery, documents_shown, pairs_shown, reasons_in
from labeler.report.finding import Finding, merged
from labeler.report.private import Private
from labeler.report.result import Hidden, Result
from labeler.report.table import Table, table_of

FAR = 20
"""So many pairs are shown on which people and the assessor differ most."""


@dataclass(frozen=True, eq=False, repr=False)
class GatheredReport(Result):
    """What one collection says: contents, scores, agreement, costs, queries.

    It rests on the results of `evaluate`, `agree` and `status`.
    """

    contents: Hidden[CollectionContents]
    sets: ChosenSets
    options: Hidden[ReportOptions]
    scores: Report | None
    agreement: AgreementWithPeople
    judged: Sequence[SetStatus]
    queries: Hidden[Sequence[ShownQuery]]
    private: Hidden[Private]

    @property
    def missing(self) -> Sequence[NextStep]:
        """What the collection lacks, with the commands that make it."""
        return tuple(self.contents.missing(judged_by_people=self.sets.human is not None))

    @property
    def runs(self) -> Mapping[str, Path]:
        """The runs that are reported, by name."""
        return self.contents.chosen_runs(self.options.runs)

    @property
    def far(self) -> Sequence[FarPair]:
        """The pairs that are shown of those on which people and the main assessor differ most."""
        return self.agreement.apart[:FAR]

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        """The documents that are shown."""
        pairs = [*pairs_shown(self.queries), *(far.pair for far in self.far)]
        return documents_shown(self.contents.collection.corpus, pairs)

    @cached_property
    def reasons(self) -> Mapping[Pair, str]:
        """Why the pairs that are shown have the grades that score systems."""
        names = [self.sets.scoring] if self.sets.scoring else []
        return reasons_in(self.contents.collection, names, pairs_shown(self.queries))

    @cached_property
    def reasons_of_main(self) -> Mapping[Pair, str]:
        """Why the main assessor gave the grades that lie farthest from people's."""
        names = [self.agreement.main.assessor] if self.agreement.main else []
        return reasons_in(self.contents.collection, names, (far.pair for far in self.far))

    @property
    def sentences(self) -> Sequence[str]:
        """What was measured, how sure it is, and how far the assessor agrees with people."""
        return tuple(map(self.private, (self._measured(), self._leading(), self._agreeing())))

    def _measured(self) -> str:
        contents, scores, scoring = self.contents, self.scores, self.sets.scoring
        if scoring is None:
            return "No pair has a grade yet."
        used = scores.grades if scores else grades_used(contents.collection.qrels(scoring))
        grades = count_of(contents.grades(scoring), "grade")
        model = "".join(f" ({each})" for each in used.models[-1:] if each != used.name)
        queries = count_of(len(contents.qrels[scoring]), "query")
        by = f"{used.giver}{model}: {grades} of {queries}"
        if scores is None:
            return f"No system was scored. There are {by}."
        systems = count_of(len(scores.runs), "system was", "systems were")
        first, *others = scores.measures
        more = f" and {count_of(len(others), 'more measure')}" if others else ""
        return f"{systems} scored by {first}{more}, by {by}."

    def _leading(self) -> str:
        scores = self.scores
        if scores is None:
            lacks = "run" if not self.contents.runs else "grade"
            return f"There is no {lacks}, so that nothing is known of any system."
        sentences = " ".join(scores.sentences)
        best, measure = scores.ranked[0], scores.measures[0]
        low, high = best.intervals[measure]
        if len(scores.runs) == 1 or math.isnan(low):
            return sentences
        return (
            f"{sentences[:-1]}; over all queries like these the score of {best.name} is "
            f"{low:.3f} to {high:.3f} at 95 %."
        )

    def _agreeing(self) -> str:
        sets, contents = self.sets, self.contents
        if self.agreement.main is not None:
            several = len(self.agreement.reports)
            which = f" It is one of {several} assessors compared." if several > 1 else ""
            return f"{summary(self.agreement.main)[0]}{which}"
        if sets.human is not None and sets.assessors:
            return (
                "People and the assessor judged no pair in common: nobody knows whether they agree."
            )
        if sets.human is not None:
            asked = "a model was asked, and no pair got a grade from it"
            model = asked if contents.ungraded else "no model has judged a pair"
            return f"The grades are people's; {model}."
        if sets.scoring is not None:
            return (
                "No person has judged a pair: how far these grades agree with people's is not "
                "known."
            )
        whom = "No pair has a grade" if contents.ungraded else "Nobody has judged a pair"
        return f"{whom}, so that nothing is known of agreement with people."

    @property
    def findings(self) -> Sequence[Finding]:
        """What a reader should know of the figures, warnings first, each once.

        What holds of groups of queries, or of single runs' files, comes last.
        """
        every = sorted(
            merged(self._findings()),
            key=lambda f: (f.level != "warning", bool(f.each) or f.about in FACTS),
        )
        texts = {self.private(each.without_advice().text): each.level for each in every}
        return tuple(Finding(text, level=level) for text, level in texts.items())

    def _findings(self) -> Iterator[Finding]:
        contents, sets, main = self.contents, self.sets, self.agreement.main
        if sets.scoring is not None and sets.human is None:
            text = "no person has judged a pair: all figures rest on an assessor nobody has checked"
            yield Finding(text)
        for name in contents.ungraded:
            yield Finding(f"{name}: no pair of these judgements has a grade; nothing rests on them")
        for tally in (judged.tally for judged in self.judged):
            if tally.failed and tally.name not in (sets.scoring, *contents.ungraded):
                failed = count_of(tally.failed, "pair has", "pairs have")
                text = f"{tally.name}: {failed} no grade, of {tally.pairs:,}"
                yield Finding(text, level="note")
        yield from contents.findings
        yield from () if self.scores is None else self.scores.findings
        yield from self.agreement.findings
        if main is None:
            return
        yield from main.notes
        for finding in main.agreement.warnings:
            yield replace(finding, text=f"agreement with people: {finding.text}")
        for finding in () if main.board is None else main.board.own_findings:
            order = f"order of the systems by {short(main.human)} and {short(main.assessor)}"
            yield replace(finding, text=f"{order}: {finding.text}")

    def tables(self) -> list[Table]:
        """The scores of the systems, their differences, agreement with people, and what lacks."""
        tables = [] if self.scores is None else self.scores.tables()
        shown = [table for table in tables if table.name in ("scores", "comparisons")]
        if self.agreement.main is not None:
            table = statistics_table(self.agreement.main.agreement)
            shown.append(replace(table, title="Agreement with people"))
        return [*shown, table_of("missing", NextStep, self.missing)] if self.missing else shown
